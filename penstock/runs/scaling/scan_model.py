"""What a scan takes with any number of rows and workers, fitted to that of recorded runs."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from penstock.runs.analysis.intervals import Floats
from penstock.runs.scaling.least_squares import LeastSquares
from penstock.runs.scaling.observation import Bools, RunObservation, ScanObservation
from penstock.runs.scaling.prediction import Size, SpanParts, quantiles

_DRAWS, _DRAWN = 24, 200_000
"""How often the tasks of a scan are drawn anew, and how many of them at most."""


@dataclass(frozen=True, kw_only=True)
class ScanModel:
    """A scan: tasks that workers take as they are free, the merges of their results, and the rest.

    Attributes
    ----------
    rows, tasks : LeastSquares
        Rows that the scan reads by rows of the run and 1; its tasks by fragments of the run and 1.
    task : LeastSquares
        Work of a task by its rows, by 1, and by 1 again if it is the first of its thread: that one begins with cold
        caches and memory that is not mapped yet.
    first : float
        How many tasks of a scan are the first of a thread, for each worker.
    ratios, gaps : tuple of float
        Quantiles of the work of a task as a multiple of what is predicted, and of seconds between tasks.
    merge : LeastSquares
        Work of merges by what they take, and their number.
    phases : mapping of str to LeastSquares
        Work of all tasks in each phase, by their rows, their number, and that of the first ones.
    dispatch : float
        Seconds for which the scheduler has one task after another.
    rest : LeastSquares
        Seconds besides, by 1, tasks, and what the last merges take from other workers.
    """

    rows: LeastSquares
    tasks: LeastSquares
    task: LeastSquares
    first: float
    ratios: tuple[float, ...]
    gaps: tuple[float, ...]
    merge: LeastSquares
    phases: Mapping[str, LeastSquares]
    dispatch: float
    rest: LeastSquares

    @classmethod
    def fit(cls, observed: Sequence[tuple[RunObservation, ScanObservation]]) -> Self:
        """Return the model of a scan of several runs."""
        scans = [scan for _, scan in observed]
        trees = [_tree(scan) for scan in scans]
        task, ratios = _fit_tasks(scans)
        dispatch = min((scan.dispatch for scan in scans if scan.dispatch is not None), default=0.0)
        besides = [_besides(scan, tree, dispatch) for scan, tree in zip(scans, trees, strict=True)]
        points = [_rest(len(scan.rows), tree, scan.workers) for scan, tree in zip(scans, trees, strict=True)]
        fragments = [(len(run.fragments), 1) for run, _ in observed]
        merges = [(tree.inputs, tree.merges) for tree in trees]
        return cls(
            rows=LeastSquares.fit([(run.rows, 1) for run, _ in observed], [scan.rows.sum() for scan in scans]),
            tasks=LeastSquares.fit(fragments, [len(scan.rows) for scan in scans]),
            task=task,
            first=max(float(scan.first.sum()) / scan.workers for scan in scans),
            ratios=quantiles(ratios),
            # Of the first task of a worker there is none.
            gaps=quantiles(np.concatenate([scan.gaps[scan.workers :] for scan in scans])),
            merge=LeastSquares.fit(merges, [float(scan.merges.sum()) for scan in scans]),
            phases=_fit_phases(scans),
            dispatch=dispatch,
            rest=LeastSquares.fit(points, besides),
        )

    def predict(self, size: Size) -> SpanParts:
        """Return what the scan takes of a run of some size."""
        rows, workers = self._task_rows(size), size.workers
        tree = MergeTree.of(len(rows))
        merges = self.merge.value((tree.inputs, tree.merges)) / size.speed
        last = merges * tree.last_share
        columns = _columns(rows, np.arange(len(rows)) < max(1, round(self.first * workers)))
        work = columns @ np.asarray(self.task.coefficients) / size.speed
        ends, point = self._ends(work, workers), _rest(len(rows), tree, workers)
        rest, fetched = self.rest.value(point), self.rest.coefficients[2] * point[2]
        seconds = float(ends.mean()) + (merges - last) / workers + last + rest
        busy = {name: share * float(work.sum()) / workers for name, share in self._shares(columns).items()}
        busy["merge"] = busy.get("merge", 0.0) + merges / workers
        return SpanParts(
            phases=busy | {"wait": max(0.0, seconds - sum(busy.values()))},
            serial=last * (1 - 1 / workers) + rest - fetched,
            communicate=fetched,
            deviation=self._relative(columns.mean(axis=0)) * float(ends.mean()) + self.rest.deviation(point),
            spread=float(ends.std()),
        )

    def _shares(self, columns: Floats) -> dict[str, float]:
        """Return the part of the work of tasks that is of each phase."""
        seconds = {name: each.value(columns.sum(axis=0).tolist()) for name, each in self.phases.items()}
        whole = sum(seconds.values())
        return {name: each / whole for name, each in seconds.items() if each}

    def _relative(self, columns: Floats) -> float:
        """Return how far the work of a task may be off, as a share of it, where times vary by as much as they are."""
        point = columns.tolist()
        expected = self.task.value(point)
        return self.task.deviation(point) / expected if expected else 0.0

    def _task_rows(self, size: Size) -> Floats:
        fragments = np.asarray(size.fragments, dtype=float)
        count = max(1, round(self.tasks.value((len(fragments), 1))))
        rows = fragments if count == len(fragments) else np.full(count, fragments.sum() / count)
        return np.asarray(rows * (self.rows.value((size.rows, 1)) / max(1.0, rows.sum())))

    def _ends(self, work: Floats, workers: int) -> Floats:
        """Return when the last of the tasks ends, of several draws of how they differ."""
        random = np.random.default_rng(0)
        draws = max(2, min(_DRAWS, _DRAWN // len(work)))
        gaps = self.gaps or (0.0,)
        ends = [
            makespan(
                (work * random.choice(self.ratios, len(work))).tolist(),
                workers,
                gaps=random.choice(gaps, len(work)).tolist(),
                dispatch=self.dispatch,
            )
            for _ in range(draws)
        ]
        return np.asarray(ends)


def _columns(rows: Floats, first: Bools) -> Floats:
    """Return what the work of each task grows with."""
    return np.column_stack([rows, np.ones_like(rows), first])


def _fit_tasks(scans: Sequence[ScanObservation]) -> tuple[LeastSquares, Floats]:
    """Return the work of a task, and that of each task as a multiple of it; the mean of these is 1."""
    columns = np.concatenate([_columns(scan.rows, scan.first) for scan in scans])
    work = np.concatenate([scan.work for scan in scans])
    task = LeastSquares.fit(columns, work)
    expected = columns @ np.asarray(task.coefficients)
    ratios = np.divide(work, expected, out=np.ones_like(work), where=expected > 0)
    return task, ratios / (ratios.mean() or 1.0)


def _fit_phases(scans: Sequence[ScanObservation]) -> dict[str, LeastSquares]:
    points = [_columns(scan.rows, scan.first).sum(axis=0) for scan in scans]
    seconds = [_task_phases(scan) for scan in scans]
    names = dict.fromkeys(name for each in seconds for name in each)
    return {name: LeastSquares.fit(points, [each.get(name, 0.0) for each in seconds]) for name in names}


def _task_phases(scan: ScanObservation) -> dict[str, float]:
    """Return the work of tasks by phase, without that of merges where these are by themselves."""
    return {name: each for name, each in scan.phases.items() if each and not (name == "merge" and scan.merges.size)}


def _tree(scan: ScanObservation) -> MergeTree:
    return MergeTree.of(len(scan.rows) if scan.merges.size else 0)


def _rest(tasks: int, tree: MergeTree, workers: int) -> tuple[float, float, float]:
    """Return what the rest of a scan grows with: 1, tasks, and what the last merges take from other workers."""
    return 1.0, float(tasks), tree.last_inputs * (1 - 1 / workers)


def _besides(scan: ScanObservation, tree: MergeTree, dispatch: float) -> float:
    """Return the seconds of a scan besides its tasks, as they would be scheduled, and its merges."""
    merges = float(scan.merges.sum())
    last = merges * tree.last_share
    tasks = makespan(scan.work.tolist(), scan.workers, gaps=scan.gaps.tolist(), dispatch=dispatch)
    return max(0.0, scan.seconds - tasks - (merges - last) / scan.workers - last)


ARITY = 8
"""How many partial results a merge takes; of every engine, see `penstock.core.scheduler.Scheduler.arity`."""


def makespan(
    durations: Sequence[float], workers: int, *, gaps: Sequence[float] | None = None, dispatch: float = 0.0
) -> float:
    """Return when the last of some tasks ends: list scheduling, each goes to the worker that is free first.

    Parameters
    ----------
    durations : sequence of float
        Seconds of each task, in the order in which they start.
    workers : int
        How many tasks run at the same time.
    gaps : sequence of float, optional
        Seconds that a worker is without a task before each; not before its first.
    dispatch : float
        Seconds that the scheduler takes for a task, one after another.

    Notes
    -----
    By Graham, "Bounds on multiprocessing timing anomalies", SIAM Journal on Applied Mathematics 17 (1969), it is less
    than ``sum(durations) / workers + max(durations)``.

    Examples
    --------
    >>> makespan([3.0, 1.0, 1.0, 1.0], workers=2), makespan([1.0, 1.0, 1.0, 3.0], workers=2)
    (3.0, 4.0)
    >>> makespan([1.0] * 4, workers=4, dispatch=0.5)
    2.5
    """
    free = [0.0] * min(workers, len(durations))
    scheduled = last = 0.0
    for place, seconds in enumerate(durations):
        gap = gaps[place] if gaps is not None and place >= len(free) else 0.0
        start = max(free[0] + gap, scheduled)
        scheduled = start + dispatch
        heapq.heapreplace(free, start + seconds)
        last = max(last, start + seconds)
    return last


class MergeTree(NamedTuple):
    """The merges of partial results.

    Attributes
    ----------
    merges, inputs : int
        How many there are, and what all of them together take.
    last_merges, last_inputs : int
        Of those on the way from the last task to the result, which nothing else can be done beside.
    """

    merges: int
    inputs: int
    last_merges: int
    last_inputs: int

    @property
    def last_share(self) -> float:
        """The share of all inputs that is of those; 0 where nothing is merged."""
        return self.last_inputs / self.inputs if self.inputs else 0.0

    @classmethod
    def of(cls, tasks: int, arity: int = ARITY) -> MergeTree:
        """Return the merges of the results of so many tasks.

        Examples
        --------
        >>> MergeTree.of(10)  # of 8 and of 2 results, then of these two
        MergeTree(merges=3, inputs=12, last_merges=2, last_inputs=4)
        """
        merges = inputs = last_merges = last_inputs = 0
        level = tasks
        while level > 1:
            groups = math.ceil(level / arity)
            merges, inputs = merges + groups, inputs + level
            last_merges, last_inputs = last_merges + 1, last_inputs + level - arity * (groups - 1)
            level = groups
        return cls(merges, inputs, last_merges, last_inputs)
