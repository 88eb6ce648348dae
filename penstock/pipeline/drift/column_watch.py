"""Columns that are watched at a place among the steps of a dataset: what is gathered there, and what it comes to."""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from penstock.dataset.dataset import Dataset
from penstock.dataset.steps import output_schema
from penstock.pipeline.drift.bins import Bins
from penstock.pipeline.drift.column_counts import ColumnCounts
from penstock.pipeline.drift.profile import RoleProfile, Slice
from penstock.statistics.base import State, Statistic
from penstock.statistics.grouped.slices import Sliced


@dataclass(frozen=True)
class ColumnWatch:
    """Columns of one role, as they are before the step at a position; at the end, when that is how many there are.

    Attributes
    ----------
    role : str
    position : int
    columns : tuple of str
    bins : Bins or None
        None before they are known.
    slicings : tuple of tuple of str
    """

    role: str
    position: int
    columns: tuple[str, ...]
    bins: Bins | None = None
    slicings: tuple[tuple[str, ...], ...] = ()

    def schema(self, dataset: Dataset) -> pa.Schema:
        """Return the columns with their types."""
        whole = output_schema(dataset.steps[: self.position], dataset.reader.source.schema)
        return pa.schema([whole.field(name) for name in self.columns])

    def with_bins(self, bins: Bins) -> ColumnWatch:
        """Return the watch that counts by `bins`."""
        return replace(self, bins=bins)

    @property
    def _of_all(self) -> tuple[Statistic, ...]:
        assert self.bins is not None, "bins are known when rows are counted"
        return self.bins.statistics(self.columns)

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """What is gathered: of all rows, and of each slice."""
        return (*self._of_all, *(Sliced.of(by, self._of_all) for by in self.slicings))

    def counted(self, states: Sequence[State]) -> RoleProfile:
        """Return what the states say."""
        assert self.bins is not None
        results = [each.finish(state) for each, state in zip(self.statistics, states, strict=True)]
        whole = len(results) - len(self.slicings)
        slices = {by: _by_key(found) for by, found in zip(self.slicings, results[whole:], strict=True)}
        return RoleProfile(self.bins, _together(results[:whole]), slices)


def _together(results: Sequence[Mapping[str, ColumnCounts]]) -> dict[str, ColumnCounts]:
    return {name: counts for found in results for name, counts in found.items()}


def _by_key(found: Mapping[Hashable, Sequence[Any]]) -> dict[Slice, dict[str, ColumnCounts]]:
    by_key = {tuple(map(_plain, key)): _together(results) for key, results in found.items()}  # type: ignore[call-overload]
    return dict(sorted(by_key.items(), key=lambda pair: str(pair[0])))


def _plain(value: Hashable) -> Hashable:
    return value.isoformat() if isinstance(value, datetime.date) else value
