"""Values of one type as values of another, and which of them that other does not hold.

From a GPU they go by way of the host: cuDF refuses no value, and a text is read alike wherever it lies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa

from penstock import frames
from penstock.core.errors import SchemaError
from penstock.core.selectors import is_numeric
from penstock.core.type_names import type_name
from penstock.dataset.cast_as_fitted import bounds, not_held
from penstock.dataset.rowwise.texts import check_format, is_parsed, parse_texts
from penstock.frames import matrices
from penstock.frames.on_host import on_device_of, on_host

_TEMPORAL_HINT = (
    'Say in which zone: with_columns(t=nw.col("t").dt.replace_time_zone("UTC")), or .dt.date() for the day of a'
    " timestamp."
)


@dataclass(frozen=True)
class Conversion:
    """What turns a column of one type into another.

    Parameters
    ----------
    name : str
        Of the column.
    found, wanted : pyarrow.DataType
    format : str, optional
        Of dates and timestamps that are read of texts or written as such, in codes of strftime.
    """

    name: str
    found: pa.DataType
    wanted: pa.DataType
    format: str | None = None

    @property
    def description(self) -> str:
        """What it does, for errors and counts."""
        return f"{self.name!r} from {type_name(self.found)} to {type_name(self.wanted)}"

    def check(self, user: str) -> None:
        """Raise SchemaError, which names `user`, where no value of the one type is one of the other."""
        if not _is_possible(self.found, self.wanted):
            raise SchemaError(
                f"{user} cannot turn column {self.description}",
                hint=_TEMPORAL_HINT if pa.types.is_temporal(self.found) else "Compute it by with_columns.",
                column=self.name,
                stage=user,
            )
        texts = pa.types.is_string(self.found) != pa.types.is_string(self.wanted)
        if self.format is not None and not (texts and _has_format(self.found, self.wanted)):
            raise SchemaError(
                f"{user} has a format for column {self.name!r}, which is {self.found} and becomes {self.wanted}",
                hint="A format is for texts that become dates or timestamps, and for these as texts.",
                column=self.name,
                stage=user,
            )
        if self.format is not None:
            check_format(self.format, self.found if pa.types.is_string(self.wanted) else self.wanted)

    def apply(self, series: nw.Series) -> tuple[nw.Series, nw.Series | None]:
        """Return the values, null for those that cannot be had, and which ones these are; None where all can."""
        frame = series.alias(self.name).to_frame()
        if frames.is_gpu(frame):
            return self._by_way_of_host(frame)
        dtype = frames.dtypes(pa.schema([(self.name, self.wanted)]))[self.name]
        if self.found == self.wanted or pa.types.is_null(self.found):
            return series.cast(dtype) if self.found != self.wanted else series, None
        if (is_numeric(self.found) and is_numeric(self.wanted)) or _changes_unit(self.found, self.wanted):
            return self._compared(frame, dtype)
        return self._read_anew(frame)

    def _by_way_of_host(self, frame: nw.DataFrame) -> tuple[nw.Series, nw.Series | None]:
        before, after = (pa.schema([(self.name, kind)]) for kind in (self.found, self.wanted))
        values, bad = self.apply(on_host(frame, before)[self.name])
        made = on_device_of(frame, values.alias(self.name).to_frame(), after)[self.name]
        return made, None if bad is None else matrices.column(frame, self.name, bad.to_numpy())

    def _compared(self, frame: nw.DataFrame, dtype: Any) -> tuple[nw.Series, nw.Series | None]:
        series = frame[self.name]
        bad = _changed(self.name, self.found, self.wanted, series.dtype, dtype)
        if bad is None:
            return series.cast(dtype), None
        mask = frame.select(bad.fill_null(False).alias(self.name))[self.name]
        if not mask.any():
            return series.cast(dtype), None
        good = frame.select(nw.when(~bad.fill_null(False)).then(nw.col(self.name)).alias(self.name))
        return good[self.name].cast(dtype), mask

    def _read_anew(self, frame: nw.DataFrame) -> tuple[nw.Series, nw.Series | None]:
        table = frames.to_arrow(frame, pa.schema([(self.name, self.found)]))
        values, bad = self.convert(pl.Series(self.name, table[self.name].combine_chunks()), table[self.name])
        made = frames.from_arrow(pa.table({self.name: values}))[self.name]
        return made, matrices.column(frame, self.name, bad.to_numpy()) if bad.any() else None

    def convert(self, series: pl.Series, column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pl.Series]:
        """Return the values on the host, and which of them cannot be had."""
        if pa.types.is_string(self.found) and is_parsed(self.wanted):
            parsed = parse_texts(series, self.wanted, self.format)
            values = pa.chunked_array([parsed.to_arrow()]).cast(self.wanted)
            return values, parsed.is_null() & series.is_not_null()
        if self.format is not None:
            texts = pa.chunked_array([series.dt.to_string(self.format).to_arrow()]).cast(pa.string())
            return texts, series.is_null() & series.is_not_null()
        return _cast_on_host(column, self.wanted)


def _cast_on_host(column: pa.ChunkedArray, wanted: pa.DataType) -> tuple[pa.ChunkedArray, pl.Series]:
    """Cast by Arrow, which refuses a column for one value: halves of it are tried until that is found."""
    done: list[tuple[pa.ChunkedArray, bool]] = []
    todo = [column]
    while todo:
        part = todo.pop()
        made = _try_cast(part, wanted)
        if made is not None:
            done.append((made, False))
        elif len(part) == 1:
            done.append((pa.chunked_array([pa.nulls(1, wanted)]), True))
        else:
            places = np.arange(len(part))
            # Taken, not sliced: Arrow casts all values of the lists that a slice is of.
            todo += [part.take(pa.array(half)) for half in (places[len(part) // 2 :], places[: len(part) // 2])]
    chunks = [chunk for made, _ in done for chunk in made.chunks]
    bad = [failed for made, failed in done for _ in range(len(made))]
    return pa.chunked_array(chunks, wanted), pl.Series(bad, dtype=pl.Boolean)


def _try_cast(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray | None:
    try:
        made = _arrow_cast(column, wanted)
        rounds = pa.types.is_string(wanted) or (pa.types.is_floating(wanted) and pa.types.is_decimal(column.type))
        return made if rounds or _arrow_cast(made, column.type).equals(column) else None
    except pa.ArrowInvalid:
        return None


def _arrow_cast(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_integer(column.type) and pa.types.is_decimal(wanted):
        # Arrow asks for room for all integers of a type, whatever those of the column are.
        column = column.cast(pa.decimal256(76, wanted.scale))
    return column.cast(wanted)


def _changes_unit(found: pa.DataType, wanted: pa.DataType) -> bool:
    timestamps = pa.types.is_timestamp(found) and pa.types.is_timestamp(wanted)
    return timestamps and (found.tz is None) == (wanted.tz is None)


def _has_format(found: pa.DataType, wanted: pa.DataType) -> bool:
    return any(pa.types.is_date32(kind) or pa.types.is_timestamp(kind) for kind in (found, wanted))


def _is_possible(found: pa.DataType, wanted: pa.DataType) -> bool:
    if found == wanted or pa.types.is_null(found) or _changes_unit(found, wanted):
        return True
    if pa.types.is_list(found) and pa.types.is_list(wanted):
        return _is_possible(found.value_type, wanted.value_type) and not _is_text(wanted.value_type)
    if pa.types.is_nested(found) or pa.types.is_nested(wanted) or pa.types.is_null(wanted):
        return False
    if pa.types.is_string(found):
        return is_parsed(wanted) or pa.types.is_binary(wanted)
    if pa.types.is_string(wanted):
        return True
    counts = [is_numeric(kind) or pa.types.is_decimal(kind) for kind in (found, wanted)]
    if any(counts):
        return all(counts) and not (pa.types.is_decimal(wanted) and pa.types.is_boolean(found))
    days = [pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None) for kind in (found, wanted)]
    same = pa.types.is_duration(found) and pa.types.is_duration(wanted)
    return all(days) or same or (pa.types.is_time(found) and pa.types.is_time(wanted))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _changed(name: str, found: pa.DataType, wanted: pa.DataType, before: Any, after: Any) -> nw.Expr | None:
    """Return the expression that is true for numbers and times that the type does not hold as they are."""
    column = nw.col(name)
    if pa.types.is_boolean(found):
        return None
    if pa.types.is_boolean(wanted):
        return (column != 0) & (column != 1)
    if pa.types.is_integer(found) and pa.types.is_float32(wanted):
        number = column.cast(nw.Float32).cast(nw.Float64)
        low, stop = bounds(found)
        inside = (number >= float(low)) & (number < float(stop))
        return ~inside | (nw.when(inside).then(number).cast(before) != column)
    return not_held(name, found, wanted, before, after)
