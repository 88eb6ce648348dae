"""Bins and known values of a profile, and counts of columns as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.core.selectors import is_numeric
from penstock.statistics.base import Statistic
from penstock.statistics.bin_counts import BinCount, BinCounts
from penstock.statistics.counts import Count, Counts
from penstock.statistics.distinct.distinct_values import DistinctValues, ValueSummary
from penstock.statistics.known_values import KnownValueCount, KnownValues
from penstock.statistics.quantiles import Distribution, Quantiles

BINS = 64
"""Bins of a column of numbers, at most."""
VALUES = 256
"""Texts of a column that are known, at most: the most frequent ones."""
_DISTINCT = BINS // 2
"""Up to so many different numbers each has a bin of its own, and so have the gaps between them."""
ColumnCounts = Count
"""A `BinCount` of numbers, a `KnownValueCount` of strings, a `Count` of other columns."""

_NUMBER = (float, type(None))
_TYPES: Mapping[type[Count], Mapping[str, tuple[type, ...]]] = {
    BinCount: {"bins": (list,), "min": _NUMBER, "max": _NUMBER, "mean": _NUMBER, "std": _NUMBER},
    KnownValueCount: {"known": (list,), "others": (dict,), "others_error": (int,)},
    Count: {},
}


@dataclass(frozen=True)
class Bins:
    """How the values of columns are counted.

    Attributes
    ----------
    edges : mapping of str to tuple of float
        Of each column of numbers the ends of its bins, each of which is part of the bin below.
    values : mapping of str to tuple of str
        Of each column of strings those that are counted by themselves.
    plain : tuple of str
        Columns of other types, of which only missing values are counted.
    """

    edges: Mapping[str, tuple[float, ...]]
    values: Mapping[str, tuple[str, ...]]
    plain: tuple[str, ...]

    @classmethod
    def of(cls, schema: pa.Schema, results: Sequence[Any]) -> Bins:
        """Return the bins for columns of a schema, from what `first_look` found."""
        numbers, texts = results
        plain = tuple(name for name in schema.names if name not in numbers and name not in texts)
        edges = {name: _edges(found) for name, found in numbers.items()}
        return cls(edges, {name: _values(found) for name, found in texts.items()}, plain)

    def statistics(self, columns: Sequence[str] | None = None) -> tuple[Statistic, ...]:
        """Return what is counted, of some of the columns."""
        edges, values, plain = (self._chosen(each, columns) for each in (self.edges, self.values, self.plain))
        counted = (
            BinCounts(edges, tuple(self.edges[name] for name in edges)),
            KnownValues(values, tuple(self.values[name] for name in values)),
            Counts(plain),
        )
        return tuple(each for each in counted if each.columns)

    def _chosen(self, names: Sequence[str] | Mapping[str, Any], columns: Sequence[str] | None) -> tuple[str, ...]:
        return tuple(name for name in names if columns is None or name in columns)


def first_look(schema: pa.Schema) -> tuple[Statistic, ...]:
    """Return the statistics that bins are made of: quantiles of numbers, frequent ones of texts."""
    numbers = tuple(field.name for field in schema if is_numeric(field.type) or pa.types.is_decimal(field.type))
    texts = tuple(field.name for field in schema if pa.types.is_string(field.type))
    return Quantiles(numbers), DistinctValues(texts)


def _edges(found: Distribution) -> tuple[float, ...]:
    """Return the edges for a column of numbers: below the smallest, at quantiles, and at the largest.

    Quantiles that are equal are one edge. Values beyond the first and the last edge are out of range.
    """
    values = np.unique(found.values[np.isfinite(found.values)])
    if not len(values):
        return (0.0,)
    if len(values) <= _DISTINCT:
        edges = np.column_stack([np.nextafter(values, -np.inf), values]).ravel()
    else:
        quantiles = [found.quantile(place / (BINS - 3)) for place in range(BINS - 2)]
        edges = np.clip(np.array([np.nextafter(values[0], -np.inf), *quantiles]), None, values[-1])
        edges = np.append(edges, values[-1])
    return tuple(np.unique(edges[np.isfinite(edges)]).tolist())


def _values(found: ValueSummary) -> tuple[str, ...]:
    return tuple(value for value, _ in found.top(VALUES))


def summary(counts: ColumnCounts) -> dict[str, float | None]:
    """Return what a reader is told of a column: the share of missing values, and of numbers moments and range.

    Examples
    --------
    >>> summary(Count(rows=4, nulls=1))
    {'missing': 0.25}
    """
    missing = {"missing": counts.nulls / counts.rows if counts.rows else None}
    if not isinstance(counts, BinCount):
        return missing
    return {**missing, "mean": counts.mean, "std": counts.std, "min": counts.min, "max": counts.max}


def counts_to_state(counts: ColumnCounts) -> dict[str, Any]:
    """Return plain values, as they are stored."""
    fields = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(counts).items()}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in fields.items()}


def counts_from_state(state: Mapping[str, Any], cells: int) -> ColumnCounts:
    """Return what `counts_to_state` made a state of; `cells` is how many bins or known values there are.

    Raises
    ------
    ValueError
        It is no such state.
    """
    for kind, own in _TYPES.items():
        types = {"rows": (int,), "nulls": (int,), **own}
        if state.keys() == types.keys() and all(type(state[name]) in allowed for name, allowed in types.items()):
            _check([state["rows"], state["nulls"], *state.get("others", {}).values()])
            arrays = {name: _cells(state[name], cells) for name, allowed in own.items() if allowed == (list,)}
            return kind(**{**state, **arrays})
    raise ValueError(f"counts have {', '.join(state) or 'nothing'}")


def _cells(values: Sequence[Any], cells: int) -> np.ndarray:
    if len(values) != cells:
        raise ValueError(f"there are {len(values)} counts of {cells} cells")
    _check(values)
    return np.array(values, dtype=np.int64)


def _check(values: Sequence[Any]) -> None:
    for each in values:
        if type(each) is not int or not 0 <= each < 2**62:
            raise ValueError(f"{each!r:.40} is no count of rows")
