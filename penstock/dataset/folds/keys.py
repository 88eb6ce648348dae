"""What rows are put in order by: a hash of their number, or of their group, or a time. All give 64 unsigned bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import DataValueError
from penstock.frames import ROW
from penstock.frames.hashing import murmur3_array
from penstock.frames.transport_types import carried
from penstock.io.row_hashes import mix, random_bits

_STREAM = 0xD1342543DE82EF95  # of its own: rows of a low hash are not those that other deals put into their first fold
_STEP = np.uint64(0x9E3779B97F4A7C15)
_NULL = np.uint64(0xA0761D6478BD642F)


@dataclass(frozen=True)
class RowHash:
    """A hash of the row's number and a seed, of which no two rows have the same."""

    seed: int

    columns = (ROW,)

    def values(self, frame: nw.DataFrame[Any]) -> np.ndarray:
        """Return the hash of each row."""
        return random_bits(frame[ROW].to_numpy().astype(np.uint64), self.seed + _STREAM)


@dataclass(frozen=True)
class GroupHash:
    """A hash of the values of columns and a seed: MurmurHash3 of strings, SplitMix64 of numbers, whatever their width.

    Parameters
    ----------
    fields : tuple of pyarrow.Field
        Strings, booleans, numbers, dates or timestamps; null is a value.
    seed : int

    Examples
    --------
    >>> small, large = (pa.table({"g": pa.array([3, None], kind)}) for kind in (pa.int8(), pa.int64()))
    >>> hashes = [GroupHash((t.schema.field("g"),), 0).values(frames.from_arrow(t)) for t in (small, large)]
    >>> bool((hashes[0] == hashes[1]).all()), len(set(hashes[0].tolist()))
    (True, 2)
    """

    fields: tuple[pa.Field, ...]
    seed: int

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    def values(self, frame: nw.DataFrame[Any]) -> np.ndarray:
        """Return the hash of each row."""
        table = frames.to_arrow(frame.select(list(self.columns)), pa.schema(self.fields))
        hashes = np.full(len(table), self.seed % 2**64, np.uint64)
        for column in table.columns:
            hashes = mix(hashes + _STEP ^ _bits(column))
        return hashes


def _bits(column: pa.ChunkedArray) -> np.ndarray:
    """Return 64 bits of each value that are equal where the values are."""
    missing = column.is_null().to_numpy()
    if pa.types.is_string(column.type):
        bits = murmur3_array(column.fill_null("").combine_chunks()).to_numpy().astype(np.uint64)
    else:
        numbers = carried(column) if pa.types.is_temporal(column.type) else column
        numbers = numbers.cast(pa.uint8()) if pa.types.is_boolean(column.type) else numbers
        values = numbers.fill_null(0).to_numpy()
        floating = pa.types.is_floating(column.type)
        bits = (values.astype(np.float64) + 0.0).view(np.uint64) if floating else values.astype(np.uint64)
    return np.where(missing, _NULL, mix(bits))


@dataclass(frozen=True)
class TimeOrder:
    """Dates, timestamps or integers as unsigned numbers in the same order, a tick apart where they are.

    Examples
    --------
    >>> times = pa.table({"t": pa.array([-1, 0], pa.int8())})
    >>> (TimeOrder(times.schema.field("t")).values(frames.from_arrow(times)) - np.uint64(2**63 - 1)).tolist()
    [0, 1]
    """

    field: pa.Field

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.field.name,)

    def values(self, frame: nw.DataFrame[Any]) -> np.ndarray:
        """Return the place in time of each row.

        Raises
        ------
        DataValueError
            A value is null.
        """
        column = frames.to_arrow(frame.select(self.field.name), pa.schema([self.field]))[self.field.name]
        if column.null_count:
            raise without_time(self.field.name, column.null_count)
        if pa.types.is_uint64(column.type):
            return column.to_numpy()
        ticks: np.ndarray = carried(column).to_numpy().astype(np.int64).view(np.uint64)
        return ticks ^ np.uint64(2**63)


def without_time(column: str, nulls: int) -> DataValueError:
    """Return the error for rows that have no place in the order of time."""
    return DataValueError(
        f"column {column!r}, the time that folds go by, is null in {nulls} row(s)",
        hint="Filter these rows before: a row without a time is neither before nor after the others.",
        column=column,
        rows=nulls,
        predicate=nw.col(column).is_null(),
    )
