"""Jobs of RDDs, in a session whose JVM this process drives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark import RDD, Accumulator, SparkContext, cloudpickle
from pyspark.sql import SparkSession

from penstock.core.notices import get_logger
from penstock.core.progress import Progress
from penstock.engines.spark.classic.cluster import RddCluster, fix_environment
from penstock.engines.spark.classic.job import RddJob
from penstock.engines.spark.classic.jvm import naming_lost_jvm
from penstock.engines.spark.classic.ranks import StageLaunch
from penstock.engines.spark.classic.shipping import Broadcasted, Failures
from penstock.engines.spark.classic.times import StageTimes
from penstock.engines.spark.driver import JobPlan
from penstock.engines.spark.hash_partitioned import PartNumbers
from penstock.engines.spark.tasks import Outcome
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
