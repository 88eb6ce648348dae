"""A Spark job in a thread of its own, so that its caller can watch it, give up on it and be interrupted."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any, Self
from uuid import uuid4

from pyspark import RDD, InheritableThread, SparkContext

from penstock.core.errors import ExecutionError, PenstockError
from penstock.dataset.task_errors import NO_MODULE
from penstock.engines.spark.losses import loss

_ENDING = 1.0
_CANCELLING = 20.0


class Job:
    """Collects an RDD in the background from when it is entered, and cancels what still runs when it is left.

    Parameters
    ----------
    context : SparkContext
    rdd : RDD
    label : str
        What the Spark UI calls the job.
    items : sequence, optional
        What the tasks of its first stage work on.
    """

    def __init__(self, context: SparkContext, rdd: RDD[Any], label: str, items: Sequence[Any] = ()) -> None:
        self._context, self._rdd, self._label, self._items = context, rdd, label, items
        self._group = f"penstock-{uuid4().hex}"
        self._rows: list[Any] = []
        self._error: Exception | None = None
        self._thread = InheritableThread(target=self._collect, name="penstock-spark-job", daemon=True)

    def start(self) -> Self:
        """Submit the job."""
        self._thread.start()
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop(patience=0.0)

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the job, at most so long; return whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def rows(self) -> list[Any]:
        """Return what was collected, once the job has ended.

        Raises
        ------
        WorkerLostError
            A worker died as often as Spark tries a task; MemoryLimitError where Spark says that it was for memory.
        ExecutionError
            The job failed otherwise; the message is the last line of the traceback on the worker.
        """
        if self._error is not None:
            raise self._told(self._error) from self._error
        return self._rows

    def problem(self) -> str | None:
        """Return why the job failed, if it has."""
        return None if self._error is None else cause(self._error)

    def completed(self) -> int:
        """Return how many tasks of the job's first stage are complete."""
        stage = self.first_stage()
        info = None if stage is None else self._context.statusTracker().getStageInfo(stage)
        return 0 if info is None else int(info.numCompletedTasks)

    def first_stage(self) -> int | None:
        """Return the number of the job's first stage, once Spark has begun."""
        return min(self._stages(), default=None)

    def stop(self, patience: float = _ENDING) -> None:
        """Cancel the job unless it ends by itself within `patience`; wait, not for ever, until its slots are free.

        Spark kills the Python workers of cancelled tasks after two seconds, and frozen ones too: the tasks' threads in
        the JVM must not be interrupted for that, or they leave their worker behind.
        """
        if self.wait(patience) and self._error is None:
            return
        self._context.cancelJobGroup(self._group)
        deadline = time.monotonic() + _CANCELLING
        while time.monotonic() < deadline and (self._thread.is_alive() or self._active()):
            time.sleep(0.05)

    def _collect(self) -> None:
        try:
            self._context.setJobGroup(self._group, self._label, interruptOnCancel=False)
            self._rows = self._rdd.collect()
        except Exception as error:
            self._error = error

    def _told(self, error: Exception) -> PenstockError:
        text, reason = str(error), cause(error)
        place = self._blamed(text)
        item = None if place is None or place >= len(self._items) else self._items[place]
        if (lost := loss(self._label, text, reason, item, dict(self._context.getConf().getAll()))) is not None:
            return lost.at(partition=place)
        hint = NO_MODULE if reason.startswith(ModuleNotFoundError.__name__) else None
        return ExecutionError(f"{self._label} failed: {reason}", hint=hint, engine="spark")

    def _blamed(self, text: str) -> int | None:
        """Return the item that the failed task worked on, if it was one of the first stage."""
        task = re.search(r"Task (\d+) in stage (\d+)\.", text)
        return int(task[1]) if task and int(task[2]) == self.first_stage() else None

    def _active(self) -> int:
        infos = (self._context.statusTracker().getStageInfo(stage) for stage in self._stages())
        return sum(info.numActiveTasks for info in infos if info is not None)

    def _stages(self) -> list[int]:
        tracker = self._context.statusTracker()
        infos = (tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(self._group))
        return [stage for info in infos if info is not None for stage in info.stageIds]


def cause(error: Exception) -> str:
    r"""Return the line that tells why Spark failed, out of some hundred lines of JVM and Python tracebacks.

    Examples
    --------
    >>> text = "calling o1.x\n: org.apache.spark.SparkException: Job aborted\nTraceback (most recent call last):"
    >>> cause(Exception(text + "\n  File ...\nValueError: too hot\n\n\tat org.apache.spark.api..."))
    'ValueError: too hot'
    """
    head = re.split(r"\n\s+at ", str(error))[0]
    _, _, python = head.rpartition("Traceback (most recent call last):")
    if python != head:
        told = [line for line in python.splitlines() if line.strip() and not line.startswith((" ", "\t"))]
        return " ".join(line for line in told if "SQLSTATE" not in line)
    java = [line for line in head.splitlines() if line.startswith(": ")]
    return (java or head.splitlines() or [type(error).__name__])[0].removeprefix(": ")
