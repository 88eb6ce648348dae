"""The best counts of machines: branch and bound over clusters of several types, by integer programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from penstock.core.errors import ExecutionError
from penstock.runs.placement.goals import Goal
from penstock.runs.placement.offers import Offer
from penstock.runs.placement.workload import Workload

TOLERANCE = 1e-9
"""Relative, of goals and limits."""
_SOLVED, _INFEASIBLE = 0, 2
"""Codes of `scipy.optimize.milp`."""
_UNITS = 1000
"""Speeds are whole numbers of thousandths here."""
_SCALE = 1e3
"""Of the goal of an integer program, of which HiGHS takes 1e-6 for nothing."""

Limits = Sequence[tuple[Goal, float]]


class Solution(NamedTuple):
    """Counts of machines, and what the goal is for them."""

    value: float
    counts: np.ndarray


class _Box(NamedTuple):
    """Numbers of workers from one place to another, and total speeds from `low` to `high`, all included."""

    first: int
    last: int
    low: int
    high: int


class ClusterBranch:
    """Clusters whose machines have at least a speed, by which trainings go.

    The time of a run is ``a(workers, slowest) + b(workers) / speed`` whatever predicts it, which is neither linear nor
    convex in the counts of machines, and a goal is that by another sum of them. Within a box, a range of workers and of
    speeds, goal and limits, multiplied by the speed, are bounded from below by linear forms of the counts. An integer
    program gives the counts that are best by these. A box in which even they are no better than what was found is left;
    another is cut in two. Where a box is one number of workers and one speed the forms are exact, and so is the result,
    up to `TOLERANCE`.

    Parameters
    ----------
    workload : Workload
    offers : sequence of Offer
    slowest : float
        The least speed.
    """

    def __init__(self, workload: Workload, offers: Sequence[Offer], slowest: float) -> None:
        self._slowest = slowest
        self._slots = np.array([offer.slots for offer in offers])
        self._speeds = self._slots * np.array([round(offer.speed * _UNITS) for offer in offers])
        self._most = np.array([offer.machine.max if offer.speed >= slowest else 0 for offer in offers])
        self._workers = _sums(self._slots, self._most)
        self._demands = [workload.demand(workers) for workers in self._workers]
        self._waits = np.array([demand.serial + demand.communicate for demand in self._demands])
        self.train = np.array([demand.train for demand in self._demands]) / slowest
        self._tasks = np.array([demand.tasks for demand in self._demands]) * _UNITS
        self._least_speeds = np.array(self._workers) * round(slowest * _UNITS)

    def minimise(self, goal: Goal, limits: Limits, best: Solution | None) -> Solution | None:
        """Return the best of these clusters, or the one that was found before if none is better."""
        boxes = [_Box(0, len(self._workers) - 1, int(self._speeds.min()), int(self._speeds @ self._most))]
        while boxes:
            box = self._narrowed(boxes.pop(), limits if best is None else [*limits, (goal, best.value)])
            counts = None if box is None else self._relaxed(box, goal, limits, None if best is None else best.value)
            if box is None or counts is None:
                continue
            value = self._value(goal, counts)
            within = all(self._value(each, counts) <= most * (1 + TOLERANCE) for each, most in limits)
            if within and (best is None or value < best.value * (1 - TOLERANCE)):
                best = Solution(value, counts)
                boxes.append(box)
            else:
                boxes.extend(self._halves(box, [goal, *(each for each, _ in limits)], counts))
        return best

    def best_equal(self, best: Solution, goal: Goal, limits: Limits, then: Goal) -> Solution:
        """Return the solution, of those with its workers and its speed, that is best by another goal."""
        place, speed = self._at(best.counts)
        counts = self._relaxed(_Box(place, place, speed, speed), then, [*limits, (goal, best.value)], None)
        return best if counts is None else Solution(best.value, counts)

    def _at(self, counts: np.ndarray) -> tuple[int, int]:
        """Return the place of the number of workers, and the speed."""
        return self._workers.index(int(self._slots @ counts)), int(self._speeds @ counts)

    def _value(self, goal: Goal, counts: np.ndarray) -> float:
        place, speed = self._at(counts)
        return goal.value(counts, self._demands[place], speed=speed / _UNITS, slowest=self._slowest)

    def _narrowed(self, box: _Box, limits: Limits) -> _Box | None:
        """Return a box without the speeds that are too low for limits of the time; None if all are."""
        part = slice(box.first, box.last + 1)
        fixed, tasks = (self._waits[part] + self.train[part]).min(), self._tasks[part].min()
        for left in (most * (1 + TOLERANCE) - fixed for goal, most in limits if goal.alone):
            if left * box.high < tasks:
                return None
            box = box._replace(low=max(box.low, math.ceil(tasks / left))) if left > 0 else box
        return box

    def _relaxed(self, box: _Box, goal: Goal, limits: Limits, best: float | None) -> np.ndarray | None:
        """Return the counts that are best by the forms; None if none is within the limits, or better than the best."""
        form, constant = self._excess(box, goal, 0.0 if best is None else best)
        rows = [self._excess(box, each, most * (1 + TOLERANCE)) for each, most in limits]
        if (best is not None and _is_positive(form, constant)) or any(_is_positive(*row) for row in rows):
            return None
        matrix = np.array([self._slots, self._speeds / _UNITS, *(row for row, _ in rows)])
        lower = [self._workers[box.first], box.low / _UNITS, *(-np.inf for _ in rows)]
        upper = [self._workers[box.last], box.high / _UNITS, *(-each for _, each in rows)]
        value, counts = _integer_program(_SCALE * form, matrix, lower, upper, self._most)
        if counts is None or (best is not None and value >= -_SCALE * (constant + TOLERANCE)):
            return None
        return counts

    def _excess(self, box: _Box, goal: Goal, limit: float) -> tuple[np.ndarray, float]:
        """Return a form and its constant that are below 0 wherever the goal is below a limit, within the box."""
        form, constant = self._bound(box, goal)
        form = form - limit * self._speeds
        scale = max(np.abs(form).max(), abs(constant), 1e-300)
        return form / scale, constant / scale

    def _bound(self, box: _Box, goal: Goal) -> tuple[np.ndarray, float]:
        """Return a form of the counts, and its constant: at most the goal by the speed, within the box.

        Of what is multiplied by counts it has the least speed of the box, for trainings at least the slowest worker's
        speed for each worker, and of all that the least for the workers of the box.
        """
        part, low = slice(box.first, box.last + 1), box.low
        waits, train, tasks = self._waits[part], self.train[part], self._tasks[part]
        works = np.maximum(train * low, train * self._least_speeds[part]) + tasks
        rates = np.outer(waits * low, goal.waiting) + np.outer(works, goal.working)
        fixed = (waits + train).min()
        constant = goal.alone * (((waits + train) * low + tasks).min() - fixed * low)
        return rates.min(axis=0) + goal.alone * fixed * self._speeds, constant

    def _halves(self, box: _Box, goals: Sequence[Goal], counts: np.ndarray) -> Iterator[_Box]:
        """Yield the halves of a box, cut in the direction in which its forms are looser for the counts best by them."""
        place, speed = self._at(counts)
        by_workers = self._slack(box, box._replace(first=place, last=place), goals, counts)
        by_speed = self._slack(box, box._replace(low=speed), goals, counts)
        if box.first < box.last and (by_workers >= by_speed or box.low == box.high):
            middle = (box.first + box.last) // 2
            yield box._replace(first=middle + 1, low=max(box.low, int(self._least_speeds[middle + 1])))
            yield box._replace(last=middle)
        elif box.low < box.high:
            middle = (box.low + box.high) // 2
            yield box._replace(low=middle + 1)
            yield box._replace(high=middle)

    def _slack(self, box: _Box, smaller: _Box, goals: Sequence[Goal], counts: np.ndarray) -> float:
        """Return by how much the forms of a smaller box are tighter, relative to them."""
        total = 0.0
        for goal in goals:
            forms = (self._bound(each, goal) for each in (box, smaller))
            loose, tight = (float(form @ counts) + constant for form, constant in forms)
            total += (tight - loose) / tight if tight else 0.0
        return total


def _is_positive(form: np.ndarray, constant: float) -> bool:
    """Return whether a form is above 0 for all counts."""
    return constant >= 0 and bool(form.min() > 0)


def _integer_program(
    form: np.ndarray, matrix: np.ndarray, lower: Sequence[float], upper: Sequence[float], most: np.ndarray
) -> tuple[float, np.ndarray | None]:
    """Return the least of a form of counts, within bounds of others, and the counts; None if none is within them."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    solved = milp(
        form,
        constraints=LinearConstraint(matrix, lower, upper),
        integrality=np.ones(len(form)),
        bounds=Bounds(0, most),
        # With its presolve HiGHS takes some without a solution for an error.
        options={"mip_rel_gap": 0, "presolve": False},
    )
    if solved.status not in (_SOLVED, _INFEASIBLE):
        raise ExecutionError(f"HiGHS has not solved an integer program of a placement: {solved.message}")
    return (math.inf, None) if solved.x is None else (solved.fun, np.rint(solved.x).astype(np.int64))


