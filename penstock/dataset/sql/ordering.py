"""ORDER BY and LIMIT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from penstock.dataset.dataset import Dataset
from penstock.dataset.sql.refusals import refused, shown

_MOST_ROWS = 2**31 - 1


@dataclass(frozen=True)
class SortItem:
    """What rows are sorted by, which way, and where null goes."""

    node: exp.Expr
    descending: bool
    nulls: str


def sort_items(node: exp.Expr, resolved: Callable[[exp.Expr], exp.Expr]) -> list[SortItem]:
    """Return what ORDER BY says; null goes last unless it says otherwise."""
    order = node.args.get("order")
    if order is None:
        return []
    made = []
    for each in order.expressions:
        if each.args.get("with_fill") or isinstance(each.this, exp.Collate):
            raise refused(each, f"ORDER BY {shown(each)} is not supported", "Texts are in the order of their bytes.")
        nulls = "first" if each.args.get("nulls_first") else "last"
        made.append(SortItem(resolved(each.this), bool(each.args.get("desc")), nulls))
    return made


def sorted_by(dataset: Dataset, order: Sequence[SortItem], columns: Sequence[str]) -> Dataset:
    """Return rows sorted by columns; those that agree in all stay in the order that they have."""
    first: dict[str, SortItem] = {}
    for name, item in zip(columns, order, strict=True):
        first.setdefault(name, item)
    for name, item in reversed(first.items()):
        dataset = dataset.sort(name, descending=item.descending, nulls=item.nulls)
    return dataset


def ordinal(node: exp.Literal, count: int, clause: str) -> int:
    """Return the place in the list, from 0, that a number of ORDER BY or GROUP BY means.

    Raises
    ------
    ConfigError
        There is no such place.
    """
    if not node.this.isdigit() or not 1 <= int(node.this) <= count:
        raise refused(node, f"{clause} {node.this} is no place in the list of {count}", f"Places are 1 to {count}.")
    return int(node.this) - 1


def limited(node: exp.Expr, dataset: Dataset) -> Dataset:
    """Return the rows that LIMIT and OFFSET keep."""
    limit, offset = node.args.get("limit"), node.args.get("offset")
    if limit is None and offset is None:
        return dataset
    if not isinstance(limit, exp.Limit):
        found: Any = limit or offset
        raise refused(found, f"{shown(found)} stands without LIMIT", "Write LIMIT 10 OFFSET 20.")
    rows = _count(limit.expression, "LIMIT")
    return dataset.limit(rows, offset=0 if offset is None else _count(offset.expression, "OFFSET"))


def _count(node: exp.Expr, clause: str) -> int:
    if not (isinstance(node, exp.Literal) and node.this.isdigit() and int(node.this) <= _MOST_ROWS):
        problem = f"{clause} is {shown(node)}, expected a whole number"
        raise refused(node, problem, f"Write {clause} 10, below 2147483648.")
    return int(node.this)
