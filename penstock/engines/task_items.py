"""What a task works on, as progress lines and the errors of lost workers name it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from penstock.dataset.task_errors import place_of
from penstock.io.fragments import Fragment
from penstock.io.memory_errors import size_of


def describe(item: Any) -> str:
    """Return a fragment with its files, a file, or any other item as it is written.

    Examples
    --------
    >>> from penstock.io.fragments import Piece
    >>> describe(Fragment(17, 0, (Piece("a/b.parquet", 0, 10),)))
    'fragment 17 (a/b.parquet)'
    """
    path = place_of(item).get("path")
    if isinstance(item, Fragment):
        return f"fragment {item.index} ({path})"
    return path or f"{item!r:.200}"


def describe_with_size(item: Any) -> str:
    """Return the same, and how much a fragment is.

    Examples
    --------
    >>> from penstock.io.fragments import Piece
    >>> describe_with_size(Fragment(17, 0, (Piece("a/b.parquet", 0, 10, size=2**21),)))
    'fragment 17 (a/b.parquet), 10 rows from files of 2.0 MiB,'
    """
    return f"{describe(item)}, {size_of(item)}," if isinstance(item, Fragment) else describe(item)


def long_ones(items: Sequence[Any], most: int) -> list[int]:
    """Return the places of fragments with more than twice the median of rows, `most` of them, those with most first.

    Examples
    --------
    >>> from penstock.io.fragments import Piece
    >>> rows = [10, 10, 26, 10, 40, 15]
    >>> long_ones([Fragment(n, 0, (Piece("a", 0, count),)) for n, count in enumerate(rows)], most=8)
    [4, 2]
    """
    rows = {place: item.rows for place, item in enumerate(items) if isinstance(item, Fragment)}
    limit = 2 * statistics.median(rows.values()) if rows else 0
    long = [place for place, count in rows.items() if count > limit]
    return sorted(long, key=rows.__getitem__, reverse=True)[:most]
