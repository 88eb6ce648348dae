"""Integer numbers as float32 features: those above 2**24 are rounded, and ids that are neighbours become one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import narwhals as nw

from penstock.statistics.extremes import Extremes

EXACT = 2**24
"""The largest number up to which float32 holds every whole number."""
BEYOND = "beyond float32"
"""Where training keeps what it found; no part of a model."""
_WIDE = (nw.Int32, nw.Int64, nw.UInt32, nw.UInt64)


def beyond(frame: nw.DataFrame, columns: Sequence[str]) -> dict[str, int]:
    """Return the value farthest from 0 of each column of integers in which float32 rounds some.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> beyond(frames.from_arrow(pa.table({"id": [1, -(2**60) - 1, None], "age": [40, 41, None]})), ["id", "age"])
    {'id': -1152921504606846977}
    """
    whole = tuple(name for name in columns if frame.schema[name] in _WIDE)
    if not whole:
        return {}
    ends = {name: state.to_pylist()[0].values() for name, state in Extremes(whole).summarise(frame).items()}
    return farthest([{name: end} for name, both in ends.items() for end in both if end is not None])


def farthest(found: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return of each column the value farthest from 0, of those beyond 2**24."""
    values: dict[str, int] = {}
    for name, value in (item for each in found for item in each.items()):
        if abs(value) > max(EXACT, abs(values.get(name, 0))):
            values[name] = value
    return values


def notes(found: Mapping[str, int]) -> list[str]:
    """Return what a user should know of these columns."""
    return [
        f"feature {name!r} has whole numbers as large as {value}, and float32, which XGBoost takes, rounds those beyond"
        f" {EXACT}: ids become one. Index or hash them (StringIndexer, HashBucket), or leave them out"
        for name, value in found.items()
    ]
