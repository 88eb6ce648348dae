"""Profiles of columns at positions among the steps of a dataset, and comparisons with later rows."""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from penstock.core.errors import EmptyInputError
from penstock.core.names import column_names
from penstock.core.several import several
from penstock.dataset.dataset import Dataset
from penstock.dataset.steps import output_schema
from penstock.dataset.tasks import Probe
from penstock.pipeline.drift.chance import holm
from penstock.pipeline.drift.column_drift import ColumnDrift, DriftMeasure
from penstock.pipeline.drift.comparing import Comparison
from penstock.pipeline.drift.counting import Bins, ColumnCounts, first_look
from penstock.pipeline.drift.drift_limits import DriftLimits
from penstock.pipeline.drift.drift_report import DriftReport, MetricDrift
from penstock.pipeline.drift.profile import ROLES, MetricValues, Profile, RoleProfile, Slice
from penstock.statistics.base import State, Statistic
from penstock.statistics.grouped.slices import Sliced

By = str | Sequence[str]
Keyed = tuple[str, str]
"""What was sliced by, and the values of a slice; empty for all rows."""


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


def slicings_of(slices: Sequence[By]) -> tuple[tuple[str, ...], ...]:
    """Return the columns of each slicing."""
    return tuple(column_names(each, "slices") for each in several(slices, "slices", "Sequence[str | Sequence[str]]"))


def make_profile(dataset: Dataset, watches: Sequence[ColumnWatch], metrics: MetricValues | None = None) -> Profile:
    """Return the profile of the columns that are watched, from two scans: one for where bins end, one that counts.

    Raises
    ------
    EmptyInputError
        There are no rows.
    """
    looks = [first_look(watch.schema(dataset)) for watch in watches]
    found = _probed(dataset, watches, looks, "profile: bins")
    known = [
        watch.with_bins(
            Bins.of(watch.schema(dataset), [each.finish(state) for each, state in zip(look, states, strict=True)])
        )
        for watch, look, states in zip(watches, looks, found, strict=True)
    ]
    roles = gathered(dataset, known, "profile: counts")
    rows = rows_of(roles)
    if not rows:
        raise EmptyInputError("there are no rows to make a profile of", rows=0)
    return Profile(rows, roles, metrics)


def gathered(dataset: Dataset, watches: Sequence[ColumnWatch], label: str) -> dict[str, RoleProfile]:
    """Return the counts of the columns that are watched, by role, from one scan."""
    found = _probed(dataset, watches, [watch.statistics for watch in watches], label)
    return {watch.role: watch.counted(states) for watch, states in zip(watches, found, strict=True)}


def _probed(
    dataset: Dataset, watches: Sequence[ColumnWatch], wanted: Sequence[tuple[Statistic, ...]], label: str
) -> list[list[State]]:
    """Return the states of statistics for each watch; probes are in the order of the steps."""
    order = sorted(range(len(watches)), key=lambda place: watches[place].position)
    states, _ = dataset.probe([Probe(watches[place].position, wanted[place]) for place in order], label=label)
    by_place = dict(zip(order, states, strict=True))
    return [by_place[place] for place in range(len(watches))]


def rows_of(roles: Mapping[str, RoleProfile]) -> int:
    """Return how many rows were counted."""
    return max((each.rows for part in roles.values() for each in part.counts.values()), default=0)


def compare(
    reference: Profile, current: Mapping[str, RoleProfile], limits: DriftLimits, metrics: Sequence[MetricDrift] = ()
) -> DriftReport:
    """Return what has changed since a profile.

    Raises
    ------
    EmptyInputError
        There are no rows to compare.
    """
    rows = rows_of(current)
    if not rows:
        raise EmptyInputError("there are no rows to compare with the profile of the model", rows=0)
    places: list[Keyed] = []
    columns: list[ColumnDrift] = []
    for place, role, before, now in _pairs(reference, current):
        found = _columns(role, reference.roles[role].bins, before, now, limits)
        places += [place] * len(found)
        columns += found
    done, measured = judged(columns, metrics, limits)
    slices: dict[str, dict[str, list[ColumnDrift]]] = {}
    for (by, key), column in zip(places, done, strict=True):
        slices.setdefault(by, {}).setdefault(key, []).append(column)
    whole = slices.pop("", {}).get("", [])
    named = {by: {key: tuple(each) for key, each in found.items()} for by, found in slices.items()}
    return DriftReport(tuple(whole), rows, reference.rows, limits.level, named, tuple(measured))


