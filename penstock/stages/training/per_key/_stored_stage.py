"""A stage as the parameter of another: what is stored of it, and which can be one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.core.checks import exact_keys
from penstock.core.errors import ArtifactVersionError, ConfigError
from penstock.stages.base import Stage
from penstock.stages.capabilities import ColumnChooser, DatasetStage, TrainingTransformer
from penstock.stages.registry import lookup
from penstock.stages.step import capability

_REFUSED: Mapping[Callable[..., Any], str] = {
    ColumnChooser: "leaves out other columns for each key",
    DatasetStage: "is computed by an engine for all rows together",
    TrainingTransformer: "gives the rows that it learns from other values than later ones",
}


def to_stored(stage: Stage) -> dict[str, Any]:
    """Return the name, version and parameters of a stage as JSON values.

    Examples
    --------
    >>> from penstock.stages import Log1p
    >>> to_stored(Log1p("x"))
    {'stage': 'Log1p', 'version': 1, 'parameters': {'columns': ['x'], 'output_columns': None}}
    >>> from_stored(to_stored(Log1p("x")))
    Log1p(columns=('x',), output_columns=None)
    """
    return {"stage": type(stage).__name__, "version": stage.version, "parameters": stage.parameters()}


def from_stored(document: Mapping[str, Any]) -> Stage:
    """Return the stage of the library that `to_stored` told of.

    Raises
    ------
    UnsupportedStepError
        There is none of that name; nothing is imported.
    ArtifactVersionError
        It is of another version.
    """
    exact_keys(document, {"stage", "version", "parameters"}, "the stage of a PerKey")
    kind = lookup(document["stage"], {})
    if document["version"] != kind.version:
        raise ArtifactVersionError(
            f"stage {kind.__name__} was saved in version {document['version']}, and this library has version"
            f" {kind.version}",
            hint="Read it with the version of the library that wrote it.",
            stage=kind.__name__,
        )
    return kind.from_parameters(document["parameters"])


def check_wrappable(stage: Any, owner: str) -> None:
    """Raise ConfigError for what is no stage, or one of which there cannot be a model for each key."""
    if not isinstance(stage, Stage):
        hint = 'Pass a stage: PerKey(LinearRegression("sales"), by="store").'
        raise ConfigError(f"{owner} is given {stage!r:.100}, expected a stage", hint=hint, stage=owner)
    reasons = [reason for kind, reason in _REFUSED.items() if capability(stage, kind) is not None]
    reasons += ["leaves out rows"] * (not stage.tags.keeps_rows)
    reasons += ["goes by the numbers of rows"] * stage.tags.numbers_rows
    if reasons:
        hint = "Put it before or after the stage that has a model for each key."
        raise ConfigError(f"{owner} takes no {stage.title}, which {reasons[0]}", hint=hint, stage=owner)
