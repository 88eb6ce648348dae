"""States that somebody has changed: each part left out, or replaced by something else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from penstock.stages.base import Blob

_OTHERS: tuple[Any, ...] = (None, True, -1, 0, 2**53 + 1, 10**30, 1e308, -0.0, "", "x", [], {}, [1] * 1000, {"x": 1})
_MOST = 3
"""Of a long list or dict only so many parts are changed: the others are like them."""


def changes(state: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield copies of a state with one change each, and the place of the change; model files are left alone.

    Examples
    --------
    >>> found = dict(changes({"mean": {"x": 1.5}}))
    >>> found["mean.x left out"], found["mean.x = 'x'"]
    ({'mean': {}}, {'mean': {'x': 'x'}})
    """
    yield from ((place, changed) for place, changed in _changed(state, "") if isinstance(changed, dict))


def _changed(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from _changed_items(dict(value), list(value)[:_MOST], place)
    elif isinstance(value, list | tuple):
        yield from _changed_items(list(value), list(range(len(value)))[:_MOST], place)
    elif isinstance(value, pa.Table):
        yield from ((f"{place}: {how}", table) for how, table in _changed_tables(value).items())
    if place and not isinstance(value, Blob):
        yield from ((f"{place} = {other!r:.20}", other) for other in _OTHERS)


def _changed_items(whole: Any, keys: list[Any], place: str) -> Iterator[tuple[str, Any]]:
    for key in keys:
        name = f"{place}.{key}" if place else str(key)
        for there, item in _changed(whole[key], name):
            copy = whole.copy()
            copy[key] = item
            yield there, copy
        copy = whole.copy()
        del copy[key]
        yield f"{name} left out", copy


def _changed_tables(table: pa.Table) -> dict[str, pa.Table]:
    names = table.column_names
    nulls = pa.table({name: pa.nulls(table.num_rows, table[name].type) for name in names})
    return {
        "null": nulls,
        "half": table.slice(0, table.num_rows // 2),
        "twice": pa.concat_tables([table, table]),
        "backwards": table.take(pa.array(range(table.num_rows)[::-1], pa.int64())),
        "numbers": pa.table({name: pa.array([1.5] * table.num_rows) for name in names}),
        "renamed": table.rename_columns(["zz", *names[1:]]),
        "no columns": table.select([]),
    }
