"""The smallest and the largest value of each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.frames.blocks import EXACT, fits_block
from penstock.frames.matrices import to_host, to_rows
from penstock.statistics.base import ColumnStatistic, State


@dataclass(frozen=True)
class Extreme:
    """The smallest and the largest value, as Python values; both None when every value is null.

    Examples
    --------
    >>> Extreme(min=1, max=3).max
    3
    """

    min: Any
    max: Any


@dataclass(frozen=True)
class Extremes(ColumnStatistic):
    """The :class:`Extreme` of each column of numbers, booleans, strings, dates or timestamps; nulls are left out.

    Strings are compared by their UTF-8 bytes. The state of a column is an Arrow table of one row, ``min`` and ``max``
    in the type of the column, so that no date and no large integer is changed on its way.

    Examples
    --------
    >>> from penstock import frames
    >>> extremes = Extremes(("s",))
    >>> extremes.finish(extremes.summarise(frames.from_arrow(pa.table({"s": ["b", None, "a"]}))))
    {'s': Extreme(min='a', max='b')}
    """

    merges_slices = True

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the extremes of one partition, all columns in one select, or numbers on a GPU in one block.

        Of times on a GPU their ticks are taken: cuDF gives one as a `datetime`, which has neither all years nor all
        nanoseconds.
        """
        on_gpu = frame.implementation.is_cudf()
        if on_gpu and self.columns and len(frame) and fits_block(frame, self.columns):
            return _extremes_of_numbers(frame, self.columns)
        ticks = _ticks(frame.select(*self.columns)) if on_gpu else {}
        values = [nw.col(name).cast(nw.Int64) if name in ticks else nw.col(name) for name in self.columns]
        smallest = [value.min().alias(f"min{i}") for i, value in enumerate(values)]
        largest = [value.max().alias(f"max{i}") for i, value in enumerate(values)]
        row = frames.to_arrow(frame.select(*smallest, *largest))
        # pandas and cuDF forget the type of a minimum that is null.
        types = frames.to_arrow(frame.select(*self.columns).head(0)).schema.types
        ends = [row.select([f"min{i}", f"max{i}"]) for i, _ in enumerate(self.columns)]
        ends = [
            _typed(end, ticks[name]) if name in ticks else end for name, end in zip(self.columns, ends, strict=True)
        ]
        return {name: _typed(end, kind) for name, end, kind in zip(self.columns, ends, types, strict=True)}

    def merge_column(self, states: Sequence[State]) -> State:
        """Return the smaller minimum and the larger maximum."""
        table = pa.concat_tables(states)
        ends = {key: pc.min_max(table[key])[key] for key in ("min", "max")}
        return pa.table({key: pa.array([end], table.schema.field(key).type) for key, end in ends.items()})

    def fill_column(self, state: State, value: Any, count: int) -> State:
        """Take the value for one that is there."""
        return self.merge_column([state, pa.table({"min": [value], "max": [value]}).cast(state.schema)])

    def finish_column(self, name: str, state: State) -> Extreme:
        """Return the extremes of one column."""
        return Extreme(**state.to_pylist()[0])


def _extremes_of_numbers(frame: nw.DataFrame[Any], columns: Sequence[str]) -> State:
    rows = to_rows(frame, columns)
    missing = np.isnan(rows)
    smallest, largest = np.where(missing, np.inf, rows).min(axis=1), np.where(missing, -np.inf, rows).max(axis=1)
    ends = to_host(np.stack([smallest, largest]))
    known = np.where(ends[0] <= ends[1], ends, np.nan).T.tolist()
    tables = (pa.table([pa.array([end], from_pandas=True) for end in both], ["min", "max"]) for both in known)
    return {name: _typed(table, EXACT[frame.schema[name]]) for name, table in zip(columns, tables, strict=True)}


def _ticks(frame: nw.DataFrame[Any]) -> dict[str, pa.DataType]:
    """Return the types of times, without their zone, as cuDF counts them."""
    kinds = {name: (pa.duration if kind == nw.Duration else pa.timestamp, kind) for name, kind in frame.schema.items()}
    return {
        name: of(kind.time_unit) for name, (of, kind) in kinds.items() if isinstance(kind, nw.Datetime | nw.Duration)
    }


def _typed(end: pa.Table, kind: pa.DataType) -> pa.Table:
    return end.rename_columns(["min", "max"]).cast(pa.schema({"min": kind, "max": kind}))
