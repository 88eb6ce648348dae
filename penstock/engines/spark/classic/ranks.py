"""Ranks as the tasks of one stage: a barrier stage, of which Spark starts all tasks at the same time or none."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

from penstock.engines.spark.classic.cluster import RddCluster, fix_environment
from penstock.engines.spark.classic.job import RddJob
from penstock.engines.spark.classic.shipping import Broadcasted
from penstock.engines.spark.tasks import RunRank
from penstock.spmd import Assignment, RankAssignment

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
