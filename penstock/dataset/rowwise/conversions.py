"""Values of one type as values of another, and which of them that other does not hold.

From a GPU they go by way of the host: cuDF refuses no value, and a text is read alike wherever it lies.

Spaces around a value are left out, as in a CSV file. A whole number that a floating type would change is none of it.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, SchemaError
from penstock.core.selectors import is_numeric
from penstock.core.type_names import type_name
from penstock.dataset.cast_as_fitted import bounds, not_held
from penstock.frames import matrices
from penstock.frames.on_host import on_device_of, on_host
from penstock.io.sources.numerals import WHOLE, holds_exactly

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


_TRUE, _FALSE = ("true", "True", "TRUE", "1"), ("false", "False", "FALSE", "0")
_NUMERAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(inf|Inf|INF|infinity|Infinity)$|^(nan|NaN|NAN)$"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_DATE = rf"^{_DAY}$"
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?"
_MOMENT = rf"^{_DAY}([T ]{_CLOCK})?$"
_INSTANT = rf"^{_DAY}[T ]{_CLOCK}(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)$"
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_NANOSECONDS = (-(2**63) // 1000 + 1, (2**63 - 1) // 1000 - 1)


def is_parsed(kind: pa.DataType) -> bool:
    """Return whether texts can be read as values of a type."""
    tests = (pa.types.is_integer, pa.types.is_float32, pa.types.is_float64, pa.types.is_boolean)
    return any(test(kind) for test in (*tests, pa.types.is_date32, pa.types.is_timestamp, pa.types.is_decimal))


def parse_texts(texts: pl.Series, kind: pa.DataType, format: str | None = None) -> pl.Series:
    """Return the values of texts, null for those that are none.

    Parameters
    ----------
    texts : polars.Series
    kind : pyarrow.DataType
    format : str, optional
        Of dates and timestamps; ISO 8601 unless given, which for a type with a zone has its offset.

    Examples
    --------
    >>> parse_texts(pl.Series([" 12", "1e3", "300", "0x1"]), pa.int8()).to_list()
    [12, None, None, None]
    >>> parse_texts(pl.Series(["2024-02-29", "2024-02-30", "24-1-1"]), pa.date32()).to_list()
    [datetime.date(2024, 2, 29), None, None]
    """
    stripped = texts.str.strip_chars()
    if pa.types.is_date32(kind):
        return _dates(stripped, format)
    if pa.types.is_timestamp(kind):
        return _timestamps(stripped, kind, format)
    if pa.types.is_boolean(kind):
        known = [*_TRUE, *_FALSE]
        return stripped.replace_strict(known, [text in _TRUE for text in known], default=None, return_dtype=pl.Boolean)
    if pa.types.is_decimal(kind):
        return _decimals(stripped, kind)
    dtype = pl.Series(pa.nulls(0, kind)).dtype
    if pa.types.is_integer(kind):
        return _where(stripped, stripped.str.contains(WHOLE)).cast(dtype, strict=False)
    return _floats(stripped, kind, dtype)


def _where(values: pl.Series, condition: pl.Series) -> pl.Series:
    """Return the values for which a condition is true, null for others."""
    return pl.select(pl.when(condition).then(values).alias(values.name)).to_series()


def _floats(texts: pl.Series, kind: pa.DataType, dtype: pl.DataType) -> pl.Series:
    values = _where(texts, texts.str.contains(_NUMERAL)).cast(dtype, strict=False)
    overflow = values.is_infinite() & texts.str.contains("[0-9]")
    large = (values.abs() >= 2.0 ** (53 if dtype == pl.Float64 else 24)) & texts.str.contains(WHOLE) & ~overflow
    rounded = [place for place in large.fill_null(False).arg_true() if not holds_exactly(kind, int(texts[place]))]
    bad = overflow.fill_null(False)
    bad[rounded] = True
    return _where(values, ~bad)


def _decimals(texts: pl.Series, kind: pa.DataType) -> pl.Series:
    beyond = texts.str.contains(rf"\.[0-9]{{{kind.scale}}}[0-9]*[1-9]")
    plain = texts.str.contains(r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)$")
    return _where(texts, plain & ~beyond).cast(pl.Decimal(kind.precision, kind.scale), strict=False)


def _dates(texts: pl.Series, format: str | None) -> pl.Series:
    if format is not None:
        return texts.str.to_date(format, strict=False)
    return _where(texts, texts.str.contains(_DATE)).str.to_date("%Y-%m-%d", strict=False)


def _timestamps(texts: pl.Series, kind: pa.TimestampType, format: str | None) -> pl.Series:
    if format is None:
        texts, format = _iso(texts, kind), "%Y-%m-%dT%H:%M:%S%.f" + ("" if kind.tz is None else "%:z")
    parsed = texts.str.to_datetime(format, time_unit="us", strict=False)
    ticks = parsed.to_physical()
    if kind.unit == "ns":  # which does not go as far, and has three digits more
        inside = (ticks > _NANOSECONDS[0]) & (ticks < _NANOSECONDS[1])
        parsed = _where(texts, inside).str.to_datetime(format, time_unit="ns", strict=False)
    elif kind.unit != "us":
        parsed = _where(parsed, ticks % 10 ** (6 - _DIGITS[kind.unit]) == 0).dt.cast_time_unit("ms")
    return parsed if kind.tz is None else parsed.dt.convert_time_zone(kind.tz)


def _iso(texts: pl.Series, kind: pa.TimestampType) -> pl.Series:
    """Return texts in ISO 8601 in one way of writing it, null where one is not, or has more digits than the type."""
    beyond = texts.str.contains(rf"\.[0-9]{{{_DIGITS[kind.unit]}}}[0-9]*[1-9]")
    shaped = texts.str.contains(_MOMENT if kind.tz is None else _INSTANT)
    whole = _where(texts, shaped & ~beyond).str.replace(" ", "T", literal=True)
    whole = whole.str.replace(rf"^({_DAY})$", "${1}T00:00:00").str.replace(r"T([0-9:]{5})(Z|[+-]|$)", "T${1}:00${2}")
    if kind.tz is None:
        return whole
    whole = whole.str.replace(r"Z$", "+00:00").str.replace(r"([+-][0-9]{2})([0-9]{2})$", "${1}:${2}")
    return whole.str.replace(r"(:[0-9.]+[+-][0-9]{2})$", "${1}:00")


_MOMENT_OF_TRIAL = datetime.datetime(2024, 2, 29, 13, 0, 0, tzinfo=datetime.UTC)


def check_format(format: str, kind: pa.DataType) -> None:
    """Raise ConfigError unless a format writes dates or timestamps of a type, and reads what it writes.

    Examples
    --------
    >>> check_format("%H:%M", pa.date32())
    Traceback (most recent call last):
    penstock.errors.ConfigError: format '%H:%M' does not read date32[day]
      Hint: Write codes of strftime, as in "%d.%m.%Y" and "%Y-%m-%d %H:%M:%S%.f"; a type with a zone needs its ...
    """
    moment = pl.Series([_MOMENT_OF_TRIAL])
    series = moment if getattr(kind, "tz", None) else moment.dt.replace_time_zone(None)
    try:
        text = series.dt.to_string(format)
        zone = getattr(text.str.to_datetime(format).dtype, "time_zone", None)
        fits = pa.types.is_date32(kind) or (zone is None) == (kind.tz is None)
        reads = fits and parse_texts(text, kind, format).dt.year().to_list() == [_MOMENT_OF_TRIAL.year]
    except (Exception, pl.exceptions.PanicException):
        reads = False
    if not reads:
        raise ConfigError(
            f"format {format!r} does not read {kind}",
            hint='Write codes of strftime, as in "%d.%m.%Y" and "%Y-%m-%d %H:%M:%S%.f"; a type with a zone needs its'
            " offset, %z.",
        )
