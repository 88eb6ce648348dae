"""A run as a trace: a span for the run, each scan, training, step and task, with ids that follow from the run's."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import count
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from opentelemetry.context import Context
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.semconv.attributes.exception_attributes import EXCEPTION_MESSAGE, EXCEPTION_TYPE
from opentelemetry.trace import Span, Status, StatusCode, Tracer, TracerProvider, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from penstock.core.recording import PHASES
from penstock.runs.run import Run
from penstock.runs.totals import SUMS, run_totals, task_totals


class RunIds(IdGenerator):
    """Gives the trace of a run one id, and its spans ids by their order.

    Parameters
    ----------
    run_id : str

    Examples
    --------
    >>> first, again = RunIds("20260101T000000000000-0a1b2c3d"), RunIds("20260101T000000000000-0a1b2c3d")
    >>> first.generate_trace_id() == again.generate_trace_id(), first.generate_span_id() == again.generate_span_id()
    (True, True)
    >>> first.generate_span_id() == first.generate_span_id()
    False
    """

    def __init__(self, run_id: str) -> None:
        self._run_id, self._places = run_id, count()

    def generate_trace_id(self) -> int:
        """Return 16 bytes."""
        return self._digest("trace", 16)

    def generate_span_id(self) -> int:
        """Return 8 bytes, others each time."""
        return self._digest(f"span {next(self._places)}", 8)

    def _digest(self, name: str, length: int) -> int:
        digest = sha256(f"{self._run_id} {name}".encode()).digest()
        return int.from_bytes(digest[:length], "big") or 1


def parent_context(environ: Mapping[str, str]) -> Context:
    """Return the context that ``TRACEPARENT`` and ``TRACESTATE`` give; an empty one where they are not set, or broken.

    Examples
    --------
    >>> from opentelemetry.trace import get_current_span
    >>> given = {"TRACEPARENT": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    >>> hex(get_current_span(parent_context(given)).get_span_context().span_id)
    '0xb7ad6b7169203331'
    """
    carrier = {name: environ[name.upper()] for name in ("traceparent", "tracestate") if name.upper() in environ}
    return TraceContextTextMapPropagator().extract(carrier, context=Context())


SCOPE = "penstock"
MOST_TASKS = 1000
"""Tasks of one scan that get spans of their own: those that took longest."""
_TASK = ("kind", "label", "fragment", "worker", "slot", "device", "wait", "peak_memory", *SUMS)


def record_spans(run: Run, provider: TracerProvider, *, most_tasks: int = MOST_TASKS) -> None:
    """Record a run as spans, with the times that it had.

    The span of the run has its kind, name, engine, versions, digests, metrics and totals, and an error if it failed; a
    scan, training or step is a span in it, or in the step that it is a part of, with the totals of its tasks; a task,
    merge or rank is a span in its scan, with its worker, rows, bytes and the seconds of its phases. Tasks ran on
    workers, of which each measured itself; their spans are recorded here.

    Parameters
    ----------
    run : Run
    provider : opentelemetry.trace.TracerProvider
        A span that ``TRACEPARENT`` of the environment names is the parent of all.
    most_tasks : int
        Tasks of one scan that get spans of their own, those that took longest; the totals of the scan are of all.
    """
    tracer = provider.get_tracer(SCOPE, str(run.info.get("versions", {}).get("penstock", "")))
    root = _start(tracer, f"{run.kind} {run.name}".strip(), run.info["started"], parent_context(os.environ))
    root.set_attributes(_described(run))
    contexts: list[Context] = []
    for place, span in enumerate(run.spans):
        parent = set_span_in_context(root) if span.parent is None else contexts[span.parent]
        tasks = run.tasks.filter(pc.equal(run.tasks["span"], place))
        started = _start(tracer, span.name, span.start, parent)
        contexts.append(set_span_in_context(started))
        started.set_attributes({"penstock.span.kind": span.kind, **_counted(tasks)})
        _record_tasks(tasks, tracer, contexts[-1], most_tasks)
        _end(started, span.start, span.seconds or 0.0)
    if run.status == "failed":
        _fail(root, str(run.info.get("error")), run.info["started"] + run.seconds)
    _end(root, run.info["started"], run.seconds)


def _record_tasks(tasks: pa.Table, tracer: Tracer, parent: Context, most: int) -> None:
    if tasks.num_rows > most:
        tasks = tasks.take(pc.select_k_unstable(tasks, most, [("seconds", "descending")]).sort())
    starts = tasks["start"].cast(pa.int64()).to_pylist()
    for task, start in zip(tasks.to_pylist(), starts, strict=True):
        span = _start(tracer, f"{task['label']} {task['kind']}", start / 1e6, parent)
        span.set_attributes(_measured(task))
        _end(span, start / 1e6, task["seconds"])


def _measured(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a task."""
    facts = {f"penstock.task.{name}": task[name] for name in _TASK if task[name] is not None}
    phases = {f"penstock.task.{name}_seconds": task[name] for name in PHASES if task[name]}
    return {"host.name": task["host"], **facts, **phases}


def _counted(tasks: pa.Table) -> dict[str, Any]:
    """Return the attributes of a scan: of a step, which has no tasks, there are none."""
    if not tasks.num_rows:
        return {}
    counts = {"tasks": tasks.num_rows, **task_totals(tasks)}
    return {f"penstock.{name}": value for name, value in counts.items()}


def _described(run: Run) -> dict[str, Any]:
    """Return the attributes of a run."""
    facts = {"run.id": run.id, "run.kind": run.kind, "run.name": run.name, "run.status": run.status}
    nested = {
        "engine": run.info.get("engine"),
        "version": run.info.get("versions"),
        "digest": run.info.get("digests"),
        "metric": run.info.get("metrics"),
    }
    method = (run.info.get("energy") or {}).get("method")
    leaves = {f"{group}.{name}": value for group, values in nested.items() for name, value in _plain(values or {})}
    facts |= leaves | run_totals(run) | ({"energy_method": method} if method else {})
    return {f"penstock.{name}": value for name, value in facts.items()}


def _plain(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what an attribute can have."""
    return ((name, value) for name, value in values.items() if isinstance(value, str | bool | int | float))


def _fail(span: Span, error: str, at: float) -> None:
    kind, _, message = error.partition(": ")
    span.set_attribute(ERROR_TYPE, kind)
    span.add_event("exception", {EXCEPTION_TYPE: kind, EXCEPTION_MESSAGE: message}, nanoseconds(at))
    span.set_status(Status(StatusCode.ERROR, error))


def _start(tracer: Tracer, name: str, start: float, parent: Context) -> Span:
    return tracer.start_span(name, parent, start_time=nanoseconds(start))


def _end(span: Span, start: float, seconds: float) -> None:
    span.end(nanoseconds(start + seconds))


def nanoseconds(seconds: float) -> int:
    """Return nanoseconds since 1970, of whole microseconds: a float has no more."""
    return round(seconds * 1e6) * 1000
