"""Pipelines by name: a module that builds one, and the parameters that files and options give it."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
from pydantic import BaseModel

from penstock.config.settings import Settings, read_assignments, read_yaml
from penstock.core.by_value import import_beside
from penstock.core.errors import ConfigError, PenstockError, class_name, did_you_mean
from penstock.core.locations import local_path
from penstock.core.schemas import declared
from penstock.dataset.dataset import Dataset
from penstock.dataset.task_errors import translated
from penstock.pipeline.pipeline import Pipeline
from penstock.stages.base import Stage
from penstock.stages.evaluation.base import Evaluator


@dataclass(frozen=True)
class PipelineModule:
    """What a pipeline module defines.

    Attributes
    ----------
    name : str
        Name of the file, without ``.py``.
    parameters : type of pydantic.BaseModel
        ``Parameters``, with ``extra="forbid"``.
    build : callable
        ``build(parameters)`` returns the `Pipeline`.
    evaluators : callable
        ``evaluators(parameters)`` returns a list of `Evaluator`; an empty one where there is nothing to measure.
    prepare : callable or None
        ``prepare(dataset, parameters)`` returns the rows to learn from and to evaluate on; not called for scoring.
    schema : pyarrow.Schema or None
        ``SCHEMA``, the types of columns of text files.
    stages : dict of name to type of Stage
        Stages of its own and of modules that it imports, which its saved models may name.
    """

    name: str
    parameters: type[BaseModel]
    build: Callable[[Any], Pipeline]
    evaluators: Callable[[Any], Sequence[Evaluator]]
    prepare: Callable[[Dataset, Any], Dataset] | None = None
    schema: pa.Schema | None = None
    stages: Mapping[str, type[Stage]] = field(default_factory=dict)


def load_pipeline(name: str, folder: str | Path = "pipelines") -> PipelineModule:
    """Run the module of a pipeline and return what it defines.

    It can import modules that lie beside it; they travel to workers as it does itself.

    Parameters
    ----------
    name : str
        ``<folder>/<name>.py``, or the path of a ``.py`` file.
    folder : path

    Raises
    ------
    ConfigError
        There is no such file; it does not run; it lacks something, or has it of another kind.
    """
    if name.endswith(".py"):
        path = Path(local_path(name, "pipeline"))
    else:
        path = Path(local_path(folder, "pipelines")) / f"{name}.py"
    if not path.is_file():
        known = sorted(found.stem for found in path.parent.glob("*.py"))
        raise ConfigError(
            f"pipeline {name!r} is not there: {path} is no file.{did_you_mean(path.stem, known)}",
            hint=f"There are: {', '.join(known)}." if known else "Name the folder with --pipelines, or give a path.",
            path=str(path),
        )
    module = _run(path)
    for wanted in ("Parameters", "build", "evaluators"):
        if not callable(getattr(module, wanted, None)):
            raise ConfigError(f"{path} defines no {wanted}, expected {_EXPECTED[wanted]}", path=str(path))
    schema = getattr(module, "SCHEMA", None)
    return PipelineModule(
        path.stem,
        _parameters(module.Parameters, path),
        _checked(module, "build", path),
        _checked(module, "evaluators", path),
        _checked(module, "prepare", path) if getattr(module, "prepare", None) is not None else None,
        None if schema is None else declared(schema),
        _own_stages(module),
    )


_EXPECTED = {
    "Parameters": 'class Parameters(pydantic.BaseModel, extra="forbid")',
    "build": "def build(parameters) -> Pipeline",
    "evaluators": "def evaluators(parameters) -> list of Evaluator",
    "prepare": "def prepare(dataset, parameters) -> Dataset",
}


def _checked(module: ModuleType, name: str, path: Path) -> Callable[..., Any]:
    """Return a function of the module; what it raises, and what it should not return, is told with its name."""
    function = getattr(module, name)

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            made = function(*arguments)
        except PenstockError:
            raise
        except Exception as error:
            raise translated(error, f"{name} of {path}", ConfigError, path=str(path)) from error
        if not _RETURNS[name](made):
            problem = f"{name} of {path} returned {class_name(made)}, expected {_EXPECTED[name]}"
            raise ConfigError(problem, hint="Is there a return?" if made is None else None, path=str(path))
        return made

    return call


def _are_evaluators(made: Any) -> bool:
    values = made.values() if isinstance(made, Mapping) else made
    return isinstance(made, Mapping | list | tuple) and all(isinstance(value, Evaluator) for value in values)


_RETURNS: dict[str, Callable[[Any], bool]] = {
    "build": lambda made: isinstance(made, Pipeline),
    "evaluators": _are_evaluators,
    "prepare": lambda made: isinstance(made, Dataset),
}


@dataclass(frozen=True)
class PipelineSettings:
    """What files and options say of a pipeline.

    Attributes
    ----------
    parameters : pydantic.BaseModel
        Of the module.
    stages : Settings
        Of single stages, for `Pipeline.with_params`: names with a dot, and stages that are left out, by ``null``.
    """

    parameters: BaseModel
    stages: Settings = field(default_factory=Settings)

    def build(self, module: PipelineModule) -> Pipeline:
        """Return the pipeline, its stages with parameters of their own.

        Raises
        ------
        ConfigError
            A stage or parameter is not known, or a stage does not take a value; says where it stands.
        """
        pipeline = module.build(self.parameters)
        try:
            return pipeline.with_params(self.stages.values)
        except ConfigError as error:
            names = [name for name in self.stages.values if name.partition(".")[0] == error.stage]
            where = "; ".join(dict.fromkeys(self.stages.where(name) for name in names))
            raise ConfigError(f"{where}: {error.message}", hint=error.hint, **error.place) from error

    def values(self) -> dict[str, Any]:
        """Return all values as plain ones."""
        return {**self.parameters.model_dump(mode="json"), **self.stages.values}


def pipeline_settings(
    module: PipelineModule, folder: Path, conf: Settings, assignments: Sequence[str] = ()
) -> PipelineSettings:
    """Return the parameters of a pipeline and of its stages.

    Parameters
    ----------
    module : PipelineModule
    folder : Path
        Where ``<name>.yaml`` may be, which wins over the defaults of the module.
    conf : Settings
        A ``pipeline`` section, which wins over that file.
    assignments : sequence of str
        ``name=value``, which win over all; ``stage.parameter=value`` for one of a stage, read as YAML.

    Raises
    ------
    ConfigError
        A name is not known, or a value is not of its type; says where it stands.
    """
    path = folder / f"{module.name}.yaml"
    own = read_yaml(path) if path.is_file() else Settings()
    given = read_assignments(assignments, module.parameters)
    known = module.parameters.model_fields
    parameters, stages = (
        given.over(conf).over(own).split(lambda name, value: "." in name or (value is None and name not in known))
    )
    hidden = next((place for place in stages.places.values() if place.hidden), None)
    if hidden is not None:
        raise ConfigError(f"{hidden.where}: a parameter of a stage is stored with the model, and cannot be a secret")
    return PipelineSettings(parameters.fill(module.parameters), stages)


def _run(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"pipelines.{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import_beside(str(path.parent.absolute()))
    # Known by its name while it runs, as pydantic and dataclasses need, and not after: its functions then travel to
    # workers by value, where nobody could import them.
    before = sys.modules.get(spec.name)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (PenstockError, KeyboardInterrupt):
        raise
    except BaseException as error:  # sys.exit too
        line = getattr(error, "lineno", None)
        where = f"{path}, line {line}" if line else str(path)
        raise ConfigError(f"{where} does not run: {type(error).__name__}: {error}", path=str(path)) from error
    finally:
        sys.modules.pop(spec.name)
        if before is not None:
            sys.modules[spec.name] = before
    return module


def _parameters(kind: Any, path: Path) -> type[BaseModel]:
    strict = isinstance(kind, type) and issubclass(kind, BaseModel) and kind.model_config.get("extra") == "forbid"
    if not strict:
        raise ConfigError(
            f"Parameters of {path} is {kind!r}, expected {_EXPECTED['Parameters']}",
            hint='Without extra="forbid" a parameter with a typing error in its name would be left out in silence.',
            path=str(path),
        )
    return kind  # type: ignore[no-any-return]


def _own_stages(module: ModuleType) -> dict[str, type[Stage]]:
    """Return the stages that the module and the modules that it imports have, but for those of the library."""
    scopes = [*(value for value in vars(module).values() if isinstance(value, ModuleType)), module]
    stages = [
        value
        for scope in scopes
        for value in vars(scope).values()
        if isinstance(value, type) and issubclass(value, Stage) and not value.__module__.startswith("penstock.")
    ]
    return {stage.__name__: stage for stage in stages}
