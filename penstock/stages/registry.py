"""The stages and evaluators that a saved model may name: those of this package, and stages that a caller passes in."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from typing import Any

import penstock.stages
from penstock.core.errors import UnsupportedStepError, did_you_mean
from penstock.stages.base import Stage
from penstock.stages.evaluation.base import Evaluator


def discover() -> dict[str, type[Stage]]:
    """Return every stage of the library by its name."""
    return _discover(Stage)


def discover_evaluators() -> dict[str, type[Evaluator]]:
    """Return every evaluator of the library by its name."""
    return _discover(Evaluator)


@functools.cache
def _discover(base: type) -> dict[str, type[Any]]:
    """Return the classes of one kind by name, found by walking the public modules.

    Private ones hold what stages import when they are used, XGBoost say, and loading a model without it needs none.
    """
    found: dict[str, type[Any]] = {}
    for module in pkgutil.walk_packages(penstock.stages.__path__, "penstock.stages."):
        if any(part.startswith("_") for part in module.name.split(".")):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if inspect.isclass(value) and issubclass(value, base) and not inspect.isabstract(value):
                found[name] = value
    return {name: kind for name, kind in sorted(found.items()) if not name.startswith("_")}


def lookup(name: str, more: Mapping[str, type[Stage]]) -> type[Stage]:
    """Return the stage called `name`; nothing is imported by name.

    Raises
    ------
    UnsupportedStepError
        It is in neither registry.
    """
    known = {**discover(), **more}
    if name not in known:
        raise UnsupportedStepError(
            f"stage {name!r} is not known.{did_you_mean(name, known)} Known are: {', '.join(known)}",
            hint="Pass a stage of your own to load(..., stages={'Name': Class}); on the command line name the pipeline"
            " that has it: penstock score MODEL --pipeline NAME, penstock evaluate NAME --model MODEL.",
            stage=name,
        )
    return known[name]
