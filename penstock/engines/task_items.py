"""What a task works on, as progress lines and the errors of lost workers name it."""

from __future__ import annotations

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
