"""The engine on Dask."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.engines.dask.engine import DaskEngine as DaskEngine

__all__ = ["DaskEngine"]


def __getattr__(name: str) -> Any:
    """Import the engine when it is asked for: its other modules are used where the engine's own packages are not."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("penstock.engines.dask.engine"), name)
