"""A full description: besides what columns hold, how they are distributed and related, and what is wrong in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import SchemaError
from penstock.core.names import hidden_name
from penstock.core.schemas import require
from penstock.dataset.dataset import Dataset
from penstock.dataset.description.column_warnings import find_warnings
from penstock.dataset.description.data_description import DataDescription
from penstock.dataset.description.describe import Findings, basic_statistics, gathered, is_number
from penstock.dataset.description.histogram import Histogram, histogram, time_histogram
from penstock.dataset.description.relations import MOST_CORRELATED, Correlations, MissingPatterns
from penstock.dataset.rowwise.hidden_columns import HiddenColumns
from penstock.dataset.rowwise.with_columns import ComputedColumn
from penstock.statistics import Distribution, Quantiles
from penstock.statistics.base import Statistic
from penstock.statistics.contingency import Contingencies, Contingency
from penstock.statistics.distinct.distinct_values import ValueSummary
from penstock.statistics.equal_columns import EqualColumns
from penstock.statistics.null_patterns import NullPatterns
from penstock.statistics.pairwise_moments import PairwiseMoments
from penstock.statistics.skewness import Skewness
from penstock.statistics.text_forms import TextForms


def describe_fully(
    dataset: Dataset, columns: tuple[str, ...], quantiles: Sequence[float], top: int, label: str | None
) -> DataDescription:
    """Return the full description of columns, from one scan, or with a label from two; see `Dataset.describe`."""
    if label is not None:
        _check_label(dataset, label)
        columns = tuple(dict.fromkeys([*columns, label]))
    kinds = _Kinds(dataset.schema, {name: dataset.schema.field(name).type for name in columns})
    timed = kinds.with_epochs(dataset)
    rows, found = gathered(timed, kinds.statistics(), quantiles, top)
    told = {} if label is None else associations(timed, kinds.known(found), label)
    described = tuple(
        replace(found.description(name, kind), **kinds.details(found, name), association=told.get(kinds.source(name)))
        for name, kind in kinds.types.items()
    )
    return _related(DataDescription(rows, described, label=label), found)


def _check_label(dataset: Dataset, label: str) -> None:
    require(dataset.schema, (label,), stage="describe")
    kind = dataset.schema.field(label).type
    if not (is_number(kind) or pa.types.is_string(kind)):
        problem = f"label {label!r} is {kind}, describe expects numbers, booleans or strings"
        raise SchemaError(problem, hint="Cast it before.", column=label)


def _related(description: DataDescription, found: Findings) -> DataDescription:
    """Return a description with what its columns have to do with each other."""
    pairs, patterns, equal = (found.whole(what) for what in ("pairs", "patterns", "equal"))
    correlations = None if pairs is None else Correlations.of(pairs)
    return replace(
        description,
        missing_patterns=MissingPatterns.of(patterns, description.rows),
        correlations=correlations,
        warnings=find_warnings(description.columns, correlations, equal or (), description.label),
    )


@dataclass(frozen=True)
class _Kinds:
    """The columns that are described, by their types."""

    schema: pa.Schema
    types: Mapping[str, pa.DataType]

    def where(self, *tests: Callable[[pa.DataType], bool]) -> tuple[str, ...]:
        """Return the columns of a type that passes one of the tests."""
        return tuple(name for name, kind in self.types.items() if any(test(kind) for test in tests))

    @property
    def dated(self) -> tuple[str, ...]:
        """Columns of points in time."""
        return self.where(pa.types.is_date, pa.types.is_timestamp)

    def source(self, name: str) -> str:
        """Return the column of numbers that a column is known by: itself, or of a date when it is."""
        return hidden_name(f"time of {name}") if name in self.dated else name

    def with_epochs(self, dataset: Dataset) -> Dataset:
        """Return the dataset with microseconds since 1970 beside each point in time."""
        if not self.dated:
            return dataset
        epochs = {name: nw.col(name).dt.timestamp("us") for name in self.dated}
        made = [
            ComputedColumn(self.source(name), epoch, pa.schema([self.schema.field(name)]), pa.int64())
            for name, epoch in epochs.items()
        ]
        return dataset.with_step(HiddenColumns(tuple(made)))

    def statistics(self) -> dict[str, Statistic]:
        """Return the statistics to gather, by what they say."""
        numbers, texts = self.where(is_number), self.where(pa.types.is_string)
        compared = self.where(is_number, pa.types.is_string, pa.types.is_temporal)
        more: dict[str, Statistic] = {
            "quantiles": Quantiles((*numbers, *map(self.source, self.dated))),
            "skewness": Skewness(tuple(name for name in numbers if not pa.types.is_boolean(self.types[name]))),
            "forms": TextForms(texts),
            "equal": EqualColumns(compared),
            "pairs": PairwiseMoments(numbers[:MOST_CORRELATED]),
        }
        asked = {what: each for what, each in more.items() if each.columns}
        patterns = NullPatterns(tuple(self.types))
        return {**basic_statistics(self.schema, tuple(self.types)), **asked, "patterns": patterns}

    def known(self, found: Findings) -> dict[str, Known]:
        """Return what is known of the values of columns that may tell of a label, or are it."""
        numbers = [self.source(name) for name in (*self.where(is_number), *self.dated)]
        of_numbers = {name: found.of("quantiles", name) for name in numbers}
        return of_numbers | {name: found.of("values", name) for name in self.where(pa.types.is_string)}

    def details(self, found: Findings, name: str) -> dict[str, Any]:
        """Return what a full description says of a column besides."""
        form = found.of("forms", name)
        names = ("empty", "padded", "numeric", "codes")
        forms = {} if form is None else {each: getattr(form, each) for each in names}
        no_quantiles = {"quantiles": {}, "quantile_error": 0.0} if pa.types.is_boolean(self.types[name]) else {}
        shape = {"skewness": found.of("skewness", name), "histogram": self._histogram(found, name)}
        return {**forms, **no_quantiles, **shape}

    def _histogram(self, found: Findings, name: str) -> Histogram | None:
        distribution, kind = found.of("quantiles", self.source(name)), self.types[name]
        if distribution is None or pa.types.is_boolean(kind):
            return None
        if name in self.dated:
            return time_histogram(distribution, days=bool(pa.types.is_date(kind)))
        return histogram(distribution, whole=bool(pa.types.is_integer(kind)))


_PARTS, _CLASSES, _VALUES = 50, 20, 200
"""Into how many parts numbers are cut, and a label that has more values; and how many texts stand for themselves."""
_OTHER = "(other)"

Known = Distribution | ValueSummary
"""What is known of the values of a column: of numbers how they are distributed, of texts the most frequent ones."""


def associations(dataset: Dataset, known: Mapping[str, Known], label: str) -> dict[str, float]:
    """Return by column which share of the entropy of a label it tells, from 0 to 1; empty where that has none.

    With H the entropy of the label and I its mutual information with the column, it is ``I / H``, Theil's uncertainty
    coefficient; from I is taken what chance alone would give, ``(k - r - c + 1) / 2n`` of n rows, where r parts, c
    classes and k pairs of both occur (Miller and Madow). Rows without a label are left out, and null is a part.

    Parameters
    ----------
    dataset : Dataset
    known : mapping of str to Distribution or ValueSummary
        Of the label and of the columns.
    label : str
    """
    parts = {name: _parts(name, each, _CLASSES if name == label else _PARTS) for name, each in known.items()}
    hidden = {name: hidden_name(f"part of {name}") for name in parts}
    step = HiddenColumns(tuple(_computed(dataset.schema, name, hidden[name], parts[name], known) for name in parts))
    features = [name for name in parts if name != label]
    wanted = Contingencies((hidden[label], *(hidden[name] for name in features)))
    labelled = dataset.filter(~nw.col(label).is_null()).with_step(step)
    tables = wanted.finish(labelled.gather((wanted,), "associations")[0][0])
    told = {name: _told(tables[hidden[name]]) for name in features}
    return {name: share for name, share in told.items() if share is not None}


def _computed(schema: pa.Schema, name: str, hidden: str, part: nw.Expr, known: Mapping[str, Known]) -> ComputedColumn:
    kind = pa.int64() if isinstance(known[name], Distribution) else pa.string()
    return ComputedColumn(hidden, part, pa.schema([schema.field(name)]), kind)


def _parts(name: str, known: Known, most: int) -> nw.Expr:
    """Return the part that a value is in; null is in none."""
    column = nw.col(name)
    if isinstance(known, ValueSummary):
        frequent = [value for value, _ in known.top(_VALUES)]
        part = nw.when(column.is_in(frequent)).then(column).otherwise(nw.lit(_OTHER))
        return nw.when(~column.is_null()).then(part)
    beyond = [(column.cast(nw.Float64) > edge).cast(nw.Int64) for edge in _edges(known, most)]
    whole: nw.Expr = reduce(add, beyond, column.cast(nw.Float64).is_null().cast(nw.Int64))
    return nw.when(~column.is_null()).then(whole)


def _edges(known: Distribution, most: int) -> list[float]:
    """Return the last values of all parts but the last: each value is one where they are few, else of as many rows."""
    distinct = np.unique(known.values)
    if len(distinct) <= most:
        return [float(each) for each in distinct[:-1]]
    quantiles = {known.quantile(place / most) for place in range(1, most)}
    return sorted(each for each in quantiles if each is not None)


def _told(table: Contingency) -> float | None:
    counts = table.counts[:, table.counts.sum(axis=0) > 0]
    rows = counts.sum()
    label = _entropy(counts.sum(axis=0))
    if not label:
        return None
    cells, parts, classes = (np.count_nonzero(each) for each in (counts, counts.sum(axis=1), counts.sum(axis=0)))
    shared = _entropy(counts.sum(axis=1)) + label - _entropy(counts.ravel())
    by_chance = (cells - parts - classes + 1) / (2 * rows)
    return float(np.clip((shared - max(by_chance, 0.0)) / label, 0.0, 1.0))


def _entropy(counts: np.ndarray) -> float:
    shares = counts[counts > 0] / max(counts.sum(), 1)
    return float(-(shares * np.log(shares)).sum())
