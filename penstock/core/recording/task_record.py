"""What one task did: where, when, and for how long."""

from __future__ import annotations

import os
import resource
import socket
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from penstock.core.recording.meter import Meter

Counters = Callable[[], Mapping[str, float]]
"""Gives what devices of this machine have used since some time, in joules, by the device."""


@dataclass(frozen=True)
class TaskRecord:
    """One task, of a scan, a merge or a training.

    Attributes
    ----------
    span : int
        The place of its scan or training in the run.
    kind : {"task", "merge", "rank"}
    fragment : int, optional
        The fragment that it worked on; the index of a rank.
    host : str
    pid : int
    start : float
        Seconds since 1970, by the clock of its machine.
    seconds : float
        From its start to its end.
    phases : mapping of str to float
        Seconds of each phase; their sum is `seconds`.
    counts : mapping of str to int
        ``rows_in``, ``rows_out``, ``bytes_in`` (of rows in memory), ``bytes_out`` (of files).
    cpu : tuple of float
        CPU seconds that its process had used at its start and at its end, those of other tasks in it included.
    peak_memory : int
        Bytes that its process had at most until its end.
    device : str
        ``"cpu"`` or ``"gpu"``.
    energy : mapping of str to tuple of float
        By device, its counter in joules at the start and at the end.
    """

    span: int
    kind: str
    fragment: int | None
    host: str
    pid: int
    start: float
    seconds: float
    phases: Mapping[str, float]
    counts: Mapping[str, int]
    cpu: tuple[float, float]
    peak_memory: int
    device: str = "cpu"
    energy: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@lru_cache(maxsize=1)
def host_name() -> str:
    """Return the name of this machine."""
    return socket.gethostname()


def peak_memory() -> int:
    """Return the most bytes of memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


class Recording:
    """Measures what is done inside, as one task.

    Parameters
    ----------
    span : int
    kind : str
    fragment : int, optional
    phase : str
        What it does as long as it says nothing else.
    counters : callable, optional
        Read at the start and at the end.
    run_id : str
        Log records of the task name it.

    Attributes
    ----------
    record : TaskRecord
        There after the end.
    """

    record: TaskRecord

    def __init__(
        self,
        span: int,
        kind: str,
        fragment: int | None,
        phase: str,
        device: str,
        counters: Counters | None,
        run_id: str = "",
    ) -> None:
        self._span, self._kind, self._fragment, self._device = span, kind, fragment, device
        self._phase, self._counters, self._run_id = phase, counters, run_id

    def __enter__(self) -> Recording:
        self._energy = {} if self._counters is None else self._counters()
        self._start, self._cpu = time.time(), time.process_time()
        ids = {"run_id": self._run_id or None, "span": self._span, "kind": self._kind, "fragment": self._fragment}
        self._meter = Meter(self._phase, ids={name: value for name, value in ids.items() if value is not None})
        self._meter.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._meter.__exit__()
        ended = {} if self._counters is None else self._counters()
        self.record = TaskRecord(
            span=self._span,
            kind=self._kind,
            fragment=self._fragment,
            host=host_name(),
            pid=os.getpid(),
            start=self._start,
            seconds=sum(self._meter.seconds.values()),
            phases=self._meter.seconds,
            counts=self._meter.counts,
            cpu=(self._cpu, time.process_time()),
            peak_memory=peak_memory(),
            device=self._device,
            energy={name: (self._energy[name], value) for name, value in ended.items() if name in self._energy},
        )
