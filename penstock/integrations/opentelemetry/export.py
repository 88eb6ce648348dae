"""Sending a run that has ended to a collector, as the standard environment variables say."""

from __future__ import annotations

import os
from collections.abc import Sequence

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import MetricExportResult
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv.attributes.service_attributes import SERVICE_INSTANCE_ID, SERVICE_NAME, SERVICE_VERSION

from penstock.core.errors import ConfigError, OutputError
from penstock.core.redaction import redact
from penstock.integrations.opentelemetry.metrics import metrics_of, temporality_of
from penstock.integrations.opentelemetry.spans import RunIds, record_spans
from penstock.runs.run import Run

_BATCH = 512
"""Spans in a request, as of the batches of OpenTelemetry's own processor."""


def export(run: Run) -> None:
    """Send a run that has ended to a collector of OpenTelemetry, by OTLP over HTTP: a trace, and metrics.

    Where, as what and how is said by the variables of OpenTelemetry's specification: ``OTEL_EXPORTER_OTLP_ENDPOINT``
    (``http://localhost:4318`` unless set) and its kin for headers, certificates and timeouts, ``OTEL_SERVICE_NAME``
    (``penstock`` unless set), ``OTEL_RESOURCE_ATTRIBUTES``; ``OTEL_TRACES_EXPORTER=none`` and
    ``OTEL_METRICS_EXPORTER=none`` leave out the one or the other, and ``OTEL_SDK_DISABLED=true`` both. Where
    ``TRACEPARENT`` is set, as by whoever started the job, the trace is a part of that one.

    The ids of the trace and its spans follow from the id of the run: sent twice, it is the same trace.

    Parameters
    ----------
    run : Run
        See `record_spans` and `metrics_of` for what is sent of it.

    Raises
    ------
    OutputError
        The collector does not answer, or refuses.
    ConfigError
        ``OTEL_EXPORTER_OTLP_PROTOCOL`` is another than ``http/protobuf``.
    """
    protocol = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
    if protocol != "http/protobuf":
        problem = f"OTEL_EXPORTER_OTLP_PROTOCOL is {protocol!r}, expected 'http/protobuf'"
        raise ConfigError(problem, hint="Name the collector's port for HTTP, usually 4318.")
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return
    if _is_on("TRACES"):
        _send_spans(run)
    if _is_on("METRICS"):
        _send_metrics(run)


def resource_of(run: Run) -> Resource:
    """Return what a run is to OpenTelemetry: an instance of a service, on a machine."""
    versions, machine = run.info.get("versions", {}), run.info.get("machine", {})
    attributes = {
        SERVICE_NAME: "penstock",
        SERVICE_VERSION: versions.get("penstock"),
        SERVICE_INSTANCE_ID: run.id,
        "host.name": machine.get("host"),
        "process.runtime.version": versions.get("python"),
    }
    known = {name: value for name, value in attributes.items() if value}
    return Resource.create(known).merge(OTELResourceDetector().detect())


def _is_on(signal: str) -> bool:
    return "otlp" in (os.environ.get(f"OTEL_{signal}_EXPORTER") or "otlp")


def _send_spans(run: Run) -> None:
    memory = InMemorySpanExporter()
    provider = TracerProvider(resource=resource_of(run), id_generator=RunIds(run.id), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    record_spans(run, provider)
    exporter = OTLPSpanExporter()
    try:
        _send_batches(exporter, memory.get_finished_spans())
    finally:
        exporter.shutdown()  # type: ignore[no-untyped-call]


def _send_batches(exporter: OTLPSpanExporter, spans: Sequence[ReadableSpan]) -> None:
    for start in range(0, len(spans), _BATCH):
        if exporter.export(spans[start : start + _BATCH]) is not SpanExportResult.SUCCESS:
            raise _refused("TRACES")


def _send_metrics(run: Run) -> None:
    exporter = OTLPMetricExporter()
    try:
        result = exporter.export(metrics_of(run, resource_of(run), temporality_of(os.environ)))
    finally:
        exporter.shutdown()
    if result is not MetricExportResult.SUCCESS:
        raise _refused("METRICS")


def _refused(signal: str) -> OutputError:
    variables = f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"
    endpoint = next((os.environ[name] for name in variables if os.environ.get(name)), "http://localhost:4318")
    problem = f"the collector at {redact(endpoint)} did not take the {signal.lower()} of a run"
    return OutputError(problem, hint=f"See that it runs and takes them, or set OTEL_{signal}_EXPORTER=none.")
