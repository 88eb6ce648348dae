"""What is searched: the settings in their order, and the folds that all contenders share."""

from __future__ import annotations

import itertools
import os
from typing import Any

from benchmarks.contenders import FOLDS, SETTINGS


def settings(work: str) -> list[dict[str, Any]]:
    """Return the settings of a work, the last parameter varying fastest; the first ones where fewer are asked for."""
    grid = SETTINGS[work]
    every = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    return every[: int(os.environ.get("SEARCH_SETTINGS", len(every)))]


def folds() -> int:
    """Return how many folds there are."""
    return int(os.environ.get("SEARCH_FOLDS", FOLDS))
