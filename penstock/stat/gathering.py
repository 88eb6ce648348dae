"""Statistics of a dataset, gathered in one scan and finished; what makes one meaningless is named with file and row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from penstock.core.errors import ConfigError, DataValueError, SchemaError
from penstock.core.schemas import require
from penstock.core.selectors import Columns, is_numeric, resolve
from penstock.dataset.dataset import Dataset, check_dataset
from penstock.statistics.base import Statistic
from penstock.statistics.contingency import Contingencies, Contingency


def gathered(dataset: Dataset, *statistics: Statistic, label: str) -> list[Any]:
    """Return the results of statistics, from one scan; a second one finds the first value that an error is about."""
    states, _ = dataset.gather(statistics, label)
    with locating(dataset):
        return [statistic.finish(state) for statistic, state in zip(statistics, states, strict=True)]


@contextmanager
def locating(dataset: Dataset) -> Iterator[None]:
    """Add to an error about values the file and the row of the first."""
    try:
        yield
    except DataValueError as error:
        if error.predicate is None or error.path is not None:
            raise
        place = dataset.first_where(error.predicate, [error.column] if error.column else dataset.columns)
        raise error.at(**dict(zip(("path", "row"), place, strict=True)) if place else {}) from error


def numbers(dataset: Dataset, columns: Columns, what: str) -> tuple[str, ...]:
    """Return the names of columns of numbers or booleans; SchemaError, ConfigError for others."""
    return _of_type(dataset, columns, what, is_numeric, "numbers or booleans")


def categories(dataset: Dataset, columns: Columns, what: str) -> tuple[str, ...]:
    """Return the names of columns of strings, integers or booleans; SchemaError, ConfigError for others."""
    return _of_type(dataset, columns, what, _is_category, "strings, integers or booleans")


def contingencies(dataset: Dataset, columns: Columns, label: str, what: str) -> dict[str, Contingency]:
    """Return how often values of categorical columns occur with those of a label, by column; at least one row."""
    names = categories(dataset, columns, what)
    check_label(dataset, label, names, what)
    (found,) = gathered(dataset, Contingencies((label, *names)), label=what)
    check_rows(int(found[names[0]].counts.sum()), what)
    return {name: found[name] for name in names}


def check_label(dataset: Dataset, label: str, columns: tuple[str, ...], what: str) -> None:
    """Raise SchemaError or ConfigError unless a column can be the label of others: categories, or whole numbers."""
    require(dataset.schema, (label,), stage=what)
    kind = dataset.schema.field(label).type
    if not (is_numeric(kind) or pa.types.is_string(kind)):
        raise _wrong_type(label, kind, what, "strings, booleans or whole numbers")
    if label in columns:
        raise ConfigError(f"label {label!r} is among the columns", column=label, stage=what)


def check_rows(rows: int, what: str) -> None:
    """Raise DataValueError if there are no rows to test."""
    if not rows:
        raise DataValueError(f"{what} has no rows, expected at least one", hint="Look at the filters before it.")


def _of_type(
    dataset: Dataset, columns: Columns, what: str, suits: Callable[[pa.DataType], bool], expected: str
) -> tuple[str, ...]:
    check_dataset(dataset, what)
    names = resolve([columns] if isinstance(columns, str) else columns, dataset.schema, what)
    for name in names:
        kind = dataset.schema.field(name).type
        if not suits(kind):
            raise _wrong_type(name, kind, what, expected)
    return names


def _is_category(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or (is_numeric(kind) and not pa.types.is_floating(kind)))


def _wrong_type(name: str, kind: pa.DataType, what: str, expected: str) -> SchemaError:
    hint = "Leave it out, cast it, or put numbers into buckets (Bucketizer, QuantileDiscretizer)."
    return SchemaError(f"column {name!r} is {kind}, {what} expects {expected}", hint=hint, column=name, stage=what)
