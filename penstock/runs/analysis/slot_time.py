"""The time of each slot of a worker: tasks by phase, waits, what it waited for, and what is not explained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.core.recording import PHASES
from penstock.runs.analysis.intervals import Floats, Intervals
from penstock.runs.analysis.task_arrays import TaskArrays, column
from penstock.runs.run import Run


@dataclass(frozen=True)
class SlotTime:
    """Where the time of one slot of a worker went, in seconds.

    Attributes
    ----------
    worker : str
    slot : int
    tasks : int
        Tasks, merges and ranks.
    wall : float
        From the start of the first span of the run to the end of the last one.
    phases : mapping of str to float
        Of its tasks, without those that are 0.
    wait_for_task : float
        During scans and trainings, before a task of its own: it had nothing to do, or its task was on its way.
    wait_for_others : float
        During scans and trainings, after its last task: others were at work.
    query : float
        Outside of scans and trainings, while the engine ran a query, which has no tasks in a record.
    driver : float
        Outside of all these, while the process that records was in a step.
    peak_memory : int
        Bytes that its process had at most.

    Notes
    -----
    What is `unexplained` is `wall` less all these. It is the time that no span covers, that of tasks which their phases
    do not add up to, and what the clocks of two machines disagree by. So a record with a gap explains less than 1.
    """

    worker: str
    slot: int
    tasks: int
    wall: float
    phases: Mapping[str, float]
    wait_for_task: float
    wait_for_others: float
    query: float
    driver: float
    peak_memory: int

    @property
    def busy(self) -> float:
        """The sum of the phases."""
        return sum(self.phases.values())

    @property
    def wait(self) -> float:
        """Both waits."""
        return self.wait_for_task + self.wait_for_others

    @property
    def unexplained(self) -> float:
        """Seconds that have no name; what is counted twice counts as well."""
        return abs(self.wall - self.busy - self.wait - self.query - self.driver)

    @property
    def explained(self) -> float:
        """The share of `wall` that has a name, from 0 to 1; 1 where there is no time at all."""
        return max(0.0, 1.0 - self.unexplained / self.wall) if self.wall else 1.0


def slot_times(run: Run) -> list[SlotTime]:
    """Return where the time of each slot went, by worker and slot; those without a task are not known of.

    Examples
    --------
    >>> import tempfile, penstock as ps, pyarrow as pa
    >>> rows = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1, 2, 3]}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ps.runs.record(folder) as recording:
    ...         frame = rows.to_polars()
    ...     run = ps.runs.Run.load(recording.path)
    >>> [(each.slot, each.tasks, each.driver) for each in slot_times(run)]
    [(0, 1, 0.0)]
    """
    tasks, origin = TaskArrays.of(run), float(run.info["started"])
    layers = [("scan", "train"), ("scan", "train", "query"), ("scan", "train", "query", "step")]
    scans, queries, spans = (Intervals.of_spans(run.spans, origin, kinds) for kinds in layers)
    wall = float(spans.ends[-1] - spans.starts[0]) if spans.starts.size else 0.0
    waits, with_query, every = (_idle(tasks, each) for each in (scans, queries, spans))
    before = tasks.by_slot(column(run.tasks, "wait"))
    phases = np.column_stack([tasks.by_slot(tasks.phases[:, place]) for place in range(len(PHASES))])
    counts, peaks = tasks.by_slot(np.ones_like(tasks.seconds)), _peaks(run, tasks)
    return [
        SlotTime(
            worker=worker,
            slot=slot,
            tasks=int(counts[place]),
            wall=wall,
            phases={name: float(each) for name, each in zip(PHASES, phases[place], strict=True) if each},
            wait_for_task=float(before[place]),
            wait_for_others=max(0.0, float(waits[place] - before[place])),
            query=max(0.0, float(with_query[place] - waits[place])),
            driver=max(0.0, float(every[place] - with_query[place])),
            peak_memory=int(peaks[place]),
        )
        for place, (worker, slot) in enumerate(tasks.slots)
    ]


def _idle(tasks: TaskArrays, spans: Intervals) -> Floats:
    """Return how much of the spans each slot has no task in."""
    return spans.length - tasks.by_slot(spans.within(tasks.start, tasks.end))


def _peaks(run: Run, tasks: TaskArrays) -> Floats:
    peaks = np.zeros(len(tasks.slots))
    np.maximum.at(peaks, tasks.slot, column(run.tasks, "peak_memory"))
    return peaks
