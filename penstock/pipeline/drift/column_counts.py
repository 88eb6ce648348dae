"""What was counted of a column, of the reference and of today alike, as plain values and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.statistics.bin_counts import BinCount
from penstock.statistics.counts import Count
from penstock.statistics.known_values import KnownValueCount

ColumnCounts = Count
"""A `BinCount` of numbers, a `KnownValueCount` of strings, a `Count` of other columns."""

_NUMBER = (float, type(None))
_TYPES: Mapping[type[Count], Mapping[str, tuple[type, ...]]] = {
    BinCount: {"bins": (list,), "min": _NUMBER, "max": _NUMBER, "mean": _NUMBER, "std": _NUMBER},
    KnownValueCount: {"known": (list,), "others": (dict,), "others_error": (int,)},
    Count: {},
}


def summary(counts: ColumnCounts) -> dict[str, float | None]:
    """Return what a reader is told of a column: the share of missing values, and of numbers moments and range.

    Examples
    --------
    >>> summary(Count(rows=4, nulls=1))
    {'missing': 0.25}
    """
    missing = {"missing": counts.nulls / counts.rows if counts.rows else None}
    if not isinstance(counts, BinCount):
        return missing
    return {**missing, "mean": counts.mean, "std": counts.std, "min": counts.min, "max": counts.max}


def counts_to_state(counts: ColumnCounts) -> dict[str, Any]:
    """Return plain values, as they are stored."""
    fields = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(counts).items()}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in fields.items()}


def counts_from_state(state: Mapping[str, Any], cells: int) -> ColumnCounts:
    """Return what `counts_to_state` made a state of; `cells` is how many bins or known values there are.

    Raises
    ------
    ValueError
        It is no such state.
    """
    for kind, own in _TYPES.items():
        types = {"rows": (int,), "nulls": (int,), **own}
        if state.keys() == types.keys() and all(type(state[name]) in allowed for name, allowed in types.items()):
            _check([state["rows"], state["nulls"], *state.get("others", {}).values()])
            arrays = {name: _cells(state[name], cells) for name, allowed in own.items() if allowed == (list,)}
            return kind(**{**state, **arrays})
    raise ValueError(f"counts have {', '.join(state) or 'nothing'}")


def _cells(values: Sequence[Any], cells: int) -> np.ndarray:
    if len(values) != cells:
        raise ValueError(f"there are {len(values)} counts of {cells} cells")
    _check(values)
    return np.array(values, dtype=np.int64)


def _check(values: Sequence[Any]) -> None:
    for each in values:
        if type(each) is not int or not 0 <= each < 2**62:
            raise ValueError(f"{each!r:.40} is no count of rows")
