"""The order of a relation's rows, said by columns: those that a user sees, and hidden ones that come along."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from penstock.core.names import hidden_name


@dataclass(frozen=True)
class SortKey:
    """A column that rows are sorted by."""

    column: str
    descending: bool = False
    nulls_last: bool = False


Order = tuple[SortKey, ...]


def order_name(place: int) -> str:
    """Return the name of a hidden column that rows are sorted by."""
    return hidden_name("order", place)


ROW_ORDER = order_name(0)
"""The hidden column of a dataset: its row numbers."""


def hide(order: Iterable[SortKey], first: int) -> tuple[dict[str, str], Order]:
    """Return hidden columns for those of an order, numbered from `first`: old names by new ones, and the order by them.

    Examples
    --------
    >>> hide((SortKey("day"), SortKey(ROW_ORDER)), 1)[0]
    {'__penstock_order_1__': 'day', '__penstock_order_2__': '__penstock_order_0__'}
    """
    keys = list(order)
    names = {order_name(first + place): key.column for place, key in enumerate(keys)}
    return names, tuple(replace(key, column=name) for name, key in zip(names, keys, strict=True))


def columns_of(order: Iterable[SortKey]) -> frozenset[str]:
    """Return the columns of an order."""
    return frozenset(key.column for key in order)


def sorting(order: Sequence[SortKey]) -> dict[str, Any]:
    """Return the parameters of Polars' `sort` and `sort_by` for an order."""
    return {
        "by": [pl.col(key.column) for key in order],
        "descending": [key.descending for key in order],
        "nulls_last": [key.nulls_last for key in order],
    }
