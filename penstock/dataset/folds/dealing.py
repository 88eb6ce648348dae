"""The folds of each way to deal rows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.core.errors import DataValueError, EmptyInputError, SchemaError
from penstock.core.schemas import require
from penstock.dataset.folds.block_sizes import block_sizes, check_sizes
from penstock.dataset.folds.dealers import ByColumn, ByRow
from penstock.dataset.folds.folds import Folds, held_out_in_turn
from penstock.dataset.folds.grouped import grouped
from penstock.dataset.folds.stratified import stratified
from penstock.dataset.folds.time_ordered import time_ordered
from penstock.io.fragments import kept_rows
from penstock.statistics.grouped.folds import folds

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
