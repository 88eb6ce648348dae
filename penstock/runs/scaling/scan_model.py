"""What a scan takes with any number of rows and workers, fitted to that of recorded runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from penstock.runs.analysis.intervals import Floats
from penstock.runs.scaling.least_squares import LeastSquares
from penstock.runs.scaling.observation import RunObservation, ScanObservation
from penstock.runs.scaling.parts import Size, SpanParts, quantiles
from penstock.runs.scaling.schedule import MergeTree, makespan

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
        Work of a task by its rows and 1.
    ratios, gaps : tuple of float
        Quantiles of the work of a task as a multiple of what is predicted, and of seconds between tasks.
    merge : LeastSquares
        Work of merges by what they take, and their number.
    shares : mapping of str to float
        Parts of the work of a task by phase.
    dispatch : float
        Seconds for which the scheduler has one task after another.
    rest : LeastSquares
        Seconds besides, by 1, tasks, and what the last merges take from other workers.
    """

    rows: LeastSquares
    tasks: LeastSquares
    task: LeastSquares
    ratios: tuple[float, ...]
    gaps: tuple[float, ...]
    merge: LeastSquares
    shares: Mapping[str, float]
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
            ratios=quantiles(ratios),
            # Of the first task of a worker there is none.
            gaps=quantiles(np.concatenate([scan.gaps[scan.workers :] for scan in scans])),
            merge=LeastSquares.fit(merges, [float(scan.merges.sum()) for scan in scans]),
            shares=_shares(scans),
            dispatch=dispatch,
            rest=LeastSquares.fit(points, besides),
        )

    def predict(self, size: Size) -> SpanParts:
        """Return what the scan takes of a run of some size."""
        rows, workers = self._task_rows(size), size.workers
        tree = MergeTree.of(len(rows))
        merges = self.merge.value((tree.inputs, tree.merges)) / size.speed
        last = merges * tree.last_share
        work = (rows * self.task.coefficients[0] + self.task.coefficients[1]) / size.speed
        ends, point = self._ends(work, workers), _rest(len(rows), tree, workers)
        rest, fetched = self.rest.value(point), self.rest.coefficients[2] * point[2]
        seconds = float(ends.mean()) + (merges - last) / workers + last + rest
        busy = {name: share * float(work.sum()) / workers for name, share in self.shares.items()}
        busy["merge"] = busy.get("merge", 0.0) + merges / workers
        return SpanParts(
            phases=busy | {"wait": max(0.0, seconds - sum(busy.values()))},
            serial=last * (1 - 1 / workers) + rest - fetched,
            communicate=fetched,
            deviation=self._relative(float(rows.mean())) * float(ends.mean()) + self.rest.deviation(point),
            spread=float(ends.std()),
        )

    def _relative(self, rows: float) -> float:
        """Return how far the work of a task may be off, as a share of it, where times vary by as much as they are."""
        expected = self.task.value((rows, 1.0))
        return self.task.deviation((rows, 1.0)) / expected if expected else 0.0

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


def _fit_tasks(scans: Sequence[ScanObservation]) -> tuple[LeastSquares, Floats]:
    """Return the work of a task, and that of each task as a multiple of it; the mean of these is 1."""
    rows, work = (np.concatenate([getattr(scan, name) for scan in scans]) for name in ("rows", "work"))
    task = LeastSquares.fit(np.column_stack([rows, np.ones_like(rows)]), work)
    expected = rows * task.coefficients[0] + task.coefficients[1]
    ratios = np.divide(work, expected, out=np.ones_like(work), where=expected > 0)
    return task, ratios / (ratios.mean() or 1.0)


def _shares(scans: Sequence[ScanObservation]) -> dict[str, float]:
    total: Counter[str] = Counter()
    for scan in scans:
        total.update({name: each for name, each in scan.phases.items() if name != "merge" or not scan.merges.size})
    whole = sum(total.values())
    return {name: each / whole for name, each in total.items() if each}


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
