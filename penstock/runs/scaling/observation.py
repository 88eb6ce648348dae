"""What a recorded run says of scaling: the work of its tasks and ranks, and what took time besides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.core.recording import PHASES, Span
from penstock.runs.analysis.intervals import Floats, Intervals
from penstock.runs.analysis.task_arrays import TaskArrays, column
from penstock.runs.run import Run

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class ScanObservation:
    """A scan of a run.

    Attributes
    ----------
    name : str
        Its label, with a number where the run had it before.
    seconds : float
    workers : int
        How many of its tasks can run at the same time.
    rows, work, gaps : array of float
        By task: its rows; its seconds, without the share of others that had its worker meanwhile; and those that the
        worker was without a task before it, 0 of its first one.
    first : array of bool
        By task, whether it is the first one of its thread in the scan.
    merges : array of float
        The work of each merge.
    phases : mapping of str to float
        Work by phase, of tasks and merges.
    dispatch : float or None
        Seconds from the first task of one worker to that of the next; None of a single worker.
    """

    name: str
    seconds: float
    workers: int
    rows: Floats
    work: Floats
    gaps: Floats
    first: Bools
    merges: Floats
    phases: Mapping[str, float]
    dispatch: float | None

    def wall(self) -> dict[str, float]:
        """Return its seconds by phase; ``wait`` is what workers, on average, had nothing to do."""
        return _wall(self.seconds, self.phases, self.workers)


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainObservation:
    """A training of a run.

    Attributes
    ----------
    name : str
    seconds : float
    ranks, own : array of float
        The seconds of each rank, and those without the phase ``communicate``.
    phases : mapping of str to float
        Seconds by phase, of all ranks.
    """

    name: str
    seconds: float
    ranks: Floats
    own: Floats
    phases: Mapping[str, float]

    def wall(self) -> dict[str, float]:
        """Return its seconds by phase; ``wait`` are those without a rank, on average."""
        return _wall(self.seconds, self.phases, len(self.ranks))


@dataclass(frozen=True, kw_only=True, eq=False)
class RunObservation:
    """A run.

    Attributes
    ----------
    rows : int
        Those of its largest scan.
    fragments : tuple of int
        The rows of each of its tasks.
    workers : int
        How many tasks can run at the same time: ``slots`` of the engine where the run knows of it, or else the most
        processes that were seen at work together.
    seconds, driver : float
        All of it, and what is neither scan nor training.
    memory : int
        The most bytes of a process.
    spans : tuple
        In the order in which they began.
    """

    rows: int
    fragments: tuple[int, ...]
    workers: int
    seconds: float
    driver: float
    memory: int
    spans: tuple[ScanObservation | TrainObservation, ...]

    @classmethod
    def of(cls, run: Run) -> RunObservation:
        """Return what the record of a run says."""
        reader = _Reader(run)
        spans = tuple(reader.spans())
        scans = [each.rows for each in spans if isinstance(each, ScanObservation)]
        largest = max(scans, key=lambda rows: float(rows.sum()), default=np.zeros(0))
        covered = Intervals.of_spans(reader.recorded, float(run.info["started"])).length
        return cls(
            rows=int(largest.sum()) or input_rows(run.info),
            fragments=tuple(map(int, largest[largest > 0])) or (input_rows(run.info),),
            workers=reader.workers,
            seconds=run.seconds,
            driver=max(0.0, run.seconds - covered),
            memory=int(column(run.tasks, "peak_memory").max(initial=0.0)),
            spans=spans,
        )

    def phases(self) -> dict[str, float]:
        """Return the seconds by phase: of tasks, ``wait`` and ``driver``; they add up to all of it."""
        total: Counter[str] = Counter()
        for span in self.spans:
            total.update(span.wall())
        return dict(total) | {"driver": self.driver}


class _Reader:
    """Reads the spans of a run that have records."""

    def __init__(self, run: Run) -> None:
        self._run, self._tasks = run, TaskArrays.of(run)
        self._kind = np.asarray(run.tasks["kind"].to_pylist(), dtype=object)
        self._rows, self._waits = (column(run.tasks, name) for name in ("rows_in", "wait"))
        spans = [(np.flatnonzero(self._tasks.span == place), span) for place, span in enumerate(run.spans)]
        self._spans = [(places, span) for places, span in spans if (self._kind[places] != "merge").any()]
        self.workers = int(run.info.get("engine", {}).get("slots") or max(map(self._processes, self._spans), default=1))

    @property
    def recorded(self) -> list[Span]:
        """The spans that have records."""
        return [span for _, span in self._spans]

    def spans(self) -> Iterator[ScanObservation | TrainObservation]:
        """Yield what is observed of each."""
        seen: Counter[str] = Counter()
        for places, span in self._spans:
            seen[span.name] += 1
            name = span.name if seen[span.name] == 1 else f"{span.name} ({seen[span.name]})"
            ranks = places[self._kind[places] == "rank"]
            yield self._train(name, span, ranks) if ranks.size else self._scan(name, span, places)

    def _train(self, name: str, span: Span, places: Any) -> TrainObservation:
        phases = dict(zip(PHASES, self._tasks.phases[places].sum(axis=0).tolist(), strict=True))
        seconds = self._tasks.seconds[places]
        own = seconds - self._tasks.phases[places, PHASES.index("communicate")]
        return TrainObservation(name=name, seconds=span.seconds or 0.0, ranks=seconds, own=own, phases=phases)

    def _scan(self, name: str, span: Span, places: Any) -> ScanObservation:
        start, seconds = self._tasks.start[places], self._tasks.seconds[places]
        work = _shared_work(start, seconds, self.workers)
        is_task, is_first = self._kind[places] == "task", self._first_of_slot(places)
        parts = (
            self._tasks.phases[places] * np.divide(work, seconds, out=np.ones_like(work), where=seconds > 0)[:, None]
        )
        return ScanObservation(
            name=name,
            seconds=span.seconds or 0.0,
            workers=self.workers,
            rows=self._rows[places][is_task],
            work=work[is_task],
            gaps=np.where(is_first, 0.0, self._waits[places])[is_task],
            first=is_first[is_task],
            merges=work[~is_task],
            phases=dict(zip(PHASES, parts.sum(axis=0).tolist(), strict=True)),
            dispatch=_stagger(start[is_task & is_first][: self.workers]),
        )

    def _first_of_slot(self, places: Any) -> Bools:
        first = np.zeros(len(places), dtype=bool)
        first[np.unique(self._tasks.slot[places], return_index=True)[1]] = True
        return first

    def _processes(self, recorded: tuple[Any, Span]) -> int:
        """Return how many processes worked at the same time in a span, at most."""
        places, most = recorded[0], 1
        start, end = self._tasks.start[places], self._tasks.end[places]
        process = np.asarray([self._tasks.slots[slot][0] for slot in self._tasks.slot[places]], dtype=object)
        for moment in start:
            most = max(most, len(set(process[(start <= moment) & (moment < end)])))
        return most


def _shared_work(start: Floats, seconds: Floats, workers: int) -> Floats:
    """Return the seconds of tasks by which workers are busy, where more tasks than workers share them evenly."""
    end = start + seconds
    edges = np.unique(np.concatenate([start, end]))
    active = np.searchsorted(np.sort(start), edges[:-1], "right") - np.searchsorted(np.sort(end), edges[:-1], "right")
    rate = np.minimum(1.0, workers / np.maximum(active, 1))
    reached = np.concatenate([[0.0], np.cumsum(np.diff(edges) * rate)])
    return np.asarray(np.interp(end, edges, reached) - np.interp(start, edges, reached))


def _stagger(starts: Floats) -> float | None:
    return float(np.ptp(starts)) / (len(starts) - 1) if len(starts) > 1 else None


def _wall(seconds: float, phases: Mapping[str, float], workers: int) -> dict[str, float]:
    known = {name: each / workers for name, each in phases.items() if each}
    return known | {"wait": float(max(0.0, seconds - sum(known.values())))}


def input_rows(info: Mapping[str, Any]) -> int:
    """Return the rows of all inputs of a run, as its record says."""
    return sum(int(each.get("rows") or 0) for each in info.get("inputs", ()))
