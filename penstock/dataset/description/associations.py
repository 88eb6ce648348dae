"""How much each column tells of a label: of columns cut into few parts, from one scan."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.names import hidden_name
from penstock.dataset.dataset import Dataset
from penstock.dataset.rowwise.hidden_columns import HiddenColumns
from penstock.dataset.rowwise.with_columns import ComputedColumn
from penstock.statistics import Distribution
from penstock.statistics.contingency import Contingencies, Contingency
from penstock.statistics.distinct.distinct_values import ValueSummary

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
