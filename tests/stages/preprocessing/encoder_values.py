"""Values put through an encoder that was fitted to a column ``c``."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock import frames
from penstock.stages.base import Stage


def rows(learned: tuple[Stage, Any], *values: Any, kind: pa.DataType | None = None) -> list[tuple[Any, ...]]:
    """Return what a stage makes of each value: the values of its columns."""
    bound, fitted = learned
    made = bound.transform(frames.from_arrow(pa.table({"c": pa.array(values, kind)})), fitted)
    return made.select(bound.outputs()).rows()


def encoded(learned: tuple[Stage, Any], *values: Any, kind: pa.DataType | None = None) -> list[Any]:
    """Return what a stage of one column makes of each value."""
    return [value for (value,) in rows(learned, *values, kind=kind)]
