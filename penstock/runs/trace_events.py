"""A run in the Trace Event Format, which Perfetto and ``chrome://tracing`` open."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from penstock.core.locations import read_location
from penstock.core.recording import PHASES, Span
from penstock.io.sinks import write_file
from penstock.runs.analysis.task_arrays import TaskArrays
from penstock.runs.run import Run

_SHOWN = ("fragment", "device", "rows_in", "rows_out", "bytes_in", "bytes_out", "cpu_seconds", "peak_memory", "energy")
_MICROSECONDS = 1e6

Event = dict[str, Any]


def chrome_trace(run: Run) -> dict[str, Any]:
    """Return a run as an object of the Trace Event Format.

    Parameters
    ----------
    run : Run

    Returns
    -------
    dict
        ``traceEvents`` has complete events (``"ph": "X"``): a process for the driver with the spans of the run, and one
        for each worker, a thread a slot, with its tasks. Times are microseconds since the run began. Within a task its
        phases follow one another in the order of `PHASES`; a record has how long each took, and not when it was.

    Notes
    -----
    The fields are those of the "Trace Event Format" by Google, 2016: ``name``, ``cat``, ``ph``, ``ts``, ``dur``,
    ``pid``, ``tid`` and ``args``, and metadata events (``"ph": "M"``) that name processes and threads.

    Examples
    --------
    >>> import penstock as ps
    >>> info = {"run_id": "r", "kind": "fit", "name": "clicks", "started": 0.0, "spans": [
    ...     {"name": "scan", "kind": "scan", "start": 1.0, "seconds": 2.0, "items": 0, "parent": None}]}
    >>> chrome_trace(ps.runs.Run(info, ps.runs.TASKS.empty_table()))["traceEvents"][-1]["ts"]
    1000000.0
    """
    events = [*_driver_events(run), *_worker_events(run)]
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"run_id": run.id, "kind": run.kind, "name": run.name},
    }


def write_chrome_trace(run: Run, path: str | os.PathLike[str]) -> Path | str:
    """Write a run as a file of the Trace Event Format, compressed where the path ends with ``.gz``.

    Parameters
    ----------
    run : Run
    path : path or URL
        Replaced, whole or not at all; folders that are missing are made.

    Returns
    -------
    pathlib.Path or str
        The path; a URL as text.

    Raises
    ------
    OutputError, DiskFullError, CommitConflictError
        The file cannot be written.
    """
    target = read_location(path, "trace")
    content = json.dumps(chrome_trace(run), allow_nan=False, separators=(",", ":")).encode()
    return write_file(target, gzip.compress(content, 6, mtime=0) if target.endswith(".gz") else content)


def _driver_events(run: Run) -> Iterator[Event]:
    yield _named("process_name", 0, 0, f"driver: {run.kind} {run.name}".rstrip())
    origin = float(run.info["started"])
    for span, thread in zip(run.spans, _threads(run.spans), strict=True):
        what = {"items": span.items}
        yield _complete(span.name, span.kind, (span.start - origin, span.seconds or 0.0), (0, thread), what)


def _threads(spans: list[Span]) -> Iterator[int]:
    """Yield a thread for each span: 0 for steps, which nest; for others the first that is free, as they may overlap."""
    ends: list[float] = []
    for span in spans:
        if span.kind == "step":
            yield 0
            continue
        thread = next((place for place, end in enumerate(ends) if end <= span.start), len(ends))
        ends[thread:] = [span.start + (span.seconds or 0.0), *ends[thread + 1 :]]
        yield 1 + thread


def _worker_events(run: Run) -> Iterator[Event]:
    tasks = TaskArrays.of(run)
    workers = {worker: place for place, worker in enumerate(dict.fromkeys(name for name, _ in tasks.slots), 1)}
    threads = [(workers[worker], slot) for worker, slot in tasks.slots]
    for worker, process in workers.items():
        yield _named("process_name", process, 0, worker)
        yield {**_named("process_sort_index", process, 0, worker), "args": {"sort_index": process}}
    for process, slot in threads:
        yield _named("thread_name", process, slot, f"slot {slot}")
    begins = tasks.start[:, None] + np.cumsum(tasks.phases, axis=1) - tasks.phases
    shown = run.tasks.select(["label", "kind", *_SHOWN]).to_pylist()
    for row, at, seconds, slot, starts, phases in zip(
        shown,
        tasks.start.tolist(),
        tasks.seconds.tolist(),
        tasks.slot.tolist(),
        begins.tolist(),
        tasks.phases.tolist(),
        strict=True,
    ):
        place = threads[slot]
        label, kind = row.pop("label"), row.pop("kind")
        known = {name: value for name, value in row.items() if value is not None}
        yield _complete(label if kind == "task" else f"{label}: {kind}", kind, (at, seconds), place, known)
        for phase, start, took in zip(PHASES, starts, phases, strict=True):
            if took:
                yield _complete(phase, "phase", (start, took), place, {})


def _complete(name: str, category: str, when: tuple[float, float], place: tuple[int, int], args: Event) -> Event:
    start, seconds = (round(each * _MICROSECONDS, 3) for each in when)
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        "ts": start,
        "dur": seconds,
        "pid": place[0],
        "tid": place[1],
        "args": args,
    }


def _named(event: str, process: int, thread: int, name: str) -> Event:
    return {"name": event, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}
