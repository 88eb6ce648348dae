"""Outputs of an encoder fitted to a column ``c``."""

from typing import Any

import pyarrow as pa

from penstock import frames
from penstock.stages.base import Stage


def rows(learned: tuple[Stage, Any], *values: Any, kind: pa.DataType | None = None) -> list[tuple[Any, ...]]:
    """Return the outputs of a stage for each value."""
    bound, fitted = learned
    made = bound.transform(frames.from_arrow(pa.table({"c": pa.array(values, kind)})), fitted)
    return made.select(bound.outputs()).rows()


def encoded(learned: tuple[Stage, Any], *values: Any, kind: pa.DataType | None = None) -> list[Any]:
    """Return the output of a stage of one column for each value."""
    return [value for (value,) in rows(learned, *values, kind=kind)]