def _pairs(
    reference: Profile, current: Mapping[str, RoleProfile]
) -> Iterator[tuple[Keyed, str, Mapping[str, ColumnCounts], Mapping[str, ColumnCounts]]]:
    """Yield what is compared: all rows, and slices that both have, role by role."""
    roles = [role for role in ROLES if role in current]
    for role in roles:
        yield ("", ""), role, reference.roles[role].counts, current[role].counts
    for role in roles:
        for by, slices in current[role].slices.items():
            known = reference.roles[role].slices.get(by, {})
            for key in sorted(slices.keys() & known.keys(), key=str):
                yield (", ".join(by), ", ".join(map(str, key))), role, known[key], slices[key]


def _columns(
    role: str, bins: Bins, before: Mapping[str, ColumnCounts], now: Mapping[str, ColumnCounts], limits: DriftLimits
) -> list[ColumnDrift]:
    return [
        Comparison(name, role, limits.level, (before[name].rows, counts.rows)).of(bins, before[name], counts)
        for name, counts in now.items()
        if name in before and name not in limits.ignore and before[name].rows and counts.rows
    ]


_TEST_OF = {"psi": "chi_square", "jensen_shannon": "chi_square", "mean": "kolmogorov_smirnov"}
"""Measures that are not tested go by another test: over the same cells, and of the whole distribution."""


def judged(
    columns: Sequence[ColumnDrift], metrics: Sequence[MetricDrift], limits: DriftLimits
) -> tuple[list[ColumnDrift], list[MetricDrift]]:
    """Return columns and metrics with the verdicts on them."""
    tests = [each.p_value for column in columns for each in column.measures if each.p_value is not None]
    tests += [each.p_value for each in metrics if each.p_value is not None]
    adjusted = iter(holm(tests))
    many = max(1, len(tests))
    done = [
        _column(
            column, {each.name: next(adjusted) for each in column.measures if each.p_value is not None}, many, limits
        )
        for column in columns
    ]
    return done, [_metric(each, None if each.p_value is None else next(adjusted), limits) for each in metrics]


def _column(column: ColumnDrift, adjusted: Mapping[str, float], tests: int, limits: DriftLimits) -> ColumnDrift:
    own = limits.of(column.name)
    measures = tuple(_measure(each, adjusted, own, limits.level) for each in column.measures)
    named = tuple(each for each in column.categories if each.p_value * tests <= limits.level)
    return replace(column, measures=measures, categories=named)


def _measure(
    measure: DriftMeasure, adjusted: Mapping[str, float], limits: Mapping[str, float], level: float
) -> DriftMeasure:
    limit, own = limits.get(measure.name), adjusted.get(measure.name)
    test = adjusted.get(_TEST_OF.get(measure.name, measure.name), 1.0)
    asked = measure.name in limits if limits else own is not None
    drifted = asked and test <= level and measure.value > (0.0 if limit is None else limit)
    return replace(measure, adjusted=own, limit=limit, drifted=drifted)


def _metric(metric: MetricDrift, adjusted: float | None, limits: DriftLimits) -> MetricDrift:
    limit, difference = limits.metrics.get(metric.name), metric.difference
    asked = limit is not None or (not limits.metrics and adjusted is not None)
    is_by_chance = adjusted is not None and adjusted > limits.level
    drifted = asked and not is_by_chance and difference is not None and abs(difference) > (limit or 0.0)
    return replace(metric, adjusted=adjusted, limit=limit, drifted=drifted)
