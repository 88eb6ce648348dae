"""Jobs of RDDs, in a session whose JVM this process drives."""

from __future__ import annotations

import pickle
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import RDD, Accumulator, AccumulatorParam, Broadcast, SparkContext, cloudpickle
from pyspark.sql import SparkSession

from penstock import devices
from penstock.core.by_value import register_modules
from penstock.core.errors import WorkerLostError
from penstock.core.notices import get_logger
from penstock.core.progress import Progress
from penstock.engines.spark.classic.job import RddJob
from penstock.engines.spark.cluster import Cluster, Everywhere
from penstock.engines.spark.driver import JobPlan
from penstock.engines.spark.python_workers import lend_imports
from penstock.engines.spark.tasks import Failure, Outcome, PartNumbers, RunRank, unpickle_once
from penstock.engines.stragglers import Stragglers
from penstock.frames import Kind
from penstock.spmd import Assignment, Launch, RankAssignment

_POOL = "spark.scheduler.pool"

logger = get_logger(__name__)


@dataclass(frozen=True)
class RddPieces:
    """`penstock.engines.spark.driver.Pieces` in an RDD."""

    rdd: RDD[Outcome]

    def then(self, step: Callable[[Iterable[Outcome]], Iterator[Outcome]]) -> RddPieces:
        return RddPieces(self.rdd.mapPartitions(step))

    def meet(self, numbers: PartNumbers, partitions: int) -> RddPieces:
        placed = self.rdd.keyBy(numbers.place_of_group)
        return RddPieces(placed.partitionBy(partitions, int).values())


class RddDriver:
    """A `penstock.engines.spark.driver.Driver` over the context of a session.

    Parameters
    ----------
    session : SparkSession
    pool : str, optional
        Of Spark's fair scheduler, for the jobs of this driver.
    """

    def __init__(self, session: SparkSession, pool: str | None = None) -> None:
        self._context, self._pool = session.sparkContext, pool
        self.cluster = RddCluster(self._context)
        mode = self._context.getConf().get("spark.scheduler.mode", "FIFO")
        if pool is not None and mode != "FAIR":
            logger.warning("pool is %r, and has no effect: spark.scheduler.mode is %s, not FAIR", pool, mode)

    def facts(self) -> dict[str, Any]:
        return {"master": self._context.master, "pages": self._context.uiWebUrl}

    @contextmanager
    def naming_lost(self, label: str) -> Iterator[None]:
        with naming_lost_jvm(self._context, label), _in_pool(self._context, self._pool):
            yield

    def describe(self, label: str | None) -> None:
        self._context.setJobDescription(label)

    def launch(self, label: str, places: Sequence[RankAssignment], assignment: Assignment) -> Launch:
        return StageLaunch(self.cluster, label, places, assignment)

    def outcomes(
        self, work: Any, items: Sequence[Any], plan: JobPlan, *, kind: Kind, label: str, progress: Progress
    ) -> list[Outcome]:
        """Run one job; a failure that a task reports while it runs ends it."""
        with self.naming_lost(label), closing(Broadcasted.of(self._context, work)) as shipped:
            pickled = [(index, cloudpickle.dumps(item)) for index, item in enumerate(items)]
            failures = self._context.accumulator([], Failures())
            with self.cluster.environment(self.cluster.task_cpus):
                pieces = RddPieces(self._context.parallelize(pickled, len(pickled)))
                rdd = fix_environment(plan(pieces, (shipped, kind, failures)).rdd)
            return self._collect(rdd, failures, label, items, progress)

    def _collect(
        self, rdd: RDD[Outcome], failures: Accumulator[Any], label: str, items: Sequence[Any], progress: Progress
    ) -> list[Outcome]:
        total = len(items)
        with progress.track(label, total) as track, RddJob(self._context, rdd, label, items) as job:
            stragglers = Stragglers(label, items, total, StageTimes(self._context, job), progress.note)

            def look() -> None:
                if failures.value:
                    min(failures.value, key=lambda failure: failure.index).throw()
                stragglers.look()

            return job.followed(track, total, look)


