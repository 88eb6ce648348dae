"""Runs as OpenTelemetry has them: spans with the times that tasks had, metrics that add up, at a collector."""

import logging
import socket
from pathlib import Path

import pyarrow as pa
import pytest
from servers import free_port, serving

import penstock as ps
from penstock.cli.ended_run import send
from penstock.core.errors import ConfigError, OutputError

otel = pytest.importorskip("penstock.integrations.opentelemetry")

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest  # noqa: E402
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest  # noqa: E402
from opentelemetry.sdk.resources import Resource  # noqa: E402
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402
from opentelemetry.trace import StatusCode  # noqa: E402

from penstock.integrations.opentelemetry.spans import RunIds  # noqa: E402

ROTEL = next((Path(__file__).parents[2] / ".venv-rotel").glob("lib/python*/site-packages/rotel/rotel-agent"), None)
STARTED = 1_800_000_000 * 10**9
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch):
    for name in ("TRACEPARENT", "TRACESTATE", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_SDK_DISABLED"):
        monkeypatch.delenv(name, raising=False)


def spans_of(run, **options):
    memory = InMemorySpanExporter()
    provider = TracerProvider(id_generator=RunIds(run.id), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    otel.record_spans(run, provider, **options)
    return memory.get_finished_spans()


def points_of(run):
    (resource,) = otel.metrics_of(run, Resource({})).resource_metrics
    return {metric.name: metric.data.data_points for metric in resource.scope_metrics[0].metrics}


def test_a_run_is_a_trace_of_steps_scans_and_tasks_with_the_times_that_they_had(run_of):
    spans = spans_of(run_of(2))
    names = {span.context.span_id: span.name for span in spans}
    parents = {span.name: names.get(span.parent.span_id) if span.parent else None for span in spans}
    assert parents == {"fit clicks": None, "prepare": "fit clicks", "fit": "prepare", "fit task": "fit"}
    times = [((span.start_time - STARTED) / 1e9, (span.end_time - STARTED) / 1e9) for span in spans]
    assert sorted(times) == [(0, 10), (1, 6), (1.5, 5.5), (2, 2.25), (3, 4.25)]
    assert len({span.context.trace_id for span in spans}) == 1


def test_a_task_has_its_worker_rows_and_phases(run_of):
    task = max((span for span in spans_of(run_of(3)) if span.name == "fit task"), key=lambda span: span.start_time)
    assert task.attributes["host.name"] == "w"
    assert task.attributes["penstock.task.rows_in"] == 100
    phases = {name: value for name, value in task.attributes.items() if name.endswith("_seconds") and "cpu" not in name}
    assert phases == {"penstock.task.decode_seconds": 0.25, "penstock.task.compute_seconds": 2.0}


def test_of_many_tasks_the_longest_are_spans_and_their_scan_has_the_totals_of_all(run_of):
    spans = spans_of(run_of(5), most_tasks=2)
    assert [span.attributes["penstock.task.fragment"] for span in spans if span.name == "fit task"] == [3, 4]
    (scan,) = (span for span in spans if span.name == "fit")
    assert (scan.attributes["penstock.tasks"], scan.attributes["penstock.rows_in"]) == (5, 500)


def test_a_run_that_is_sent_again_is_the_same_trace(run_of):
    ids = [[span.context.span_id for span in spans_of(run_of(3))] for _ in range(2)]
    other = [span.context.span_id for span in spans_of(run_of(3, run_id="20270116T080000000000-0a1b2c3d"))]
    assert ids[0] == ids[1]
    assert not set(ids[0]) & set(other)


def test_the_trace_of_whoever_started_the_run_goes_on(run_of, monkeypatch):
    monkeypatch.setenv("TRACEPARENT", TRACEPARENT)
    *_, root = spans_of(run_of())
    assert f"{root.context.trace_id:032x}-{root.parent.span_id:016x}" == TRACEPARENT[3:-3]


def test_a_trace_that_is_not_sampled_gets_no_spans(run_of, monkeypatch):
    monkeypatch.setenv("TRACEPARENT", TRACEPARENT[:-1] + "0")
    assert not spans_of(run_of())


def test_a_run_that_failed_says_why(run_of):
    *_, root = spans_of(run_of(status="failed", error="DataValueError: x is: inf"))
    assert (root.status.status_code, root.attributes["error.type"]) == (StatusCode.ERROR, "DataValueError")
    (event,) = root.events
    assert event.attributes["exception.message"] == "x is: inf"


def test_metrics_add_up_what_tasks_did(run_of):
    points = points_of(run_of(3))
    assert [point.value for point in points["penstock.tasks"]] == [3]
    assert {point.attributes["penstock.direction"]: point.value for point in points["penstock.rows"]} == {
        "in": 300,
        "out": 270,
    }
    assert [
        (point.start_time_unix_nano - STARTED, point.time_unix_nano - STARTED) for point in points["penstock.rows"]
    ] == [(0, 10**10)] * 2


def test_durations_of_tasks_are_in_the_buckets_whose_upper_bound_is_not_below_them(run_of):
    points = {point.attributes["penstock.phase"]: point for point in points_of(run_of(3))["penstock.task.duration"]}
    bounds = list(points["decode"].explicit_bounds)
    assert (points["decode"].count, points["decode"].bucket_counts[bounds.index(0.5)]) == (3, 3)
    compute = points["compute"]  # 0, 1 and 2 s; a phase that takes no time is none
    assert (compute.count, compute.sum, compute.min, compute.max) == (2, 3.0, 1.0, 2.0)
    assert [compute.bucket_counts[bounds.index(bound)] for bound in (1.0, 5.0)] == [1, 1]


def test_energy_is_a_metric_only_of_runs_that_know_theirs(run_of):
    assert "penstock.energy" not in points_of(run_of())
    (point,) = points_of(run_of(energy={"joules": 12.5, "method": "measured"}))["penstock.energy"]
    assert point.value == 12.5


def test_a_protocol_that_is_not_spoken_is_refused(run_of, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    with pytest.raises(ConfigError, match=r"'grpc', expected 'http/protobuf'"):
        otel.export(run_of())


@pytest.mark.parametrize(("signal", "other"), [("TRACES", "METRICS"), ("METRICS", "TRACES")])
def test_a_collector_that_refuses_is_named_without_its_password(signal, other, run_of, receiver, monkeypatch):
    receiver.status = 400
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://me:hunter2@127.0.0.1:{receiver.port}")
    monkeypatch.setenv(f"OTEL_{other}_EXPORTER", "none")
    said = rf"http://me:\*\*\*@127.0.0.1:{receiver.port} did not take the {signal.lower()}"
    with pytest.raises(OutputError, match=said):
        otel.export(run_of())
    assert [path for path, _ in receiver.requests] == [f"/v1/{signal.lower()}"]


def test_a_job_whose_run_cannot_be_sent_goes_on_with_a_warning(run_of, receiver, monkeypatch, caplog):
    receiver.status = 400
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{receiver.port}")
    send(run_of())
    assert "run 20270115T080000000000-0a1b2c3d is not sent: the collector" in caplog.text


def test_nothing_is_sent_where_no_variable_says_where_to(run_of, monkeypatch, caplog):
    caplog.set_level(logging.WARNING)
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("it is sent"))
    send(run_of())
    assert not caplog.records


@pytest.fixture
def collector(receiver, tmp_path):
    """Rotel, a collector that sends on what it gets to the server on loopback; gives where it listens."""
    if ROTEL is None:
        pytest.skip("no collector of OpenTelemetry: tools/rotel.sh makes an environment for one")
    port = free_port()
    command = [
        ROTEL, "start", "--otlp-http-endpoint", f"127.0.0.1:{port}", "--otlp-grpc-endpoint", f"127.0.0.1:{free_port()}",
        "--exporter", "otlp", "--otlp-exporter-protocol", "http", "--batch-timeout", "10ms",
        "--otlp-exporter-endpoint", f"http://127.0.0.1:{receiver.port}", "--pid-file", tmp_path / "pid",
    ]  # fmt: skip
    with serving(command, tmp_path / "log", cwd=tmp_path) as server:
        server.wait_until(lambda: _listens(port))
        yield f"http://127.0.0.1:{port}"


def _listens(port):
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.services
def test_a_collector_gets_a_run_that_was_recorded_and_sends_it_on(collector, receiver, tmp_path, monkeypatch):
    engine = ps.LocalEngine(device="cpu")
    with ps.runs.record(tmp_path / "runs", kind="count") as recording:
        engine.from_arrow(pa.table({"x": range(7)})).describe()
    run = ps.runs.Run.load(recording.path)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector)
    monkeypatch.setenv("OTEL_SERVICE_NAME", "nightly")
    send(run)
    bodies = dict(receiver.wait_for(2))
    (spans,) = ExportTraceServiceRequest.FromString(bodies["/v1/traces"]).resource_spans
    (metrics,) = ExportMetricsServiceRequest.FromString(bodies["/v1/metrics"]).resource_metrics
    for signal in (spans, metrics):
        resource = {each.key: each.value.string_value for each in signal.resource.attributes}
        assert (resource["service.name"], resource["service.instance.id"]) == ("nightly", run.id)
    assert sum(len(scope.spans) for scope in spans.scope_spans) == 1 + len(run.spans) + run.tasks.num_rows
    sums = {metric.name: metric.sum.data_points for scope in metrics.scope_metrics for metric in scope.metrics}
    assert [point.as_int for point in sums["penstock.rows"] if point.attributes[-1].value.string_value == "in"] == [7]
