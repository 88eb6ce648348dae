"""Integers in expressions: how far a result can lie, and the type that holds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import product
from typing import Any

import narwhals as nw

from penstock.core.errors import SchemaError

Limits = tuple[int, int]
_LONGEST_POWER = 127


def limits(kind: Any) -> Limits | None:
    """Return the least and the greatest value of a type of integers; None of any other.

    Examples
    --------
    >>> limits(nw.Int8()), limits(nw.UInt8()), limits(nw.Boolean())
    ((-128, 127), (0, 255), (0, 1))
    """
    if kind == nw.Boolean:
        return 0, 1
    if not kind.is_integer():
        return None
    name = kind.__name__ if isinstance(kind, type) else type(kind).__name__
    bits = int(name.rpartition("t")[2])
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if kind.is_signed_integer() else (0, 2**bits - 1)


def hold(kind: Any, wanted: Limits) -> bool:
    """Return whether a type holds all values between limits."""
    low, high = limits(kind) or (1, 0)
    return low <= wanted[0] and wanted[1] <= high


def wide(wanted: Sequence[Limits | None]) -> Any:
    """Return a type of integers in which values between several limits are computed.

    Raises
    ------
    SchemaError
        There is none.
    """
    for kind in (nw.Int64, nw.Int128, nw.UInt128):
        if all(hold(kind(), each) for each in wanted if each is not None):
            return kind
    raise SchemaError(
        "integers of int64 and uint64 together have more than 64 bits", hint="Cast them to one type before."
    )


Known = Sequence[Limits | None]


def _corners(how: Callable[[int, int], int], pairs: Known) -> Limits | None:
    (left, right) = pairs
    if left is None or right is None:
        return None
    ends = [how(one, other) for one, other in product(left, right)]
    return min(ends), max(ends)


def _add(name: str, pairs: Known) -> Limits | None:
    return reduce(lambda one, other: _corners(lambda a, b: a + b, [one, other]), pairs)


def _subtract(name: str, pairs: Known) -> Limits | None:
    return _corners(lambda a, b: a - b, pairs[::-1] if name == "__rsub__" else pairs)


def _multiply(name: str, pairs: Known) -> Limits | None:
    return _corners(lambda a, b: a * b, pairs)


def _negate(name: str, pairs: Known) -> Limits | None:
    return None if pairs[0] is None else (-pairs[0][1], -pairs[0][0])


def _absolute(name: str, pairs: Known) -> Limits | None:
    return None if pairs[0] is None else (0, max(map(abs, pairs[0])))


def _divide(name: str, pairs: Known) -> Limits | None:
    left, right = pairs[::-1] if name == "__rfloordiv__" else pairs
    if left is None or right is None:
        return None
    if right[0] >= 0:
        return min(left[0], 0), max(left[1], 0)
    most = max(map(abs, left))
    return -most, most


def _raise(name: str, pairs: Known) -> Limits | None:
    base, exponent = pairs[::-1] if name == "__rpow__" else pairs
    if base is None or exponent is None or not 0 <= exponent[0] == exponent[1]:
        return None
    most = max(map(abs, base))
    if exponent[0] > _LONGEST_POWER or most ** exponent[0] >= 2**_LONGEST_POWER:
        return None
    return -(most ** exponent[0]), most ** exponent[0]


CHECKED: Mapping[str, Callable[[str, Known], Limits | None]] = {
    "__add__": _add, "__radd__": _add, "sum_horizontal": _add, "__sub__": _subtract, "__rsub__": _subtract,
    "__mul__": _multiply, "__rmul__": _multiply, "__neg__": _negate, "abs": _absolute, "__floordiv__": _divide,
    "__rfloordiv__": _divide, "__pow__": _raise, "__rpow__": _raise,
}  # fmt: skip
"""Functions of integers that their type may not hold, and between which limits what they give lies."""