@contextmanager
def _in_pool(context: SparkContext, pool: str | None) -> Iterator[None]:
    """Have the jobs that this thread starts inside, and threads that it makes there, run in a pool, if one is given."""
    if pool is None:
        yield
        return
    before: Any = context.getLocalProperty(_POOL)
    context.setLocalProperty(_POOL, pool)
    try:
        yield
    finally:
        context.setLocalProperty(_POOL, before)


@contextmanager
def naming_lost_jvm(context: SparkContext, label: str) -> Iterator[None]:
    """Raise WorkerLostError in place of whatever fails inside because the JVM is gone.

    One that this process did not start, as that of spark-submit, is gone where it refuses connections.
    """
    try:
        yield
    except Exception as error:
        end = _end(context, error)
        if end is None:
            raise
        raise WorkerLostError(
            f"{label} lost Spark: its JVM {end}",
            hint="Look at its messages on stderr, and whether the machine ran out of memory. In this process Spark does"
            " not start again: start a new one.",
            engine="spark",
        ) from error


def _end(context: SparkContext, error: Exception) -> str | None:
    """Return how the JVM ended; None while it answers."""
    process = getattr(context._gateway, "proc", None)
    code = None if process is None else process.poll()
    if code is None:
        return "does not answer" if isinstance(error, Py4JNetworkError | ConnectionError) else None
    return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"


_SPARK = "org.apache.spark.SparkException: "
_REPLACING = 60.0
"""Seconds in which another executor is expected to come in place of one that was lost."""


class StageLaunch:
    """A `penstock.spmd.Launch` of RDDs.

    Where executors come and go by themselves Spark refuses barrier stages, and starts the tasks one by one as executors
    come: the coordinator waits for all of them either way.

    Parameters
    ----------
    cluster : RddCluster
    label : str
        What the Spark UI calls the job.
    places : sequence of RankAssignment
        One a rank.
    assignment : Assignment
        Sent to each executor once.
    """

    def __init__(
        self, cluster: RddCluster, label: str, places: Sequence[RankAssignment], assignment: Assignment
    ) -> None:
        cluster.await_room(assignment.kind, len(places), min(_REPLACING, places[0].start_timeout))
        context, profile = cluster.context, cluster.rank_profile(assignment.kind)
        self._shipped = Broadcasted.of(context, assignment)
        rdd = context.parallelize([(place.index, pickle.dumps(place)) for place in places], len(places))
        if profile is not None:
            rdd = rdd.withResources(profile)
        with cluster.environment(assignment.threads):
            stage = rdd if cluster.is_elastic else rdd.barrier()
            ranks = fix_environment(stage.mapPartitions(RunRank(self._shipped, assignment.threads)))
        self._job = RddJob(context, ranks, label).start()

    def problem(self) -> str | None:
        """Return why Spark has given up on the stage, or on a rank, which it would begin again by itself."""
        ended = self._job.problem()
        return self._job.setback() if ended is None else f"Spark gave up on the ranks: {ended.removeprefix(_SPARK)}"

    def stop(self) -> None:
        """Cancel what still runs, frozen ranks too, and wait until the slots are free."""
        self._job.stop()
        self._shipped.close()


_MOST = 1000
_BY_DURATION = "dur"


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


class Failures(AccumulatorParam[list[Failure]]):
    """Reports failures to the driver as they happen, so that it need not wait for the end of the job."""

    def zero(self, value: list[Failure]) -> list[Failure]:
        """Return no failures."""
        return []

    def addInPlace(self, value1: list[Failure], value2: list[Failure]) -> list[Failure]:  # noqa: N802
        """Return the failures of both."""
        return value1 + value2


@dataclass(frozen=True)
class Broadcasted:
    """An object sent once to each executor, and unpickled once in each Python worker for all its tasks."""

    key: str
    broadcast: Broadcast[bytes]

    @classmethod
    def of(cls, context: SparkContext, value: Any) -> Broadcasted:
        """Return a value ready to be sent; to be closed when no task needs it any more."""
        register_modules(cloudpickle)
        return cls(uuid4().hex, context.broadcast(cloudpickle.dumps(value)))

    def close(self) -> None:
        """Remove it from the driver and the executors."""
        self.broadcast.destroy()

    def value(self) -> Any:
        """Return the object."""
        return unpickle_once(self.key, lambda: self.broadcast.value)


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
