"""The engine without a cluster: this process, its threads, its GPU."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.engines.local.engine import LocalEngine as LocalEngine

__all__ = ["LocalEngine"]


def __getattr__(name: str) -> Any:
    """Import the engine when it is asked for: its other modules are used where the engine's own packages are not."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("penstock.engines.local.engine"), name)
