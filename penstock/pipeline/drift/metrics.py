"""Metrics of a model then and now, and what bootstraps say of the difference."""

from __future__ import annotations

import math
from collections.abc import Sequence

from penstock.pipeline.drift.drift_report import MetricDrift
from penstock.pipeline.drift.profile import MetricValues
from penstock.stages.evaluation.result import Evaluation
from penstock.stages.evaluation.views import Bootstrap


def metric_values(evaluation: Evaluation, bootstrap: Bootstrap) -> MetricValues:
    """Return the metrics of an evaluation, with standard errors where it has the intervals of a bootstrap."""
    return MetricValues(dict(evaluation), {name: _error(evaluation, name, bootstrap) for name in evaluation})


def metric_drifts(reference: MetricValues, current: MetricValues) -> Sequence[MetricDrift]:
    """Return the metrics that both have, with a test of each that bootstraps give standard errors of.

    Examples
    --------
    >>> found = metric_drifts(MetricValues({"rmse": 1.0}, {"rmse": 0.3}), MetricValues({"rmse": 3.0}, {"rmse": 0.4}))[0]
    >>> found.difference, found.error, round(found.p_value, 6)
    (2.0, 0.5, 6.3e-05)
    """
    return [_compared(name, reference, current) for name in current.values if name in reference.values]


def _compared(name: str, reference: MetricValues, current: MetricValues) -> MetricDrift:
    before, now = reference.values[name], current.values[name]
    errors = [each.errors.get(name) for each in (reference, current)]
    error = math.hypot(*(each for each in errors if each is not None)) if None not in errors else None
    if not error or before is None or now is None:
        return MetricDrift(name, before, now, error, None)
    return MetricDrift(name, before, now, error, math.erfc(abs(now - before) / error / math.sqrt(2)))


def _error(evaluation: Evaluation, name: str, bootstrap: Bootstrap) -> float | None:
    """Return the standard error that an interval stands for, of a normal distribution."""
    from scipy import special

    if name not in evaluation.intervals:
        return None
    low, high = evaluation.intervals[name]
    return float((high - low) / 2 / special.ndtri((1 + bootstrap.confidence) / 2))
