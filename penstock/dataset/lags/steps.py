"""The steps on both sides of a window: what is left of the rows before, and what is read back beside them after."""

from __future__ import annotations

from dataclasses import dataclass

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.core.errors import DataValueError
from penstock.dataset.beside import NUMBER, RowsBeside
from penstock.dataset.steps import RowLog, Step
from penstock.frames import ROW
from penstock.frames.transport_types import carried, carrier, grouped, restored

SECONDS = {"seconds": 1, "minutes": 60, "hours": 3_600, "days": 86_400}
ALONE = "alone"
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True)
class Lag:
    """One new column: the value of `column` so many rows before, or how far it has come since.

    Parameters
    ----------
    column : str
    kind : pyarrow.DataType
        The type of `column`.
    periods : int
        Rows back; negative for rows ahead.
    name : str
        Of the new column.
    stored : str
        Of the column in the window's result that has the value so many rows before, carried.
    unit : str, optional
        The unit of a difference in time; None for a column that is no difference.
    """

    column: str
    kind: pa.DataType
    periods: int
    name: str
    stored: str
    unit: str | None = None

    @property
    def dtype(self) -> pa.DataType:
        """The type of the new column."""
        if self.unit is None:
            return self.kind
        if pa.types.is_temporal(self.kind):
            return pa.float64()
        return self.kind if pa.types.is_floating(self.kind) else pa.int64()

    def of(self, own: pa.ChunkedArray | None, other: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the column, from the values of the rows themselves (for a difference) and those before, carried."""
        if self.unit is None or own is None:
            return restored(other, self.kind)
        whole = own if pa.types.is_floating(own.type) else own.cast(pa.int64())
        try:
            passed = pc.subtract_checked(whole, other.cast(whole.type))
        except pa.ArrowInvalid as error:
            raise DataValueError(
                f"a difference of column {self.column!r} does not fit into 64 bits",
                hint="Make the column float64 before.",
                column=self.column,
            ) from error
        return self._in_units(passed, SECONDS[self.unit]) if pa.types.is_temporal(self.kind) else passed

    def _in_units(self, ticks: pa.ChunkedArray, seconds: int) -> pa.ChunkedArray:
        """Divide exact integers once, so that whole units are whole numbers."""
        if pa.types.is_date32(self.kind):
            ticks, per_second = pc.multiply(ticks, SECONDS["days"]), 1
        else:
            per_second = 10**3 if pa.types.is_date64(self.kind) else _TICKS[self.kind.unit]
        return pc.divide(ticks.cast(pa.float64(), safe=False), float(seconds * per_second))


@dataclass(frozen=True)
class Narrow(Step):
    """Leaves of the rows what a window needs, in types and names that every query engine takes.

    The columns are the row's number, ``alone`` (-1; for a row without a key or a place in the order its number, which
    makes it the only one of its partition), and `by`, `order_by` and `values` by their places: ``c0``, ``c1``, ...
    """

    schema: pa.Schema
    by: tuple[str, ...]
    order_by: tuple[str, ...]
    values: tuple[str, ...]
    label: str = "lag"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        names = (*self.by, *self.order_by, *self.values)
        kinds = {f"c{place}": carrier(self.schema.field(name).type) for place, name in enumerate(names)}
        return pa.schema({NUMBER: pa.int64(), ALONE: pa.int64(), **kinds})

    def needs(self, wanted: frozenset[str]) -> frozenset[str]:
        return frozenset((*self.by, *self.order_by, *self.values, ROW))

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        keys = (*self.by, *self.order_by)
        names = list(dict.fromkeys((*keys, *self.values)))
        table = frames.to_arrow(frame.select(names), pa.schema([self.schema.field(name) for name in names]))
        rows = frame[ROW].to_numpy()
        unplaced = np.zeros(len(rows), dtype=bool)
        for name in keys:
            unplaced |= table[name].is_null().to_numpy()
        columns = [pa.array(rows, pa.int64()), pa.array(np.where(unplaced, rows, -1), pa.int64())]
        columns += [grouped(carried(table[name])) for name in keys]
        columns += [carried(table[name]) for name in self.values]
        return frames.from_arrow(pa.table(columns, schema=self.output_schema(self.schema)), frames.kind_of(frame))


@dataclass(frozen=True, eq=False)
class Beside(Step):
    """Adds the columns that a window made, read by row number.

    Parameters
    ----------
    lags : tuple of Lag
    rows : RowsBeside
        Of the window's result.
    label : str
    """

    lags: tuple[Lag, ...]
    rows: RowsBeside
    label: str = "lag"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return pa.schema([*schema, *(pa.field(lag.name, lag.dtype) for lag in self.lags)])

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        asked = [lag for lag in self.lags if lag.name in wanted]
        if not asked:
            return None
        others = wanted - {lag.name for lag in asked}
        return others | {ROW} | {lag.column for lag in asked if lag.unit is not None}

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        """Add the columns whose own columns were read: others are not asked for."""
        lags = [lag for lag in self.lags if lag.unit is None or lag.column in frame.columns]
        window = self.rows.at(frame[ROW].to_numpy(), list(dict.fromkeys(lag.stored for lag in lags)), self.label)
        kinds = {lag.column: lag.kind for lag in lags if lag.unit is not None}
        own = frames.to_arrow(frame.select(list(kinds)), pa.schema(kinds)) if kinds else None
        values = {}
        for lag in lags:
            mine = None if own is None or lag.unit is None else carried(own[lag.column])
            values[lag.name] = lag.of(mine, window[lag.stored])
        return frame.with_columns(*frames.from_arrow(pa.table(values), frames.kind_of(frame)).iter_columns())
