"""The executors behind the context of a session: counted by Spark's own scheduler, in this process' JVM."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from pyspark import RDD, SparkContext

from penstock import devices
from penstock.engines.spark.classic.job import RddJob
from penstock.engines.spark.cluster import Cluster, Everywhere
from penstock.engines.spark.python_workers import lend_imports

_SURVEYED = 64

_building = threading.Lock()


class RddCluster(Cluster):
    """The executors behind a Spark context.

    Parameters
    ----------
    context : SparkContext
    """

    def __init__(self, context: SparkContext) -> None:
        self.context = context
        self._conf = context.getConf()
        super().__init__(context.master, self._conf)
        lend_imports()

    @property
    def host(self) -> str:
        return "127.0.0.1" if self.local else str(self._conf.get("spark.driver.host"))

    @property
    def slots(self) -> int:
        scala = self.context._jsc.sc()
        return int(scala.maxNumConcurrentTasks(scala.resourceProfileManager().defaultResourceProfile()))

    @property
    def executors(self) -> int:
        known = len(self.context._jsc.sc().statusTracker().getExecutorInfos())
        return max(1, known - 1) if self.in_one_process else known - 1

    @cached_property
    def task_memory(self) -> int:
        machines = dict(self.everywhere(lambda _: [(socket.gethostname(), devices.memory_limit())], "ask for memory"))
        shares = [min(machines.values()) // max(1, self.slots // len(machines))]
        allowed = self.context._jsc.sc().conf().getSizeAsMb("spark.executor.pyspark.memory", "0") * 2**20
        if allowed:
            shares.append(allowed // max(1, self.slots // self.executors))
        return int(min(shares))

    def await_executors(self) -> None:
        setting = "spark.scheduler.maxRegisteredResourcesWaitingTime"
        seconds = self.context._jsc.sc().conf().getTimeAsSeconds(setting, "30s")
        deadline = time.monotonic() + seconds
        while self.executors < self._asked_for() and time.monotonic() < deadline:
            time.sleep(0.1)

    def await_room(self, kind: str, ranks: int, seconds: float) -> None:
        """Wait until so many ranks can start, at most so long: a barrier stage that cannot, Spark tries every 15 s."""
        deadline = time.monotonic() + seconds
        while not self.is_elastic and self.ranks(kind) < ranks and time.monotonic() < deadline:
            time.sleep(0.2)

    def everywhere(self, function: Everywhere, label: str) -> list[Any]:
        tasks = min(_SURVEYED, max(1, self.slots))
        with self.environment(self.task_cpus):
            rdd = fix_environment(self.context.parallelize(range(tasks), tasks).mapPartitions(function))
        with RddJob(self.context, rdd, label) as job:
            return job.rows_of(self.context.master)

    @contextmanager
    def environment(self, threads: int) -> Iterator[None]:
        """Give the Python workers of RDDs and frames that are built inside their `variables`.

        Jobs of others on the same session keep their threads: Spark starts other workers for another environment.
        """
        with _building:
            before = dict(self.context.environment)
            self.context.environment.update(self.variables(threads))
            try:
                yield
            finally:
                self.context.environment.clear()
                self.context.environment.update(before)

    def _asked_for(self) -> int:
        if self.is_elastic:  # Spark asks for them when there is work
            return 0
        size = re.match(r"local-cluster\[\s*(\d+)", self.context.master)
        return int(size[1]) if size else int(self._conf.get("spark.executor.instances", "1") or 1)


def fix_environment(rdd: RDD[Any]) -> RDD[Any]:
    """Return the RDD, its function pickled together with the environment of this moment."""
    rdd.id()
    return rdd
