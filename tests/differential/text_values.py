"""How values are spelled in text, and whether a value that was read is what its text says."""

import datetime as dt
import math
from typing import Any

import numpy as np
import pyarrow as pa

_EPOCH = dt.datetime(1970, 1, 1)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def spell(kind: pa.DataType, value: Any, style: int = 0) -> str:
    """Return one text for a value as `arrow_values.exact` stores it; styles are other spellings of the same."""
    if pa.types.is_boolean(kind):
        return str(value) if style else str(value).lower()
    if pa.types.is_floating(kind):
        return _spell_float(kind, float.fromhex(value), style)
    if pa.types.is_decimal(kind):
        return format(value, "f")
    if pa.types.is_date(kind):
        return (_EPOCH + dt.timedelta(days=value)).date().isoformat()
    if pa.types.is_timestamp(kind):
        return _spell_time(kind, value, style)
    return str(value)


def _spell_float(kind: pa.DataType, value: float, style: int) -> str:
    if style and math.isfinite(value):
        return f"{value:.17e}"
    return str(np.float32(value) if kind.bit_width == 32 else value)


def _spell_time(kind: pa.TimestampType, value: int, style: int) -> str:
    seconds, part = divmod(value, _PER_SECOND[kind.unit])
    time = (_EPOCH + dt.timedelta(seconds=seconds)).isoformat(sep="T" if style else " ")
    digits = len(str(_PER_SECOND[kind.unit])) - 1
    fraction = f".{part:0{digits}}" if digits else ""
    return time + fraction + ("" if kind.tz is None else "Z" if style else "+00:00")


def says(text: str, kind: pa.DataType, value: Any) -> bool:
    """Return whether `text` says the value that was read, as `arrow_values.exact` stores it, in the type inferred."""
    if pa.types.is_string(kind):
        return bool(text == value)
    text = text.strip(" \t")
    if pa.types.is_boolean(kind):
        return text.lower() == str(value).lower()
    if pa.types.is_integer(kind):
        return int(text) == value
    if pa.types.is_floating(kind):
        number = float(text)
        return value is None if math.isnan(number) else number.hex() == value
    if pa.types.is_date(kind):
        return text == spell(kind, value)
    return _instant(text) == value * 10**9 // _PER_SECOND[kind.unit]


def _instant(text: str) -> int:
    """Return nanoseconds since 1970 of a time in ISO 8601."""
    whole, _, rest = text.partition(".")
    digits = len(rest) - len(rest.lstrip("0123456789"))
    time = dt.datetime.fromisoformat((whole + rest[digits:]).replace("Z", "+00:00"))
    since = time.replace(tzinfo=None) - _EPOCH - (time.utcoffset() or dt.timedelta())
    return (since // dt.timedelta(seconds=1)) * 10**9 + int(rest[:digits].ljust(9, "0") or 0)
