"""Texts as numbers, dates and timestamps, each read by itself; on the host.

Spaces around a value are left out, as in a CSV file. A whole number that a floating type would change is none of it.
"""

from __future__ import annotations

import datetime

import polars as pl
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.io.sources.numerals import WHOLE, holds_exactly

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
