"""The type of a text column: guessed from each range of the files, joined to one that holds every value.

The result does not depend on where the ranges were cut: a guess says not only a type but also whether its values stand
the step to the next wider one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from penstock.core.type_names import type_of
from penstock.io.sources.files import InputFile

EXACT = 2**53 - 1
"""Whole numbers up to this one are exact in float64, and no other number is rounded to them."""
_FIRST_DAY, _LAST_DAY = date(1678, 1, 1), date(2262, 1, 1)


@dataclass(frozen=True)
class Guess:
    """A type that holds the values seen.

    ``widens`` is whether they stand a wider type: int64 as float64 without loss of digits, dates and timestamps of
    seconds within the years of nanoseconds.
    """

    type: pa.DataType
    widens: bool = True


UNKNOWN = Guess(pa.null())
TEXT = Guess(pa.string())


def guess(values: pa.ChunkedArray) -> Guess:
    """Return the guess for values as pyarrow inferred them.

    Examples
    --------
    >>> guess(pa.chunked_array([[1, 2]]))
    Guess(type=DataType(int64), widens=True)
    """
    kind = values.type
    if pa.types.is_list(kind):
        inner = guess(pc.list_flatten(values))
        return Guess(pa.list_(inner.type), inner.widens)
    if pa.types.is_time(kind):  # no GPU library has it
        return TEXT
    if pa.types.is_int64(kind):
        return Guess(kind, _within(values, -EXACT, EXACT))
    if pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.unit == "s"):
        low, high = (pa.scalar(day).cast(kind) for day in (_FIRST_DAY, _LAST_DAY))
        return Guess(kind, _within(values, low, high))
    return Guess(kind)


def listed_types(files: Iterable[InputFile]) -> dict[str, pa.DataType]:
    """Return the types of the columns that the manifests of all files list alike."""
    first, *others = {file.columns for file in files}
    alike = set(first).intersection(*others)
    types = {name: type_of(text) for name, text in first if (name, text) in alike}
    return {name: dtype for name, dtype in types.items() if dtype is not None}


def _within(values: pa.ChunkedArray, low: object, high: object) -> bool:
    bounds = pc.min_max(values)
    within = pc.and_(pc.greater_equal(bounds["min"], low), pc.less_equal(bounds["max"], high))
    return within.as_py() is not False


def join(left: Guess, right: Guess) -> Guess | None:
    """Return the guess for the values of both, or None when only text holds them.

    Examples
    --------
    >>> join(Guess(pa.int64()), Guess(pa.float64())).type, join(Guess(pa.int64()), Guess(pa.bool_()))
    (DataType(double), None)
    """
    if left.type == right.type:
        return Guess(left.type, left.widens and right.widens)
    if pa.types.is_list(left.type) and pa.types.is_list(right.type):
        inner = join(*(Guess(side.type.value_type, side.widens) for side in (left, right)))
        return inner and Guess(pa.list_(inner.type), inner.widens)
    for narrow, wide in ((left, right), (right, left)):
        if pa.types.is_null(narrow.type):
            return wide
        if _is_step(narrow.type, wide.type):
            return _step(narrow, wide)
    return None


def _is_step(narrow: pa.DataType, wide: pa.DataType) -> bool:
    if not pa.types.is_timestamp(wide):
        return bool(pa.types.is_int64(narrow) and pa.types.is_float64(wide))
    if pa.types.is_date(narrow):
        return wide.tz is None
    return bool(pa.types.is_timestamp(narrow) and narrow.tz == wide.tz and narrow.unit == "s")


def _step(narrow: Guess, wide: Guess) -> Guess | None:
    if pa.types.is_timestamp(wide.type) and wide.type.unit == "s":
        return Guess(wide.type, narrow.widens and wide.widens)
    return wide if narrow.widens else None


def join_text(guesses: Iterable[Guess]) -> Guess:
    """Return the guess for all values together, a string where nothing else holds them."""
    return reduce(lambda left, right: join(left, right) or TEXT, guesses, UNKNOWN)


def settle(kind: pa.DataType, listed: pa.DataType | None = None) -> pa.DataType:
    """Return the type that a column gets for good: microseconds for whole seconds; listed where it has no value.

    Without a value and a listed type it is a string.

    Examples
    --------
    >>> settle(pa.null()), settle(pa.null(), pa.int8()), settle(pa.timestamp("s"), pa.int8())
    (DataType(string), DataType(int8), TimestampType(timestamp[us]))
    """
    if pa.types.is_null(kind):
        return pa.string() if listed is None or pa.types.is_null(listed) else listed
    if pa.types.is_list(kind):
        inner = listed.value_type if listed is not None and pa.types.is_list(listed) else None
        return pa.list_(settle(kind.value_type, inner))
    return pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) and kind.unit == "s" else kind
