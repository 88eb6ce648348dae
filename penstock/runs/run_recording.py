"""Recording a run: what is done inside is written as a run when it ends, well or not."""

from __future__ import annotations

import platform
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock import devices
from penstock.core.locations import read_location
from penstock.core.notices import get_logger
from penstock.core.recording import PHASES, Recorder, Span, TaskRecord, recording
from penstock.core.recording.process import host_name, peak_memory
from penstock.core.redaction import redact
from penstock.devices.energy import energy_counters
from penstock.io.sinks import new_run_id
from penstock.runs.energy.energy_meter import EnergyMeter
from penstock.runs.run import FORMAT, TASKS, Run
from penstock.runs.shares import CounterReading, energy_readings, shared
from penstock.runs.watching.event_log import writing_events

logger = get_logger(__name__)

_PACKAGES = (
    *("penstock", "pyarrow", "polars", "numpy", "narwhals", "xgboost", "xgboost-cpu", "dask", "distributed", "pyspark"),
    *("cudf-cu12", "cudf-cu13", "cuml-cu12", "cuml-cu13"),
)


@dataclass
class RunRecording:
    """A run under way.

    Attributes
    ----------
    path : str
        Where its record will be.
    recorder : Recorder
    facts : dict
        What ``run.json`` is to have besides; of plain values, without secrets. ``configuration``, ``digests``,
        ``outputs``, ``metrics`` and ``notes`` are shown by pages.
    """

    path: str
    run_id: str
    kind: str
    name: str
    storage_options: Mapping[str, Any] = field(repr=False)
    recorder: Recorder = field(default_factory=Recorder, repr=False)
    facts: dict[str, Any] = field(default_factory=dict)
    started: float = field(default_factory=time.time)
    meter: EnergyMeter = field(default_factory=EnergyMeter, repr=False)

    def run(self, error: BaseException | None = None) -> Run:
        """Return what there is so far, as a run that has ended."""
        seconds = time.time() - self.started
        tasks = task_table(self.recorder.tasks, self.recorder.spans)
        info = {
            "format": FORMAT,
            "run_id": self.run_id,
            "kind": self.kind,
            "name": self.name,
            "started": self.started,
            "seconds": seconds,
            "status": "done" if error is None else "failed",
            "error": None if error is None else redact(f"{type(error).__name__}: {error}"),
            "versions": versions(),
            "machine": machine(),
            **{name: getattr(self.recorder, name) for name in ("engine", "inputs", "outputs", "events")},
            "notes": [],
            "energy": self.meter.energy(self.recorder.tasks, tasks, seconds).to_dict(),
            **self.facts,
            "spans": [asdict(span) for span in self._ended(seconds)],
        }
        return Run(info, tasks)

    def _ended(self, seconds: float) -> Iterator[Any]:
        for span in self.recorder.spans:
            if span.seconds is None:
                span.seconds = max(0.0, self.started + seconds - span.start)
            yield span


_active: ContextVar[RunRecording | None] = ContextVar("run", default=None)


def active_run() -> RunRecording | None:
    """Return the run that is recorded here; None where none is."""
    return _active.get()


@contextmanager
def record(
    directory: str | Path,
    *,
    kind: str = "run",
    name: str = "",
    storage_options: Mapping[str, Any] | None = None,
    on_end: Callable[[Run], object] | None = None,
) -> Iterator[RunRecording]:
    """Record what is done inside: every scan, merge and training, each task of them, and what this process does.

    Parameters
    ----------
    directory : path or URL
        Where runs are. This one is a directory in it, by its id, with ``run.json`` and ``tasks.parquet``; it is written
        when the block ends, also if that is by an error, which the record names.
    kind, name : str
        What ran, and on what; free to choose.
    storage_options : mapping, optional
        Passed to fsspec; never shown in a message.
    on_end : callable, optional
        Is given the run when its record is written, also of one that has failed; not of one that was interrupted.

    Examples
    --------
    >>> import tempfile, penstock as ps, pyarrow as pa
    >>> rows = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1, 2, 3]}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ps.runs.record(folder, kind="look") as recording:
    ...         frame = rows.to_polars()
    ...     [span.name for span in ps.runs.Run.load(recording.path).spans]
    ['read']
    """
    run_id = new_run_id()
    location = f"{read_location(directory, 'directory').rstrip('/')}/{run_id}"
    under_way = RunRecording(
        location, run_id, kind, name, dict(storage_options or {}), Recorder(energy_counters, run_id=run_id)
    )
    about = {"run_id": run_id, "kind": kind, "name": name, "started": under_way.started}
    events = ExitStack()
    events.enter_context(writing_events(location, under_way.recorder, about))
    error: BaseException | None = None
    outer = _active.set(under_way)
    try:
        with recording(under_way.recorder):
            yield under_way
    except BaseException as raised:
        error = raised
        raise
    finally:
        _active.reset(outer)
        run = under_way.run(error)
        _save(run, location, storage_options)
        events.close()
        if on_end is not None and (error is None or isinstance(error, Exception)):
            on_end(run)


