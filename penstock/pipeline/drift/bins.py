"""What a profile counts by: edges of numbers, and known texts; chosen of a reference, they stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.core.selectors import is_numeric
from penstock.statistics.base import Statistic
from penstock.statistics.bin_counts import BinCounts
from penstock.statistics.counts import Counts
from penstock.statistics.distinct.distinct_values import DistinctValues, ValueSummary
from penstock.statistics.known_values import KnownValues
from penstock.statistics.quantiles import Distribution, Quantiles

BINS = 64
"""Bins of a column of numbers, at most."""
VALUES = 256
"""Texts of a column that are known, at most: the most frequent ones."""
_DISTINCT = BINS // 2
"""Up to so many different numbers each has a bin of its own, and so have the gaps between them."""


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
