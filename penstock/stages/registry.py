"""The stages that a saved pipeline may name: those found in this package, and those that a caller passes in."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Mapping

import penstock.stages
from penstock.core.errors import UnsupportedStepError, did_you_mean
from penstock.stages.base import Stage


@functools.cache
def discover() -> dict[str, type[Stage]]:
    """Return every stage of the library by its name, found by walking its public modules.

    Private ones hold what stages import when they are used, XGBoost say, and loading a model without it needs none.
    """
    found: dict[str, type[Stage]] = {}
    for module in pkgutil.walk_packages(penstock.stages.__path__, "penstock.stages."):
        if any(part.startswith("_") for part in module.name.split(".")):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if inspect.isclass(value) and issubclass(value, Stage) and not inspect.isabstract(value):
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
            hint="Pass a stage of your own to load(..., stages={'Name': Class}).",
            stage=name,
        )
    return known[name]
