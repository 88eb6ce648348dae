"""Values of a row as those of the types that a model was fitted on: taken, or refused, as a dataset's are."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.core.errors import DataValueError, InputError, PenstockError, SchemaError
from penstock.dataset.cast_as_fitted import bounds, is_taken
from penstock.frames.nested import nan_to_null

Convert = Callable[[Any], Any]
REFUSALS = (PenstockError, pa.ArrowException, LookupError, TypeError, ValueError, ArithmeticError)
"""What values can raise, of which some are of no row, or of none that a model takes."""


def taking(field: pa.Field) -> Convert:
    """Return what turns a value into one of the column's type, a missing one into None, and refuses any other.

    Examples
    --------
    >>> take = taking(pa.field("n", pa.int32()))
    >>> take(3.0), take(float("nan")), take(None)
    (3, None, None)
    """
    convert = _converter(field.type)

    def take(value: Any) -> Any:
        if value is None:
            return None
        try:
            return convert(value)
        except (TypeError, NotImplementedError, ValueError, OverflowError) as error:
            if _is_missing(value):
                return None
            raise _refused(field, value, error) from error

    return take


def taking_all(field: pa.Field) -> Callable[[Sequence[Any]], pa.Array]:
    """Return what makes an array of the values of a column, as `taking` takes them one by one.

    It raises one of `REFUSALS` where it refuses a value, which says nothing of a row before that may be refused too.
    Values that are all of the class that the type has in Python, or None, are taken together, in a tenth of the time.

    Examples
    --------
    >>> take = taking_all(pa.field("x", pa.float64()))
    >>> take([1.5, None, float("nan")]).to_pylist(), take([1.5, 1]).to_pylist()
    ([1.5, None, None], [1.5, 1.0])
    """
    take, own = taking(field), _OWN_CLASSES.get(field.type)

    def take_all(values: Sequence[Any]) -> pa.Array:
        if own is not None and {*map(type, values)} <= {own, type(None)}:
            return pa.array(values, field.type, from_pandas=True)
        return pa.array([take(value) for value in values], field.type)

    return take_all


_OWN_CLASSES = {
    pa.float64(): float, pa.string(): str, pa.bool_(): bool,
    **dict.fromkeys((pa.int8(), pa.int16(), pa.int32(), pa.int64()), int),
    **dict.fromkeys((pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()), int),
}  # fmt: skip


def _is_missing(value: Any) -> bool:
    if isinstance(value, float | np.floating) and math.isnan(value):
        return True
    pandas = sys.modules.get("pandas")
    return pandas is not None and (value is pandas.NA or value is pandas.NaT)


def _refused(field: pa.Field, value: Any, error: Exception) -> InputError:
    other = isinstance(error, TypeError | NotImplementedError)
    kind, expected = (SchemaError, "of this type") if other else (DataValueError, "that this type holds")
    return kind(
        f"the row has {value!r:.100} ({type(value).__name__}) in column {field.name!r}, expected {field.type}",
        hint=f"Pass a value {expected}, or None.",
        column=field.name,
    )


def _converter(kind: pa.DataType) -> Convert:
    if pa.types.is_float64(kind):
        return _float
    if pa.types.is_float32(kind):
        return _float32
    if pa.types.is_integer(kind):
        low, stop = bounds(kind)
        return lambda value: _whole(value, low, stop)
    if pa.types.is_boolean(kind):
        return lambda value: bool(_instance(value, bool | np.bool_))
    if pa.types.is_string(kind):
        return _text
    for is_of, classes in _PLAIN:
        if is_of(kind):
            return partial(_instance, kind=classes)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return lambda value: _cast(value, kind).as_py()
    if pa.types.is_nested(kind):
        return lambda value: _nested(value, kind)
    if pa.types.is_decimal(kind):
        return lambda value: pa.scalar(_instance(value, Decimal), kind).as_py()
    return lambda value: _same(value, kind)


_PLAIN = ((pa.types.is_null, ()), (pa.types.is_binary, bytes))
"""Types whose values are taken as they are, with the classes that these have in Python."""


def _text(value: Any) -> str:
    text: str = _instance(value, str)
    if not text.isascii():
        text.encode()  # half of a surrogate pair, which JSON can have, is no text
    return text


def _instance(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(value)
    return value


def _number(value: Any) -> Any:
    if isinstance(value, str | bytes | bool | np.bool_ | Decimal):
        raise TypeError(value)
    return value


def _float(value: Any) -> float | None:
    if type(value) is float:
        return value if value == value else None
    number = float(_number(value))
    if isinstance(value, int | np.integer) and int(number) != value:
        raise ValueError(value)
    return None if math.isnan(number) else number


def _float32(value: Any) -> float | None:
    number = _float(value)
    if number is None:
        return None
    with np.errstate(over="ignore"):
        near = float(np.float32(number))
    if math.isinf(near) and not math.isinf(number):
        raise ValueError(value)
    return near


def _whole(value: Any, low: int, stop: int) -> int:
    if type(value) is int and low <= value < stop:
        return value
    if not low <= _number(value) < stop or int(value) != value:
        raise ValueError(value)
    return int(value)


def _cast(value: Any, kind: pa.DataType) -> pa.Scalar:
    """Return what pyarrow makes of a value by itself, in another type where that changes nothing."""
    try:
        # A Timestamp of pandas would lose its nanoseconds.
        zone = "UTC" if getattr(value, "tzinfo", None) else None
        found = pa.scalar(value, pa.timestamp("ns", zone) if getattr(value, "nanosecond", 0) else None)
    except pa.ArrowInvalid as error:
        raise TypeError(value) from error
    if not is_taken(kind, found.type):
        raise TypeError(value)
    return found.cast(kind)


def _nested(value: Any, kind: pa.DataType) -> Any:
    """Return a list, a struct or a map, in which a NaN is missing as in any other column."""
    made = _cast(value, kind) if pa.types.is_list(kind) else pa.scalar(value, kind)
    return nan_to_null(pa.chunked_array([pa.array([made], kind)]))[0].as_py()


def _same(value: Any, kind: pa.DataType) -> Any:
    made = pa.scalar(value, kind).as_py()
    if made != value:
        raise ValueError(value)
    return made
