"""Tasks of a run as arrays, with the slot of a worker that each ran in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from penstock.core.recording import PHASES
from penstock.runs.analysis.intervals import Floats
from penstock.runs.run import Run

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TaskArrays:
    """Tasks as arrays, in the order of the record.

    Attributes
    ----------
    start : array of float
        Seconds since the run began.
    seconds : array of float
    phases : array of float of shape (tasks, phases)
        Seconds, in the order of `PHASES`.
    span : array of int
        The place of the scan or the training.
    slot : array of int
        The place in `slots`.
    slots : list of (str, int)
        Workers and their slots, in ascending order.
    """

    start: Floats
    seconds: Floats
    phases: Floats
    span: Ints
    slot: Ints
    slots: list[tuple[str, int]]

    @classmethod
    def of(cls, run: Run) -> TaskArrays:
        """Return the tasks of a run; they are made once."""
        if run not in _made:
            _made[run] = cls._make(run)
        return _made[run]

    @classmethod
    def _make(cls, run: Run) -> TaskArrays:
        tasks = run.tasks
        started = series(tasks, "start").dt.epoch("us").cast(pl.Float64).to_numpy()
        slot, slots = _slots(tasks)
        return cls(
            start=started / 1e6 - float(run.info["started"]),
            seconds=column(tasks, "seconds"),
            phases=np.column_stack([column(tasks, phase) for phase in PHASES]),
            span=column(tasks, "span").astype(np.int64),
            slot=slot,
            slots=slots,
        )

    @property
    def end(self) -> Floats:
        """Seconds since the run began."""
        return self.start + self.seconds

    def by_slot(self, values: Floats) -> Floats:
        """Return the sum of values of tasks in each slot."""
        return np.bincount(self.slot, weights=values, minlength=len(self.slots)).astype(float)


_made: WeakKeyDictionary[Run, TaskArrays] = WeakKeyDictionary()


def column(tasks: pa.Table, name: str) -> Floats:
    """Return a column of numbers; null is 0."""
    return np.asarray(series(tasks, name).cast(pl.Float64).fill_null(0.0).to_numpy())


def series(tasks: pa.Table, name: str) -> pl.Series:
    """Return a column for Polars: what pyarrow does for NumPy imports pandas first, which takes longer than a page."""
    return cast(pl.Series, pl.from_arrow(tasks[name]))


def _slots(tasks: pa.Table) -> tuple[Ints, list[tuple[str, int]]]:
    workers, numbers = series(tasks, "worker"), column(tasks, "slot").astype(np.int64)
    names, width = workers.unique().sort().to_list(), int(numbers.max(initial=0)) + 1
    codes = workers.rank("dense").to_numpy().astype(np.int64) - 1
    keys, places = np.unique(codes * width + numbers, return_inverse=True)
    return places.astype(np.int64), [(names[key // width], key % width) for key in keys.tolist()]
