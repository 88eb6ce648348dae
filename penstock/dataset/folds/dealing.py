"""The folds of each way to deal rows."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.core.errors import DataValueError, EmptyInputError, SchemaError
from penstock.core.names import column_names
from penstock.core.schemas import require
from penstock.core.selectors import resolve
from penstock.dataset.folds.block_sizes import block_sizes, check_sizes
from penstock.dataset.folds.dealers import ByColumn, ByGroup, ByRow
from penstock.dataset.folds.folds import Folds, held_out_in_turn
from penstock.dataset.folds.keys import GroupHash
from penstock.dataset.folds.stratified import stratified
from penstock.dataset.folds.time_ordered import time_ordered
from penstock.io.fragments import kept_rows
from penstock.statistics.grouped.folds import folds
from penstock.statistics.key_counts import KeyCounts

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

_FEW = 64
"""Rows a fold, on average, above which none of the folds is empty by chance."""


def random_folds(dataset: Dataset, num_folds: int, seed: int) -> Folds:
    """Return folds of rows by their number; reads nothing."""
    splits = held_out_in_turn(num_folds)
    rows = sum(fragment.rows for fragment in dataset.fragments)
    if all(step.keeps_rows for step in dataset.steps) and rows <= _FEW * num_folds:
        sizes = np.bincount(folds(_row_numbers(dataset), num_folds, seed), minlength=num_folds)
        check_sizes(splits, sizes.tolist(), f"Deal {sizes.sum()} row(s) into fewer folds, or with another seed.")
    return Folds(dataset, ByRow(num_folds, seed), splits)


def _row_numbers(dataset: Dataset) -> np.ndarray:
    numbers = [np.zeros(0, np.uint64)]
    for fragment in dataset.fragments:
        rows = np.arange(fragment.start, fragment.start + fragment.rows, dtype=np.uint64)
        mask = kept_rows(fragment, dataset.reader.samples)
        numbers.append(rows if mask is None else rows[mask])
    return np.concatenate(numbers)


def given_folds(dataset: Dataset, column: str, num_folds: int) -> Folds:
    """Return folds by a column of their numbers, which is read and checked."""
    require(dataset.schema, [column])
    kind = dataset.schema.field(column).type
    if not pa.types.is_integer(kind):
        raise SchemaError(
            f"column {column!r} is {kind}, expected integers, the number of the fold of each row",
            hint="Make such numbers of texts with StringIndexer, or pass group to keep rows that agree together.",
            column=column,
        )
    dealer = ByColumn(column, num_folds)
    *sizes, strays = block_sizes(dataset, dealer, num_folds)
    if strays:
        raise _located(dataset, dealer, strays)
    splits = held_out_in_turn(num_folds)
    check_sizes(splits, sizes, f"Number the folds in column {column!r} from 0 to {num_folds - 1}.")
    return Folds(dataset, dealer, splits)


def _located(dataset: Dataset, dealer: ByColumn, strays: int) -> DataValueError:
    error = DataValueError(
        f"column {dealer.column!r} has {strays} values that are no fold, expected 0 to {dealer.blocks - 1}",
        hint="Number the folds from 0, or set num_folds to how many there are.",
        column=dealer.column,
        rows=strays,
    )
    place = dataset.first_where(dealer.strays(), [dealer.column])
    return error if place is None else error.at(path=place[0], row=place[1])  # type: ignore[return-value]


def group_folds(dataset: Dataset, group: str | Sequence[str], num_folds: int, seed: int) -> Folds:
    """Return folds that keep the rows of a group together; reads the columns of groups."""
    return Folds(dataset, grouped(dataset, group, num_folds, seed), held_out_in_turn(num_folds))


def stratified_folds(dataset: Dataset, column: str, num_folds: int, seed: int) -> Folds:
    """Return folds that have their share of each class; reads the column of classes."""

    def shares(rows: int) -> list[Fraction]:
        if rows < num_folds:
            raise EmptyInputError(f"{rows} row(s) are too few for {num_folds} folds", hint="Pass fewer folds.")
        return [Fraction(1, num_folds)] * num_folds

    return Folds(dataset, stratified(dataset, column, seed, shares, "folds"), held_out_in_turn(num_folds))


def time_folds(dataset: Dataset, column: str, num_folds: int, window: Any, gap: Any, horizon: Any) -> Folds:
    """Return folds that train on earlier rows than they validate with; reads the column of time."""
    return Folds(dataset, *time_ordered(dataset, column, num_folds, window, gap, horizon))


MOST_GROUPS = 2**12
"""Up to so many groups are dealt one by one; of more, as many sets of groups at most, by their hash."""

_KINDS = (
    pa.types.is_string, pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_date,
    pa.types.is_timestamp,
)  # fmt: skip


def grouped(dataset: Dataset, group: str | Sequence[str], num_folds: int, seed: int) -> ByGroup:
    """Return what deals groups into folds of about as many rows; reads their columns.

    Raises
    ------
    EmptyInputError
        There are fewer groups than folds.
    """
    names = resolve(column_names(group, "groups of folds"), dataset.schema, "folds")
    key = GroupHash(tuple(_field(dataset.schema.field(name)) for name in names), seed)
    statistic = KeyCounts(key, limit=MOST_GROUPS)
    (state,), _ = dataset.gather((statistic,), label="folds")
    table = statistic.finish(state)
    if len(table.ranges) < num_folds:
        raise EmptyInputError(
            f"there are {len(table.ranges)} group(s) by {' and '.join(map(repr, names))}, expected one for each of"
            f" {num_folds} folds",
            hint="Pass fewer folds.",
        )
    return ByGroup(key, table.shift, tuple(table.ranges.tolist()), largest_first(table.counts, num_folds))


def largest_first(sizes: np.ndarray, parts: int) -> tuple[int, ...]:
    """Return the part of each of several groups, given one after the other, largest first, to the smallest part.

    Examples
    --------
    >>> largest_first(np.array([3, 9, 4, 4]), 2)
    (1, 0, 1, 1)
    """
    filled = [(0, part) for part in range(parts)]
    chosen = np.zeros(len(sizes), np.int64)
    for group in np.argsort(-sizes, kind="stable").tolist():
        size, part = filled[0]
        heapq.heapreplace(filled, (size + int(sizes[group]), part))
        chosen[group] = part
    return tuple(chosen.tolist())


def _field(field: pa.Field) -> pa.Field:
    if not any(test(field.type) for test in _KINDS):
        raise SchemaError(
            f"column {field.name!r} is {field.type}, by which folds cannot group",
            hint="It takes strings, booleans, numbers, dates and timestamps; cast the column before.",
            column=field.name,
        )
    return field
