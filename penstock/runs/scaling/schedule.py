"""When tasks end that workers take as they are free, and what the tree merges that their results go through."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import NamedTuple

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
