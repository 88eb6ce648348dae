"""Tables of very many values, cut into shards by a hash, so that they are added up and put in order part by part.

The tables have the column ``value``, in which no value occurs twice. Those put in order have no null, and ``count``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.frames.hashing import murmur3_array

LIMIT = 2**18
"""Rows of a table above which it is cut. States of both forms can be merged, so it may change."""

_BITS = 6
SHARDS = 2**_BITS
"""How many there are. Part of the definition of stored states, as the hash is, so it never changes."""

ORDER = [("count", "descending"), ("value", "ascending")]

_AT_ONCE = 2**21  # in two thirds of the time that cutting takes, and one more copy of them
_HASHED = 2**18  # strings at once: a hash takes several times the memory of what it is of
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 by the golden ratio (Knuth): the highest bits depend on all


def divisible(kind: pa.DataType) -> bool:
    """Return whether values of a type have a hash; tables of others stay whole.

    Examples
    --------
    >>> divisible(pa.string()), divisible(pa.int8()), divisible(pa.date32())
    (True, True, False)
    """
    types = pa.types
    return any(test(kind) for test in (types.is_string, types.is_boolean, types.is_integer, types.is_floating))


def places(values: pa.ChunkedArray) -> np.ndarray:
    """Return the shard of each value, uint8: that of a string by MurmurHash3, that of a number by its value.

    A number has one place whatever its width, and 0.0 and -0.0 have one. Null has that of the empty string, or of 0.

    Examples
    --------
    >>> places(pa.chunked_array([["test", ""]])).tolist()
    [59, 2]
    >>> places(pa.chunked_array([[1, -1]], pa.int8())).tolist(), places(pa.chunked_array([[1, -1]])).tolist()
    ([39, 24], [39, 24])
    """
    found = [np.zeros(0, np.uint8)]
    for chunk in values.chunks:
        found += [_places(chunk.slice(start, _HASHED)) for start in range(0, len(chunk), _HASHED)]
    return np.concatenate(found)


def _places(values: pa.Array) -> np.ndarray:
    values = values.fill_null("" if pa.types.is_string(values.type) else 0) if values.null_count else values
    if pa.types.is_string(values.type):
        hashes: np.ndarray = murmur3_array(values).to_numpy()
        return (hashes >> np.uint32(32 - _BITS)).astype(np.uint8)
    numbers: np.ndarray = values.to_numpy(zero_copy_only=False)
    floating = pa.types.is_floating(values.type)
    bits: np.ndarray = (numbers.astype(np.float64) + 0.0).view(np.uint64) if floating else numbers.astype(np.uint64)
    return (bits * _SPREAD >> np.uint64(64 - _BITS)).astype(np.uint8)


def split(table: pa.Table, parts: int = SHARDS, key: str = "value") -> list[pa.Table]:
    """Return the rows of each shard; the tables share no memory, so that each can be let go by itself.

    Of fewer `parts`, a power of 2, each has the rows of as many consecutive shards.

    Examples
    --------
    >>> parts = split(pa.table({"value": ["test", ""], "count": [2, 1]}))
    >>> len(parts), parts[2].to_pylist(), parts[3].num_rows
    (64, [{'value': '', 'count': 1}], 0)
    """
    of_rows = places(table[key])
    order = np.argsort(of_rows, kind="stable")
    bounds = np.searchsorted(of_rows[order], np.arange(parts + 1) * (SHARDS // parts))
    return [table.take(pa.array(order[start:stop])) for start, stop in itertools.pairwise(bounds)]


def partition(tables: Sequence[pa.Table], parts: int) -> list[list[pa.Table]]:
    """Return the shards of each of so many parts, a power of 2, as in `split`; a part has no rows in those of others.

    Examples
    --------
    >>> whole = split(pa.table({"value": ["test", ""], "count": [2, 1]}))
    >>> [[shard.num_rows for shard in part].index(1) for part in partition(whole, 2)]
    [2, 59]
    """
    empty, size = tables[0].schema.empty_table(), SHARDS // parts
    return [
        [table if first <= place < first + size else empty for place, table in enumerate(tables)]
        for first in range(0, SHARDS, size)
    ]


def add(parts: list[list[pa.Table]], join: Callable[[list[pa.Table]], pa.Table]) -> list[pa.Table]:
    """Return what `join` makes of several cut tables, shard by shard; the lists of shards are emptied on the way.

    Examples
    --------
    >>> table = pa.table({"value": ["test"], "count": [2]})
    >>> add([split(table), split(table)], pa.concat_tables)[59].to_pylist()
    [{'value': 'test', 'count': 2}, {'value': 'test', 'count': 2}]
    """
    added = [join([part.pop() for part in parts]) for _ in range(SHARDS)]
    return added[::-1]


def leading(table: pa.Table, k: int) -> pa.Table:
    """Return the `k` rows of a table that come first in order, themselves in any.

    Examples
    --------
    >>> leading(pa.table({"value": ["b", "a", "c"], "count": [1, 1, 2]}), 2)["value"].to_pylist()
    ['c', 'a']
    """
    return table if k >= table.num_rows else table.take(pc.select_k_unstable(table, k, ORDER))


def ordered(tables: list[pa.Table]) -> pa.Table:
    """Return the rows of tables that have no value in common, most frequent first; `tables` is emptied on the way.

    Few rows are sorted at once. Of more, a sample sort: each table is cut at the same keys, then what lies between two
    of them is sorted by itself, so that hardly more than the rows, and the rows in order, is ever in memory.

    Examples
    --------
    >>> tables = [pa.table({"value": ["b", "d"], "count": [2, 1]}), pa.table({"value": ["a"], "count": [2]})]
    >>> ordered(tables)["value"].to_pylist(), tables
    (['a', 'b', 'd'], [])
    """
    if sum(table.num_rows for table in tables) <= _AT_ONCE:
        whole = pa.concat_tables(tables).combine_chunks()
        tables.clear()
        return whole.sort_by(ORDER)
    done, bounds = [tables[0].schema.empty_table()], _bounds(tables)
    ranges: list[list[pa.Table]] = [[] for _ in range(len(bounds) + 1)]
    while tables:
        for held, piece in zip(ranges, _cut(tables.pop(), bounds), strict=True):
            held.append(piece)
    for held in ranges:
        done.append(pa.concat_tables(held).sort_by(ORDER))
        held.clear()
    return pa.concat_tables(done).combine_chunks()


def _bounds(tables: Sequence[pa.Table]) -> pa.Table:
    """Return rows that cut all rows, in order, to at most 64 parts of about one size."""
    samples = [
        table.take(np.linspace(0, table.num_rows - 1, min(table.num_rows, SHARDS), dtype=np.int64)) for table in tables
    ]
    sampled = pa.concat_tables(samples).sort_by(ORDER)
    return sampled.take(np.arange(len(tables), sampled.num_rows, len(tables)))


def _cut(table: pa.Table, bounds: pa.Table) -> Iterator[pa.Table]:
    """Yield the rows before the first bound, those from there to the next, and so on; they share no memory."""
    # Sorted among the rows, the bounds say where they cut; the sort is stable, so that each comes before its equal.
    order = pc.sort_indices(pa.concat_tables([bounds, table]), ORDER).to_numpy()
    cuts = np.flatnonzero(order < len(bounds)) - np.arange(len(bounds))
    rows = order[order >= len(bounds)] - len(bounds)
    for start, stop in itertools.pairwise([0, *cuts, len(rows)]):
        yield table.take(rows[start:stop])
