"""The engine on Spark."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.engines.spark.engine import SparkEngine as SparkEngine

__all__ = ["SparkEngine"]


def __getattr__(name: str) -> Any:
    """Import the engine when it is asked for: its other modules are used where the engine's own packages are not."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("penstock.engines.spark.engine"), name)
