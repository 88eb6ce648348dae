"""How many machines of each type are best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from penstock.runs.placement.branch import TOLERANCE, ClusterBranch, Limits, Solution
from penstock.runs.placement.goals import Goal
from penstock.runs.placement.offers import Offer
from penstock.runs.placement.workload import Workload


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
