"""Integers in expressions: how far a result can lie, and the type that holds it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
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


Known = Sequence[Limits]


def _corners(how: Callable[[int, int], int], known: Known) -> Limits:
    def both(left: Limits, right: Limits) -> Limits:
        ends = [how(*pair) for pair in product(left, right)]
        return min(ends), max(ends)

    return reduce(both, known)


def _negate(known: Known) -> Limits:
    return _corners(operator.sub, [(0, 0), *known])


def _absolute(known: Known) -> Limits:
    return 0, max(map(abs, known[0]))


def _divide(known: Known) -> Limits:
    left, right = known
    if right[0] >= 0:
        return min(left[0], 0), max(left[1], 0)
    most = max(map(abs, left))
    return -most, most


def _raise(known: Known) -> Limits | None:
    base, (exponent, highest) = known
    most = max(map(abs, base))
    if not 0 <= exponent == highest <= _LONGEST_POWER or most**exponent >= 2**_LONGEST_POWER:
        return None
    return -(most**exponent), most**exponent


CHECKED: Mapping[str, Callable[[Known], Limits | None]] = {
    "__add__": partial(_corners, operator.add), "sum_horizontal": partial(_corners, operator.add),
    "__sub__": partial(_corners, operator.sub), "__mul__": partial(_corners, operator.mul),
    "__neg__": _negate, "abs": _absolute, "__floordiv__": _divide, "__pow__": _raise,
}  # fmt: skip
"""Functions of integers that their type may not hold, and between which limits what they give lies."""
