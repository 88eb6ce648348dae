"""The quarantine table: rows that a stage sets aside, with their number and the reason."""

from __future__ import annotations

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.frames import ROW


def check_names(schema: pa.Schema, stage: str) -> None:
    """Raise ConfigError where the data has a column that the quarantine table has for itself."""
    taken = sorted({"row", "reason"} & set(schema.names))
    if taken:
        raise ConfigError(
            f"the data has a column {taken[0]!r}, which the quarantine table has for itself",
            hint="Rename the column before this step.",
            stage=stage,
        )


def set_aside(bad: nw.DataFrame, reason: str) -> pa.Table:
    """Return rows as they are written aside: ``row`` (int64, null where none is known), ``reason``, their columns."""
    table = frames.to_arrow(bad)
    numbers = table[ROW] if ROW in table.column_names else pa.nulls(len(table), pa.int64())
    table = table.drop_columns([ROW]) if ROW in table.column_names else table
    reasons = pa.array([reason] * len(table), pa.string())
    return pa.table([numbers, reasons, *table.columns], names=["row", "reason", *table.column_names])
