"""The stages and evaluators that a saved model may name: those of this package, and stages that a caller passes in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import penstock.stages
from penstock.core.errors import UnsupportedStepError, did_you_mean
from penstock.stages.base import Stage
from penstock.stages.evaluation.base import Evaluator


def discover() -> dict[str, type[Stage]]:
    """Return the stages of the library by name, ascending; their modules are imported."""
    return _discover(Stage)


def discover_evaluators() -> dict[str, type[Evaluator]]:
    """Return the evaluators of the library by name, ascending; modules of stages are imported too."""
    return _discover(Evaluator)


def _discover(base: type) -> dict[str, type[Any]]:
    return {name: kind for name in penstock.stages.__all__ if (kind := find(name, base)) is not None}


def find(name: str, base: type) -> type[Any] | None:
    """Return a stage or evaluator of the library by its name, or None.

    Its module alone is imported.

    Examples
    --------
    >>> find("Log1p", Stage), find("RankingEvaluator", Stage), find("os", Stage)
    (<class 'penstock.stages.preprocessing.numeric.log1p.Log1p'>, None, None)
    """
    kind = getattr(penstock.stages, name) if name in penstock.stages.__all__ else None
    return kind if kind is not None and issubclass(kind, base) else None


def lookup(name: str, more: Mapping[str, type[Stage]]) -> type[Stage]:
    """Return a stage by its name, of `more` or of the library.

    Raises
    ------
    UnsupportedStepError
        It is in neither.
    """
    kind: type[Stage] | None = more.get(name) or find(name, Stage)
    if kind is None:
        known = {**discover(), **more}
        raise UnsupportedStepError(
            f"stage {name!r} is not known.{did_you_mean(name, known)} Known are: {', '.join(known)}",
            hint="Pass a stage of your own to load(..., stages={'Name': Class}); on the command line name the pipeline"
            " that has it: penstock score MODEL --pipeline NAME, penstock evaluate NAME --model MODEL.",
            stage=name,
        )
    return kind