def _sums(slots: np.ndarray, most: np.ndarray) -> list[int]:
    """Return the numbers of workers that some counts of machines have, but for 0, in ascending order."""
    reached = 1  # bit n: n workers can be had
    for each, count in zip(slots.tolist(), most.tolist(), strict=True):
        for _ in range(count):
            reached |= reached << each
    return [place for place, bit in enumerate(reversed(f"{reached:b}")) if bit == "1"][1:]


def minimise(
    workload: Workload, offers: Sequence[Offer], goal: Goal, limits: Limits = (), *, then: Goal | None = None
) -> Solution | None:
    """Return the counts of machines that make a goal least within limits of others; None if nothing is within them.

    Clusters of one type are tried one by one, those of several searched by branch and bound, see `ClusterBranch`.

    Parameters
    ----------
    workload : Workload
    offers : sequence of Offer
    goal : Goal
    limits : sequence of (Goal, float)
        Each at most so much.
    then : Goal, optional
        What is least among the best that have the same number of workers and the same speed.

    Examples
    --------
    >>> from penstock.runs.placement.goals import goal_of
    >>> from penstock.runs.placement.machine_type import MachineType
    >>> from penstock.runs.placement.workload import LinearWorkload
    >>> machines = [MachineType(cores=2, memory="8GiB", price=1), MachineType(cores=8, memory="32GiB", price=3)]
    >>> offers = [Offer(str(each.cores), each, each.cores, 1.0, "cpu") for each in machines]
    >>> cost, time = goal_of("cost", offers), goal_of("time", offers)
    >>> minimise(LinearWorkload(serial=60.0, tasks=3600.0), offers, cost, [(time, 420.0)]).counts.tolist()
    [1, 1]
    """
    best = _best_of_one_type(workload, offers, goal, limits)
    if len(offers) > 1:
        for branch in _branches(workload, offers):
            best = branch.minimise(goal, limits, best)
    if best is None or then is None:
        return best
    slowest = min(offer.speed for offer, count in zip(offers, best.counts, strict=True) if count)
    return ClusterBranch(workload, offers, slowest).best_equal(best, goal, limits, then)


def _branches(workload: Workload, offers: Sequence[Offer]) -> Iterator[ClusterBranch]:
    """Yield a branch for each speed that the slowest machine can have; one where no training waits for it."""
    for slowest in sorted({offer.speed for offer in offers}):
        branch = ClusterBranch(workload, offers, slowest)
        yield branch
        if not branch.train.any():
            return


def _best_of_one_type(workload: Workload, offers: Sequence[Offer], goal: Goal, limits: Limits) -> Solution | None:
    """Return the best of the clusters whose machines are all of one type."""
    best: Solution | None = None
    for place, offer in enumerate(offers):
        for count in range(1, offer.machine.max + 1):
            counts = np.where(np.arange(len(offers)) == place, count, 0)
            workers = offer.slots * count
            values = [
                each.value(counts, workload.demand(workers), speed=workers * offer.speed, slowest=offer.speed)
                for each in (goal, *(each for each, _ in limits))
            ]
            within = all(value <= most * (1 + TOLERANCE) for value, (_, most) in zip(values[1:], limits, strict=True))
            if within and (best is None or values[0] < best.value * (1 - TOLERANCE)):
                best = Solution(values[0], counts)
    return best
