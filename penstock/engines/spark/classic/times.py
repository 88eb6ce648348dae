"""How long the tasks of a Spark job take, from what Spark keeps for its pages, whether it shows them or not."""

from __future__ import annotations

import time
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext

from penstock.core.notices import get_logger
from penstock.engines.spark.classic.job import RddJob

_MOST = 1000
_BY_DURATION = "dur"

logger = get_logger(__name__)


class StageTimes:
    """The times of the tasks of a job's first stage, one for each item, by their partitions.

    Spark promises nobody the methods that give them. Where a version has others, nothing is known.
    """

    def __init__(self, context: SparkContext, job: RddJob) -> None:
        self._jvm, self._spark, self._job = context._gateway.jvm, context._jsc.sc(), job

    def running(self) -> dict[int, float]:
        """Return the seconds since each task that runs was launched."""
        tasks, now = self._tasks("RUNNING", 0, _MOST, self._jvm.scala.Option.empty()), time.time()
        return {task.partitionId(): now - task.launchTime().getTime() / 1000 for task in tasks}

    def done(self) -> tuple[int, float]:
        """Return how many tasks are complete, and the median of their seconds."""
        count = self._job.completed()
        tasks = self._tasks("SUCCESS", count // 2, 1, self._jvm.scala.Option.apply(_BY_DURATION))
        return next(((count, float(task.duration().get()) / 1000) for task in tasks), (0, 0.0))

    def _tasks(self, status: str, first: int, count: int, order: Any) -> list[Any]:
        stage = self._job.first_stage()
        if stage is None:
            return []
        try:
            store, statuses = self._spark.statusStore(), self._jvm.java.util.ArrayList()
            statuses.add(self._jvm.org.apache.spark.status.api.v1.TaskStatus.valueOf(status))
            attempt = store.lastStageAttempt(stage).attemptId()
            tasks = store.taskList(stage, attempt, first, count, order, True, statuses)
            return [tasks.apply(place) for place in range(tasks.size())]
        except Py4JError as error:
            logger.debug("Spark does not tell the times of tasks: %s", error)
            return []
