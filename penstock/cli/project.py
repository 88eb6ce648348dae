"""Pipelines by name: a module that builds one, and the parameters that files and options give it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
from pydantic import BaseModel

from penstock.cli.modules import PARAMETERS, checked_function, load_module, require_names, strict_parameters
from penstock.config.settings import Settings, read_assignments, read_yaml
from penstock.core.errors import ConfigError
from penstock.core.schemas import declared
from penstock.dataset.dataset import Dataset
from penstock.pipeline.pipeline import Pipeline
from penstock.stages.base import Stage
from penstock.stages.evaluation.base import Evaluator

SEARCH, CATALOG = "search", "catalog"
"""What a file has of a search, and of inputs and outputs; a parameter of such a name is a parameter."""


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
        ``prepare(dataset, parameters)`` returns the rows to learn from and to evaluate on. One that takes ``labelled``
        by name, ``prepare(dataset, parameters, *, labelled)``, returns those to score as well; see `prepared`.
    schema : pyarrow.Schema or None
        ``SCHEMA``, the types of columns of text files.
    stages : dict of name to type of Stage
        Stages of its own and of modules that it imports, which its saved models may name.
    """

    name: str
    parameters: type[BaseModel]
    build: Callable[[Any], Pipeline]
    evaluators: Callable[[Any], Sequence[Evaluator]]
    prepare: Callable[..., Dataset] | None = None
    schema: pa.Schema | None = None
    stages: Mapping[str, type[Stage]] = field(default_factory=dict)

    @property
    def prepares_scoring(self) -> bool:
        """Whether ``prepare`` is for rows to score too: it takes ``labelled``."""
        return self.prepare is not None and "labelled" in signature(self.prepare).parameters

    def prepared(self, dataset: Dataset, parameters: BaseModel, *, labelled: bool) -> Dataset:
        """Return rows as ``prepare`` makes them.

        Parameters
        ----------
        labelled : bool
            Whether they are to learn from or to evaluate on, and not to score. Those to score are left as they are by
            a ``prepare`` that does not take it, as it may go by a label that they do not have.
        """
        if self.prepare is None or not (labelled or self.prepares_scoring):
            return dataset
        options = {"labelled": labelled} if self.prepares_scoring else {}
        return self.prepare(dataset, parameters, **options)


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
    path, module = load_module(name, folder)
    require_names(module, path, **{each: _EXPECTED[each] for each in ("Parameters", "build", "evaluators")})
    schema = getattr(module, "SCHEMA", None)

    def function(name: str) -> Callable[..., Any]:
        return checked_function(module, name, path, _EXPECTED[name], _RETURNS[name])

    return PipelineModule(
        path.stem,
        strict_parameters(module.Parameters, path),
        function("build"),
        function("evaluators"),
        None if getattr(module, "prepare", None) is None else function("prepare"),
        None if schema is None else declared(schema),
        _own_stages(module),
    )


_EXPECTED = {
    "Parameters": PARAMETERS,
    "build": "def build(parameters) -> Pipeline",
    "evaluators": "def evaluators(parameters) -> list of Evaluator",
    "prepare": "def prepare(dataset, parameters) -> Dataset, with *, labelled where it is for scoring too",
}


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
    search : Settings
        How the pipeline is searched, see `SearchSettings`.
    assigned : frozenset of str
        The names that options gave, which win over all.
    """

    parameters: BaseModel
    stages: Settings = field(default_factory=Settings)
    search: Settings = field(default_factory=Settings)
    assigned: frozenset[str] = frozenset()

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
    own = file_settings(module.name, folder)
    given = read_assignments(assignments, module.parameters)
    known = module.parameters.model_fields
    all_named, search = given.over(conf).over(own).split(lambda name, _: name == SEARCH and name not in known)
    named, _ = all_named.split(lambda name, _: name == CATALOG and name not in known)
    parameters, stages = named.split(lambda name, value: "." in name or (value is None and name not in known))
    hidden = next((place for place in stages.places.values() if place.hidden), None)
    if hidden is not None:
        raise ConfigError(f"{hidden.where}: a parameter of a stage is stored with the model, and cannot be a secret")
    return PipelineSettings(parameters.fill(module.parameters), stages, search.section(SEARCH), frozenset(given.values))


def file_settings(name: str, folder: Path) -> Settings:
    """Return the settings of ``<folder>/<name>.yaml``; none where there is no such file."""
    path = folder / f"{name}.yaml"
    return read_yaml(path) if path.is_file() else Settings()


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
