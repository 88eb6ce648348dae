"""A job of RDDs: watched by the tracker of Spark's context, cancelled by its group."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any

from pyspark import RDD, InheritableThread, SparkContext, SparkStageInfo

from penstock.engines.spark.job import CANCELLING, ENDING, Job


class RddJob(Job):
    """Collects an RDD.

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
        super().__init__(label, items, context.getConf(), InheritableThread)
        self._context, self._rdd = context, rdd

    def collect(self) -> list[Any]:
        self._context.setJobGroup(self.name, self.label, interruptOnCancel=False)
        return self._rdd.collect()

    def completed(self) -> int:
        stage = self.first_stage()
        info = None if stage is None else self._context.statusTracker().getStageInfo(stage)
        return 0 if info is None else int(info.numCompletedTasks)

    def first_stage(self) -> int | None:
        """Return the number of the job's first stage, once Spark has begun."""
        return min(self._stages(), default=None)

    def stop(self, patience: float = ENDING) -> None:
        """Cancel the job unless it ends by itself within `patience`; wait, not for ever, until its slots are free.

        Spark kills the Python workers of cancelled tasks after two seconds, and frozen ones too: the tasks' threads in
        the JVM must not be interrupted for that, or they leave their worker behind.
        """
        if self.wait(patience) and self.problem() is None:
            return
        deadline = time.monotonic() + CANCELLING
        while True:
            self._context.cancelJobGroup(self.name)  # again, as Spark forgets it where the job is not submitted yet
            if (self.has_ended and not self._active()) or time.monotonic() > deadline:
                return
            time.sleep(0.05)

    def failed_item(self, text: str) -> int | None:
        """Return the item that the failed task worked on, if it was one of the first stage."""
        task = re.search(r"Task (\d+) in stage (\d+)\.", text)
        return int(task[1]) if task and int(task[2]) == self.first_stage() else None

    def setback(self) -> str | None:
        """Return what Spark has begun again, if anything: a stage as a whole, as it does of barriers, or tasks."""
        for info in self._infos():
            if info.currentAttemptId > 0:
                return f"Spark lost a worker of stage {info.stageId} and begins the stage again"
            if info.numFailedTasks > 0:
                return f"Spark lost {info.numFailedTasks} task(s) of stage {info.stageId}: an executor or worker ended"
        return None

    def _active(self) -> int:
        return sum(info.numActiveTasks for info in self._infos())

    def _infos(self) -> list[SparkStageInfo]:
        infos = (self._context.statusTracker().getStageInfo(stage) for stage in self._stages())
        return [info for info in infos if info is not None]

    def _stages(self) -> list[int]:
        tracker = self._context.statusTracker()
        infos = (tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(self.name))
        return [stage for info in infos if info is not None for stage in info.stageIds]
