"""Counts of a reference and of today, compared column by column: measures, and what chance alone gives of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.pipeline.drift import chance
from penstock.pipeline.drift.chance import Chance
from penstock.pipeline.drift.column_drift import CategoryShare, CellShares, ColumnDrift, DriftMeasure
from penstock.pipeline.drift.counting import Bins, ColumnCounts, summary
from penstock.statistics.bin_counts import BinCount
from penstock.statistics.divergences import chi_square, jensen_shannon, kolmogorov_smirnov, psi
from penstock.statistics.known_values import KnownValueCount

_GROUPS = 10
"""Parts of numbers for measures over cells, each with about as many rows of the reference."""
_MISSED = 1e-6
"""How likely a value of a test may be to be missed among those that are known."""
_MISSING, _OTHER = "(missing)", "(other)"


@dataclass(frozen=True)
class Comparison:
    """Two samples of one column, and the level at which chance is told."""

    name: str
    role: str
    level: float
    rows: tuple[int, int]

    def of(self, bins: Bins, reference: ColumnCounts, current: ColumnCounts) -> ColumnDrift:
        """Return what is measured; which of it is drift depends on all columns."""
        measures, cells = [self._missing(reference, current)], list[CellShares]()
        categories: list[CategoryShare] = []
        if self.name in bins.edges:
            more, cells = self._numbers(bins.edges[self.name], reference, current)  # type: ignore[arg-type]
            measures += more
        elif self.name in bins.values:
            more, cells, categories = self._texts(bins.values[self.name], reference, current)  # type: ignore[arg-type]
            measures += more
        told = summary(reference), summary(current)
        return ColumnDrift(self.name, self.role, self.rows, tuple(measures), tuple(categories), tuple(cells), *told)

    def _missing(self, reference: ColumnCounts, current: ColumnCounts) -> DriftMeasure:
        counts = (reference.nulls, current.nulls)
        difference = abs(counts[1] / self.rows[1] - counts[0] / self.rows[0])
        return _measure("missing", difference, chance.of_share(counts, self.rows, self.level))

    def _numbers(
        self, edges: Sequence[float], reference: BinCount, current: BinCount
    ) -> tuple[list[DriftMeasure], list[CellShares]]:
        valid = (reference.valid, current.valid)
        if not all(valid):
            return [], []
        distance = kolmogorov_smirnov(reference.bins, current.bins)
        groups = _groups(edges, reference.bins)
        sides = [np.append(_grouped(each.bins, groups), each.nulls) for each in (reference, current)]
        measures = [
            _measure("kolmogorov_smirnov", distance, chance.of_kolmogorov_smirnov(distance, valid, self.level)),
            *self._over_cells(sides, sides),
            self._range(reference, current, valid),
            *self._mean(reference, current, valid),
        ]
        return measures, _cells([*_names(edges, groups), _MISSING], sides)

    def _mean(self, reference: BinCount, current: BinCount, valid: tuple[int, int]) -> list[DriftMeasure]:
        """Return the shift of the mean in standard deviations of the reference, where it has one."""
        if not reference.std or reference.mean is None or current.mean is None:
            return []
        shift = abs(current.mean - reference.mean) / reference.std
        return [_measure("mean", shift, chance.of_mean(valid, self.level))]

    def _range(self, reference: BinCount, current: BinCount, valid: tuple[int, int]) -> DriftMeasure:
        before, now = (int(each.bins[0] + each.bins[-1]) for each in (reference, current))
        return _measure("range", now / valid[1], chance.of_range((before, now), valid, self.level))

    def _texts(
        self, values: Sequence[str], reference: KnownValueCount, current: KnownValueCount
    ) -> tuple[list[DriftMeasure], list[CellShares], list[CategoryShare]]:
        sides = [np.append(each.known, [each.other, each.nulls]) for each in (reference, current)]
        cells = _cells([*values, _OTHER, _MISSING], sides)
        categories = self._categories(values, reference, current)
        measures = self._over_cells(sides, _exchangeable(reference, current))
        if categories:
            measures.append(self._of_values(categories[0]))
        return measures, cells, categories

    def _over_cells(self, sides: Sequence[np.ndarray], tested: Sequence[np.ndarray]) -> list[DriftMeasure]:
        """Return the measures over all cells, and the test over those that it holds for."""
        one, other = chance.pooled(*sides)
        rows, cells = (int(one.sum()), int(other.sum())), int(np.sum(one + other > 0))
        measures = [
            _measure("psi", psi(one, other), chance.of_psi(rows, cells, self.level)),
            _measure("jensen_shannon", jensen_shannon(one, other), chance.of_jensen_shannon(rows, cells, self.level)),
        ]
        if not all(side.sum() for side in tested):
            return measures
        one, other = chance.pooled(*tested)
        statistic = chi_square(one, other)
        tests = chance.of_chi_square(statistic, int(np.sum(one + other > 0)), self.level)
        return [*measures, _measure("chi_square", statistic, tests)]

    def _categories(
        self, values: Sequence[str], reference: KnownValueCount, current: KnownValueCount
    ) -> list[CategoryShare]:
        """Return the values whose shares chance explains least, those first.

        P-values are for as many values as there can be of so many rows: of all rows, those of a value are the share of
        the level that it is tested at, so that the tests of all values together are at the level.
        """
        one, other, names = reference.known, current.known, np.array(values, dtype=object)
        p_values = chance.share_p_values(one, other, self.rows) * sum(self.rows) / np.maximum(one + other, 1)
        new, counts = list(current.others), np.array(list(current.others.values()), np.int64)
        most = np.array([reference.others.get(each, 0) + reference.others_error for each in new], np.int64)
        more = chance.more_p_values(most, counts, self.rows) * sum(self.rows) / np.maximum(counts, 1)
        known = np.ones(len(one), bool), np.array([each in reference.others for each in new], bool)
        table = [
            np.concatenate([names, np.array(new, dtype=object)]),
            np.concatenate([one, most]) / self.rows[0],
            np.concatenate([other, counts]) / self.rows[1],
            np.minimum(1.0, np.concatenate([p_values, more])),
            np.concatenate(known),
        ]
        order = np.argsort(table[3], kind="stable")
        told = order[: max(1, int(np.sum(table[3] <= self.level)))]
        chosen = zip(*(each[told].tolist() for each in table), strict=True)
        return [CategoryShare(*each) for each in chosen]

    def _of_values(self, first: CategoryShare) -> DriftMeasure:
        """Return the measure of single values: the one that chance explains least."""
        counts = tuple(
            round(share * rows) for share, rows in zip((first.reference, first.current), self.rows, strict=True)
        )
        level = self.level * max(1, sum(counts)) / sum(self.rows)
        told = chance.of_share(counts, self.rows, level)  # type: ignore[arg-type]
        return _measure(
            "values", abs(first.current - first.reference), Chance(told.expected, told.limit, first.p_value)
        )


def _measure(name: str, value: float, told: Chance) -> DriftMeasure:
    return DriftMeasure(name, value, told.expected, told.limit, told.p_value)


def _groups(edges: Sequence[float], bins: np.ndarray) -> np.ndarray:
    """Return the part of each bin, ascending: few bins are parts of their own."""
    if len(edges) <= 2 * _GROUPS:
        return np.arange(len(bins))
    middle = np.cumsum(bins) - bins / 2
    return np.unique((middle * _GROUPS / bins.sum()).astype(np.int64), return_inverse=True)[1]


def _grouped(bins: np.ndarray, groups: np.ndarray) -> np.ndarray:
    sums = np.zeros(groups[-1] + 1, np.int64)
    np.add.at(sums, groups, bins)
    return sums


def _names(edges: Sequence[float], groups: np.ndarray) -> list[str]:
    """Return the parts of numbers in words, by their ends."""
    lows, highs = [-np.inf, *edges], [*edges, np.inf]
    ends = [np.flatnonzero(groups == group)[[0, -1]] for group in range(groups[-1] + 1)]
    return [_interval(lows[first], highs[last]) for first, last in ends]


def _interval(low: float, high: float) -> str:
    if not np.isfinite(low) or not np.isfinite(high):
        return f"at most {high:.4g}" if np.isfinite(high) else f"above {low:.4g}"
    return f"{high:.4g}" if np.nextafter(high, -np.inf) == low else f"{low:.4g} to {high:.4g}"


def _cells(names: Sequence[str], sides: Sequence[np.ndarray]) -> list[CellShares]:
    """Return the cells that are not empty, with their shares."""
    shares = ((side / side.sum()).tolist() for side in sides)
    return [CellShares(name, one, other) for name, one, other in zip(names, *shares, strict=True) if one or other]


def _exchangeable(reference: KnownValueCount, current: KnownValueCount) -> list[np.ndarray]:
    """Return the cells of a test: of values that were not chosen by how often the reference has them.

    Which values are known was decided by the reference, which has them a bit more often, by chance, than there are. So
    unless all values of both are known, the test is over those that are too frequent in both together to be missed.
    """
    known, missing = (reference.known, current.known), (reference.nulls, current.nulls)
    if not reference.other and not current.others_error:
        new = np.array(list(current.others.values()), np.int64)
        known = np.append(known[0], np.zeros(len(new), np.int64)), np.append(known[1], new)
    else:
        most = max(reference.others.values(), default=0) + reference.others_error
        sure = chance.at_most_p_values(most, known[0] + known[1], (current.rows, reference.rows)) <= _MISSED
        known = known[0][sure], known[1][sure]
    return [np.append(side, nulls) for side, nulls in zip(known, missing, strict=True)]
