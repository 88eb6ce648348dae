"""Which differences are an alarm: of all measures of all columns together, and above their limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from penstock.pipeline.drift.chance import holm
from penstock.pipeline.drift.column_drift import ColumnDrift, DriftMeasure
from penstock.pipeline.drift.drift_limits import DriftLimits
from penstock.pipeline.drift.drift_report import MetricDrift

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
