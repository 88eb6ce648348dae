"""Parts of a dataset that have their share of each class, to within one row."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.core.errors import ConfigError, EmptyInputError, SchemaError
from penstock.core.schemas import require
from penstock.dataset.folds.dealers import Stratified
from penstock.dataset.folds.keys import RowHash
from penstock.dataset.folds.order_statistics import order_statistics

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

_KINDS = (pa.types.is_string, pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_null)


def stratified(
    dataset: Dataset, column: str | None, seed: int, shares: Callable[[int], Sequence[Fraction]], user: str
) -> Stratified:
    """Return what deals rows into parts of such shares of each class, and of all rows; reads the classes.

    Parameters
    ----------
    shares : callable
        The shares of the parts, for the number of rows.
    user : str
        The method of `Dataset` that asks, as errors have it.

    Raises
    ------
    EmptyInputError
        There are no rows.
    """
    kind = pa.bool_() if column is None else _kind(dataset, column, user)
    begins: list[list[int]] = []

    def ranks(_: Sequence[Any], rows: Sequence[int]) -> list[list[int]]:
        if not sum(rows):
            raise EmptyInputError(f"{user} found no rows", hint="Check the filters before it.")
        ordered = sorted(range(len(rows)), key=lambda code: -rows[code])
        parts = dict(zip(ordered, allocate([rows[code] for code in ordered], shares(sum(rows))), strict=True))
        begins[:] = [list(itertools.accumulate(parts[code]))[:-1] for code in range(len(rows))]
        return begins

    found = order_statistics(dataset, RowHash(seed), ranks, column, label=user)
    return Stratified(RowHash(seed), column, kind, found.classes, found.keys)


def by_fractions(dataset: Dataset, column: str, seed: int, fractions: Mapping[Any, float], user: str) -> Stratified:
    """Return what deals of each class a fraction of the rows into the first part; reads the classes.

    Parameters
    ----------
    fractions : mapping
        By class; of a class that is not among them no row is dealt there.
    """
    kind = _kind(dataset, column, user)
    for value in fractions:
        try:
            pa.scalar(value, kind)
        except (pa.ArrowException, OverflowError, TypeError) as error:
            hint = "Name the classes by the values that the column has."
            problem = f"fraction names the class {value!r}, which column {column!r} of type {kind} cannot have"
            raise ConfigError(problem, hint=hint, column=column) from error

    def ranks(classes: Sequence[Any], rows: Sequence[int]) -> list[list[int]]:
        shares = [Fraction(fractions.get(value, 0)) for value in classes]
        return [[math.floor(number * share + Fraction(1, 2))] for number, share in zip(rows, shares, strict=True)]

    found = order_statistics(dataset, RowHash(seed), ranks, column, label=user)
    return Stratified(RowHash(seed), column, kind, found.classes, found.keys)


def _kind(dataset: Dataset, column: str, user: str) -> pa.DataType:
    require(dataset.schema, [column])
    kind = dataset.schema.field(column).type
    if not any(test(kind) for test in _KINDS):
        raise SchemaError(
            f"column {column!r} is {kind}, by which {user} cannot stratify",
            hint="It takes classes as strings, booleans or numbers; cast the column before.",
            column=column,
        )
    return pa.string() if pa.types.is_null(kind) else kind


def allocate(rows: Sequence[int], shares: Sequence[Fraction]) -> list[list[int]]:
    """Return, for each class, how many of its rows go to each part.

    Every part has its share of every class to within one row, and of all rows as well as that allows: what is left
    when shares are rounded down goes to the parts that are most behind.

    Parameters
    ----------
    rows : sequence of int
        How many rows each class has.
    shares : sequence of Fraction
        Of the parts; their sum is 1.

    Examples
    --------
    >>> allocate([5, 1, 3], [Fraction(1, 3)] * 3)
    [[2, 2, 1], [0, 0, 1], [1, 1, 1]]
    >>> allocate([1, 1, 1, 1, 1], [Fraction(4, 5), Fraction(1, 5)])
    [[1, 0], [1, 0], [0, 1], [1, 0], [1, 0]]
    """
    behind = [Fraction(0) for _ in shares]
    allocated = []
    for number in rows:
        exact = [number * share for share in shares]
        parts = [int(share) for share in exact]
        behind = [before + share - part for before, share, part in zip(behind, exact, parts, strict=True)]
        whole = [share == part for share, part in zip(exact, parts, strict=True)]  # one row more is one too many
        order = sorted(range(len(shares)), key=lambda part: (whole[part], -behind[part], part))
        for part in order[: number - sum(parts)]:
            parts[part] += 1
            behind[part] -= 1
        allocated.append(parts)
    return allocated
