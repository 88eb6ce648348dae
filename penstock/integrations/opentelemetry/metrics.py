"""A run as metrics: how long it took, rows and bytes, and how long tasks took by phase."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow.compute as pc
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from penstock.core.recording import PHASES
from penstock.integrations.opentelemetry.spans import SCOPE, nanoseconds
from penstock.runs.run import Run
from penstock.runs.totals import run_totals

BOUNDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)
"""Seconds at which buckets of histograms end."""


def metrics_of(
    run: Run, resource: Resource, temporality: AggregationTemporality = AggregationTemporality.CUMULATIVE
) -> MetricsData:
    """Return a run as metrics, of the time from its start to its end.

    ======================  =========  ======  ===================================================
    name                    kind       unit    attributes, besides those of the run
    ======================  =========  ======  ===================================================
    penstock.run.duration   histogram  s
    penstock.tasks          sum        {task}
    penstock.rows           sum        {row}   ``penstock.direction``: in, out
    penstock.bytes          sum        By      ``penstock.direction``
    penstock.energy         sum        J       only where a counter was read
    penstock.task.duration  histogram  s       ``penstock.phase``; ``penstock.task.kind``
    ======================  =========  ======  ===================================================

    Attributes of the run are ``penstock.run.kind``, ``penstock.run.name`` and ``penstock.run.status``.

    Parameters
    ----------
    run : Run
    resource : opentelemetry.sdk.resources.Resource
        What the metrics are of.
    temporality : AggregationTemporality
        Of the sums and histograms; a run is all that they have seen, so that numbers are the same in both.

    Returns
    -------
    opentelemetry.sdk.metrics.export.MetricsData
    """
    points = _Points(run, temporality)
    metrics = [*_totals(run, points), *_durations(run, points)]
    version = str(run.info.get("versions", {}).get("penstock", ""))
    scope = ScopeMetrics(InstrumentationScope(SCOPE, version), metrics, schema_url="")
    return MetricsData([ResourceMetrics(resource, [scope], schema_url="")])


def temporality_of(environ: Mapping[str, str]) -> AggregationTemporality:
    """Return what ``OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE`` says.

    Examples
    --------
    >>> temporality_of({"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "delta"}).name
    'DELTA'
    """
    preference = environ.get("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "cumulative").strip().lower()
    is_delta = preference in ("delta", "lowmemory")
    return AggregationTemporality.DELTA if is_delta else AggregationTemporality.CUMULATIVE


class _Points:
    """Makes metrics of the attributes and times of one run."""

    def __init__(self, run: Run, temporality: AggregationTemporality) -> None:
        self._attributes = {f"penstock.run.{name}": getattr(run, name) for name in ("kind", "name", "status")}
        start = run.info["started"]
        self._times, self._temporality = (nanoseconds(start), nanoseconds(start + run.seconds)), temporality

    def sum(self, name: str, description: str, unit: str, values: Mapping[str, float]) -> Metric:
        """Return a sum, of a value for each direction; of one without a direction the name is empty."""
        points = [
            NumberDataPoint(self._with({"penstock.direction": direction} if direction else {}), *self._times, value)
            for direction, value in values.items()
        ]
        return Metric(name, description, unit, Sum(points, self._temporality, is_monotonic=True))

    def histogram(self, name: str, description: str, values: Sequence[tuple[Mapping[str, str], np.ndarray]]) -> Metric:
        """Return a histogram of seconds, with the values of each set of attributes."""
        points = [self._histogram(self._with(attributes), seconds) for attributes, seconds in values]
        return Metric(name, description, "s", Histogram(points, self._temporality))

    def _histogram(self, attributes: Mapping[str, str], seconds: np.ndarray) -> HistogramDataPoint:
        # A bucket has its upper bound in it, as OpenTelemetry says.
        counts = np.bincount(np.searchsorted(BOUNDS, seconds), minlength=len(BOUNDS) + 1).tolist()
        extremes = float(seconds.min()), float(seconds.max())
        return HistogramDataPoint(
            attributes, *self._times, len(seconds), float(seconds.sum()), counts, BOUNDS, *extremes
        )

    def _with(self, attributes: Mapping[str, str]) -> dict[str, str]:
        return {**self._attributes, **attributes}


def _totals(run: Run, points: _Points) -> Iterator[Metric]:
    totals = run_totals(run)
    yield points.sum("penstock.tasks", "Tasks, merges and ranks.", "{task}", {"": totals["tasks"]})
    for name, unit in (("rows", "{row}"), ("bytes", "By")):
        values = {direction: totals.get(f"{name}_{direction}", 0) for direction in ("in", "out")}
        yield points.sum(f"penstock.{name}", f"{name.capitalize()} that tasks took in and gave out.", unit, values)
    if "energy" in totals:
        yield points.sum("penstock.energy", "What devices used.", "J", {"": totals["energy"]})


def _durations(run: Run, points: _Points) -> Iterator[Metric]:
    seconds = np.array([run.seconds])
    yield points.histogram("penstock.run.duration", "From the start of a run to its end.", [({}, seconds)])
    parts = [
        ({"penstock.task.kind": kind, "penstock.phase": phase}, seconds[seconds > 0])
        for kind in pc.unique(run.tasks["kind"]).to_pylist()
        for tasks in [run.tasks.filter(pc.equal(run.tasks["kind"], kind))]
        for phase in PHASES
        for seconds in [tasks[phase].to_numpy()]
    ]
    yield points.histogram(
        "penstock.task.duration", "Seconds of a task in a phase.", [part for part in parts if len(part[1])]
    )
