"""What rows of a sparse vector must be: how many are not, and the error that tells of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from penstock.core.errors import DataValueError
from penstock.frames import sparse
from penstock.frames.ragged import Ragged
from penstock.statistics.rules import LARGE


class _Fault(NamedTuple):
    """Which of the two columns is wrong, what is wrong, in which rows, and the expression that finds them."""

    part: int
    found: str
    expected: str
    rows: Callable[[Ragged, Ragged], np.ndarray]
    predicate: Callable[[str, str], nw.Expr]


def _holding(lists: Ragged, wrong: np.ndarray) -> np.ndarray:
    """Return the rows with an element that is wrong, as a mask."""
    rows = np.zeros(len(lists.missing), dtype=bool)
    rows[lists.rows[wrong]] = True
    return rows


def _numbers(lists: Ragged) -> np.ndarray:
    elements = lists.elements.fill_null(0) if lists.elements.null_count else lists.elements
    return elements.to_numpy(zero_copy_only=False)


def _unordered(indices: Ragged, _: Ragged) -> np.ndarray:
    numbers = _numbers(indices)
    wrong = numbers < 0
    wrong[1:] |= (np.diff(numbers) <= 0) & (np.diff(indices.rows) == 0)
    return _holding(indices, wrong)


def _with_nulls(at: int) -> Callable[[Ragged, Ragged], np.ndarray]:
    return lambda *lists: _holding(lists[at], lists[at].elements.is_null().to_numpy(zero_copy_only=False))


def _values(wrong: Callable[[np.ndarray], np.ndarray]) -> Callable[[Ragged, Ragged], np.ndarray]:
    return lambda _, values: _holding(values, wrong(_numbers(values)))


def not_finite(name: str) -> nw.Expr:
    """Return whether lists of a column have an element that is infinite, or NaN."""
    held = nw.col(name).list
    return held.contains(float("inf")) | held.contains(-float("inf")) | held.contains(float("nan"))


def _not_ascending(indices: str, _: str) -> nw.Expr:
    held = nw.col(indices).list
    return (held.sort() != nw.col(indices)) | (held.unique().list.len() != held.len()) | (held.min() < 0)


def _unequal(indices: str, values: str) -> nw.Expr:
    first, second = nw.col(indices), nw.col(values)
    return (first.is_null() != second.is_null()) | (first.list.len() != second.list.len())


def _not_binary(held: nw.Expr) -> nw.Expr:
    """Return whether lists have more distinct elements than 0, 1 and null."""
    zeros, ones, nulls = (held.list.contains(each).cast(nw.Int64) for each in (0.0, 1.0, None))
    return held.list.unique().list.len().cast(nw.Int64) != zeros + ones + nulls


_FAULTS: Mapping[str, _Fault] = {
    "null": _Fault(
        0, "null", "a vector in every row", lambda i, v: i.missing & v.missing, lambda i, _: nw.col(i).is_null()
    ),
    "unequal": _Fault(
        0, "not as long as its values", "a value for each index",
        lambda i, v: (i.lengths != v.lengths) | (i.missing != v.missing), _unequal,
    ),
    "null indices": _Fault(
        0, "null", "no nulls in lists", _with_nulls(0), lambda i, _: nw.col(i).list.contains(None)
    ),
    "null values": _Fault(
        1, "null, or NaN", "no nulls in lists", _with_nulls(1), lambda _, v: nw.col(v).list.contains(None)
    ),
    "unordered": _Fault(
        0, "not ascending, or negative", "distinct and ascending indices of 0 or more", _unordered, _not_ascending
    ),
    "infinite": _Fault(
        1, "infinite, or NaN", "finite numbers", _values(lambda x: ~np.isfinite(x)), lambda _, v: not_finite(v)
    ),
    "too large": _Fault(
        1, "too large", "numbers of at most 1e150, whose squares float64 holds", _values(lambda x: np.abs(x) > LARGE),
        lambda _, v: (nw.col(v).list.max() > LARGE) | (nw.col(v).list.min() < -LARGE),
    ),
    "negative": _Fault(
        1, "negative", "numbers of 0 or more", _values(lambda x: x < 0), lambda _, v: nw.col(v).list.min() < 0
    ),
    "not binary": _Fault(
        1, "not binary", "0 and 1",
        _values(lambda x: (x != 0) & (x != 1)),
        lambda _, v: _not_binary(nw.col(v)),
    ),
}  # fmt: skip
BROKEN = ("unequal", "null indices", "null values", "unordered", "infinite", "too large")
"""What no vector may be, wherever it is read."""


def count_faults(frame: nw.DataFrame[Any], name: str, faults: Sequence[str]) -> list[int]:
    """Return how many rows of a vector have each fault.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> kind = pa.schema(list(sparse.fields(["v"]).items()))
    >>> frame = frames.from_arrow(pa.table({"v_indices": [[1, 0], None], "v_values": [[1.0, 2.0], None]}, kind))
    >>> count_faults(frame, "v", ["null", "unordered"])
    [1, 1]
    """
    lists = [Ragged.of(frame, column) for column in sparse.columns(name)]
    return [int(_FAULTS[fault].rows(*lists).sum()) for fault in faults]


def refuse_faults(name: str, faults: Sequence[str], counts: Sequence[int]) -> None:
    """Raise DataValueError for the first fault that rows of a vector have."""
    for fault, count in zip(faults, counts, strict=True):
        if count:
            raise _error(name, _FAULTS[fault], count)


def _error(name: str, fault: _Fault, count: int) -> DataValueError:
    columns = sparse.columns(name)
    return DataValueError(
        f"column {columns[fault.part]!r} has {count} values that are {fault.found}, expected {fault.expected}",
        hint=f"{name!r} is a sparse vector, {columns[0]!r} and {columns[1]!r}: clean or filter these rows before.",
        column=columns[fault.part],
        predicate=fault.predicate(*columns),
    )


def refuse_broken(frame: nw.DataFrame[Any], name: str, faults: Sequence[str] = BROKEN) -> None:
    """Raise DataValueError where rows hold no vectors that can be computed with, or have another of the faults."""
    refuse_faults(name, faults, count_faults(frame, name, faults))
