"""A cluster that is simulated event by event, and leaves the records that a run on a real one leaves."""

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from penstock.core.recording import Span, TaskRecord
from penstock.runs import Run
from penstock.runs.run_recording import task_table

ARITY = 8


@dataclass(frozen=True)
class Scan:
    """Tasks of ``fixed + per_row * rows`` seconds, half of it decode; their results are merged in a tree."""

    per_row: float
    fixed: float = 0.0
    merge: float = 0.0
    """Seconds for each partial result that a merge takes; 0 for a scan without merges."""
    result_bytes: float = 0.0
    name: str = "scan"


@dataclass(frozen=True)
class Training:
    """Rounds of ``fixed + per_row * rows / workers`` seconds, and an all-reduce of some bytes after each."""

    rounds: int
    per_row: float
    fixed: float = 0.0
    reduced_bytes: float = 0.0
    name: str = "train"


@dataclass
class Cluster:
    """Workers of one slot each, a scheduler that starts one task after another, and a network.

    Speeds are repeated over the workers. An attempt of a task is lost by chance, `failures` times a second of work, and
    its worker is back after `recovery` seconds. Seconds of work vary by the factor of a lognormal of `noise`.
    """

    workers: int
    speeds: Sequence[float] = (1.0,)
    latency: float = 0.0
    bandwidth: float = math.inf
    dispatch: float = 0.0
    failures: float = 0.0
    recovery: float = 0.0
    noise: float = 0.0
    seed: int = 0
    now: float = 0.0
    spans: list[Span] = field(default_factory=list)
    records: list[TaskRecord] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng([self.seed, self.workers])

    def run(self, fragments: Sequence[int], *parts: Scan | Training, driver: float = 0.0) -> Run:
        """Return the record of a run: what the driver does by itself, then each part."""
        self.now += driver
        for part in parts:
            self.spans.append(Span(part.name, "scan" if isinstance(part, Scan) else "train", self.now))
            began = self.now
            self.now = self._scan(part, fragments) if isinstance(part, Scan) else self._train(part, sum(fragments))
            self.spans[-1].seconds = self.now - began
        info = {"format": 1, "run_id": "simulated", "kind": "fit", "name": "", "started": 0.0, "seconds": self.now}
        info |= {"status": "done", "engine": {"slots": self.workers}, "spans": [asdict(span) for span in self.spans]}
        return Run(info, task_table(self.records, self.spans))

    def _seconds(self, work: float, worker: int) -> float:
        factor = math.exp(self._random.normal(-(self.noise**2) / 2, self.noise)) if self.noise else 1.0
        return work * factor / self.speeds[worker % len(self.speeds)]

    def _transfer(self, messages: float, size: float) -> float:
        return messages * self.latency + size / self.bandwidth

    def _scan(self, scan: Scan, fragments: Sequence[int]) -> float:
        return _ScanUnderWay(self, scan, fragments).end()

    def _train(self, training: Training, rows: int) -> float:
        began = self.now + self._transfer(1, 0.0)
        others = self.workers - 1
        reduced = self._transfer(2 * others, 2 * others / self.workers * training.reduced_bytes) if others else 0.0
        work = training.fixed + training.per_row * rows / self.workers
        own, total = np.zeros(self.workers), 0.0
        for _ in range(training.rounds):
            seconds = np.array([self._seconds(work, worker) for worker in range(self.workers)])
            own, total = own + seconds, total + seconds.max() + reduced
        for worker in range(self.workers):
            phases = {"train": float(own[worker]), "communicate": total - float(own[worker])}
            self.record("rank", worker, worker, began, phases, rows=0)
        return began + total

    def record(
        self, kind: str, worker: int, fragment: int | None, start: float, phases: dict[str, float], rows: int
    ) -> None:
        """Keep the record of a task."""
        span, seconds = len(self.spans) - 1, sum(phases.values())
        counts, cpu = {"rows_in": rows}, (0.0, seconds)
        self.records.append(
            TaskRecord(span, kind, fragment, "simulated", worker, start, seconds, phases, counts, cpu, 10**9)
        )


class _ScanUnderWay:
    """The events of one scan: tasks and merges that are ready, workers that are free."""

    def __init__(self, cluster: Cluster, scan: Scan, fragments: Sequence[int]) -> None:
        self._cluster, self._scan = cluster, scan
        self._number = itertools.count()
        self._scheduler = cluster.now
        self._free = [(cluster.now, worker) for worker in range(cluster.workers)]
        # Ready tasks: when, in which order, the level (0 for a fragment), the place there, and its rows or inputs.
        self._ready = [(cluster.now, next(self._number), 0, place, rows) for place, rows in enumerate(fragments)]
        self._waiting = {0: len(fragments)}
        self._done: dict[tuple[int, int], tuple[float, int]] = {}
        level, count = 1, math.ceil(len(fragments) / ARITY)
        while scan.merge and self._waiting[level - 1] > 1:
            self._waiting[level], level, count = count, level + 1, math.ceil(count / ARITY)

    def end(self) -> float:
        """Return when the result is with the driver."""
        last = self._cluster.now
        while self._ready:
            ready, number, level, place, size = heapq.heappop(self._ready)
            free, worker = heapq.heappop(self._free)
            began = max(ready, free, self._scheduler)
            self._scheduler = began + self._cluster.dispatch
            start = began + self._cluster.latency + (self._fetched(level, place, worker) if level else 0.0)
            seconds = self._cluster._seconds(self._work(level, size), worker)
            lost = self._cluster._random.exponential(1 / self._cluster.failures) if self._cluster.failures else math.inf
            if lost < seconds:
                heapq.heappush(self._free, (start + lost + self._cluster.recovery, worker))
                heapq.heappush(self._ready, (start + lost, number, level, place, size))
                continue
            heapq.heappush(self._free, (start + seconds, worker))
            self._record(level, place, worker, start, seconds, size)
            self._finish(level, place, start + seconds, worker)
            last = max(last, start + seconds)
        return last + self._cluster._transfer(1, self._scan.result_bytes)

    def _work(self, level: int, size: int) -> float:
        return self._scan.merge * size if level else self._scan.fixed + self._scan.per_row * size

    def _record(self, level: int, place: int, worker: int, start: float, seconds: float, size: int) -> None:
        if level:
            self._cluster.record("merge", worker, None, start, {"merge": seconds}, rows=0)
        else:
            halves = {"decode": seconds / 2, "compute": seconds / 2}
            self._cluster.record("task", worker, place, start, halves, rows=size)

    def _inputs(self, level: int, place: int) -> range:
        return range(place * ARITY, min((place + 1) * ARITY, self._waiting[level - 1]))

    def _fetched(self, level: int, place: int, worker: int) -> float:
        away = sum(self._done[level - 1, each][1] != worker for each in self._inputs(level, place))
        return self._cluster._transfer(away, away * self._scan.result_bytes)

    def _finish(self, level: int, place: int, when: float, worker: int) -> None:
        self._done[level, place] = when, worker
        above, parent = level + 1, place // ARITY
        if above not in self._waiting:
            return
        inputs = [self._done.get((level, each)) for each in self._inputs(above, parent)]
        if all(inputs):
            ready = max(each[0] for each in inputs if each)
            heapq.heappush(self._ready, (ready, next(self._number), above, parent, len(inputs)))
