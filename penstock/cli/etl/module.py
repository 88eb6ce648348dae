"""Modules that do ETL: a function from datasets by name to outputs by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import BaseModel

from penstock.cli.modules import checked_function, load_module, require_names, strict_parameters
from penstock.core.errors import ConfigError, class_name
from penstock.core.schemas import declared

_EXPECTED = "def run(inputs, parameters) -> dict of name to Dataset, PipelineModel, or a function that gives one"


class NoParameters(BaseModel, extra="forbid"):
    """The parameters of a module that has none."""


@dataclass(frozen=True)
class EtlModule:
    """What a module of a job defines.

    Attributes
    ----------
    name : str
        Name of the file, without ``.py``.
    parameters : type of pydantic.BaseModel
        ``Parameters``, with ``extra="forbid"``; `NoParameters` where there are none.
    run : callable
        ``run(inputs, parameters)`` takes datasets by name, and returns outputs by name: a `Dataset`, a `PipelineModel`,
        or a function without arguments that gives one, which a dry run does not call.
    schemas : dict of name to pyarrow.Schema
        ``SCHEMAS``, by input the types of columns of text files.
    """

    name: str
    parameters: type[BaseModel]
    run: Callable[[Mapping[str, Any], BaseModel], Mapping[str, Any]]
    schemas: Mapping[str, pa.Schema]


def load_job(name: str, folder: str | Path = "pipelines") -> EtlModule:
    """Run the module of a job and return what it defines.

    Parameters
    ----------
    name : str
        ``<folder>/<name>.py``, or the path of a ``.py`` file.
    folder : path

    Raises
    ------
    ConfigError
        There is no such file; it does not run; it lacks ``run``, or has something of another kind.
    """
    path, module = load_module(name, folder)
    require_names(module, path, run=_EXPECTED)
    parameters = getattr(module, "Parameters", NoParameters)
    return EtlModule(
        path.stem,
        parameters if parameters is NoParameters else strict_parameters(parameters, path),
        checked_function(module, "run", path, _EXPECTED, lambda value: isinstance(value, Mapping)),
        _schemas(getattr(module, "SCHEMAS", {}), path),
    )


def _schemas(schemas: Any, path: Path) -> dict[str, pa.Schema]:
    if not isinstance(schemas, Mapping):
        problem = f"SCHEMAS of {path} is {class_name(schemas)}, expected a dict of input to schema"
        raise ConfigError(problem, hint='SCHEMAS = {"trips": {"id": "int64"}}', path=str(path))
    return {str(name): declared(schema) for name, schema in schemas.items()}