def _save(run: Run, location: str, storage_options: Mapping[str, Any] | None) -> None:
    """Write a run; where that fails a warning says so, as what ran has ended all the same."""
    try:
        run.save(location, storage_options=storage_options)
    except Exception as error:
        logger.warning("the record of the run was not written to %s: %s", redact(location), redact(str(error)))


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages there are that numbers and times depend on."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """Return what this machine is: its name, system, cores that may be used, bytes of memory."""
    return {
        "host": host_name(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": devices.usable_cores(),
        "memory": devices.memory_limit(),
        "peak_memory": peak_memory(),
    }


_OF_TASK = ("span", "kind", "fragment", "attempt", "host", "device", "seconds", "peak_memory")
_COUNTS = ("rows_in", "rows_out", "bytes_in", "bytes_out")
_TOLERANCE = 1e-4
"""Seconds by which clocks may disagree on whether one task of a process began after another had ended."""


def task_table(tasks: Sequence[TaskRecord], spans: Sequence[Span]) -> pa.Table:
    """Return a row for each record, of the columns `TASKS`, in the order in which they started.

    Parameters
    ----------
    tasks : sequence of TaskRecord
    spans : sequence of Span
        Those that the records name by their place.
    """
    ordered = sorted(tasks, key=lambda task: task.start)
    slots = _slots(ordered)
    cpu = shared(CounterReading(place, (task.host, task.pid), *task.cpu) for place, task in enumerate(ordered))
    energy = shared(energy_readings(ordered))
    rows = [
        _row(task, spans[task.span].name)
        | {"slot": slots[place], "wait": wait, "cpu_seconds": cpu[place], "energy": energy.get(place)}
        for place, (task, wait) in enumerate(zip(ordered, _waits(ordered, slots, spans), strict=True))
    ]
    return pa.Table.from_pylist(rows, schema=TASKS)


def _row(task: TaskRecord, label: str) -> dict[str, Any]:
    return {
        **{name: getattr(task, name) for name in _OF_TASK},
        "label": label,
        "worker": f"{task.host}:{task.pid}",
        "start": round(task.start * 1e6),
        **{phase: task.phases.get(phase, 0.0) for phase in PHASES},
        **{name: task.counts.get(name, 0) for name in _COUNTS},
    }


def _slots(tasks: Sequence[TaskRecord]) -> list[int]:
    """Return for each task the first slot of its process that is free when it starts."""
    ends: dict[tuple[str, int], list[float]] = defaultdict(list)
    slots = []
    for task in tasks:
        busy = ends[task.host, task.pid]
        slot = next((slot for slot, end in enumerate(busy) if end <= task.start + _TOLERANCE), len(busy))
        busy[slot:] = [task.start + task.seconds, *busy[slot + 1 :]]
        slots.append(slot)
    return slots


def _waits(tasks: Sequence[TaskRecord], slots: Sequence[int], spans: Sequence[Span]) -> Iterator[float]:
    """Yield for each task how long its slot did nothing before it, since its span began."""
    ends: dict[tuple[str, int, int], float] = {}
    for task, slot in zip(tasks, slots, strict=True):
        key = (task.host, task.pid, slot)
        free = max(spans[task.span].start, ends.get(key, 0.0))
        yield max(0.0, task.start - free)
        ends[key] = task.start + task.seconds
