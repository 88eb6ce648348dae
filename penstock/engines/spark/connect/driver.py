"""Jobs of data frames, in a session of Spark Connect."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from penstock.core.errors import ConfigError, WorkerLostError
from penstock.core.progress import Progress
from penstock.engines.spark.connect.by_value import Enclosed
from penstock.engines.spark.connect.cluster import FrameCluster
from penstock.engines.spark.connect.job import FrameJob
from penstock.engines.spark.connect.outcomes import FramePieces
from penstock.engines.spark.driver import JobPlan
from penstock.engines.spark.job_errors import cause
from penstock.engines.spark.tasks import Outcome, RunRank
from penstock.frames import Kind
from penstock.spmd import Assignment, Launch, RankAssignment

_LEAST = (4, 1)
"""The first version of Spark that lets a frame say which partition a row goes to."""


class FrameDriver:
    """A `penstock.engines.spark.driver.Driver` over data frames.

    Raises
    ------
    ConfigError
        The server is of a version that has not what this needs.
    """

    def __init__(self, session: SparkSession) -> None:
        version = session.version
        if tuple(int(part) for part in version.split(".")[:2]) < _LEAST:
            raise ConfigError(
                f"the server of Spark Connect is Spark {version}, expected 4.1 or newer",
                hint="model.transform(frame) and model.to_spark_udf() work with it.",
                engine="spark",
            )
        self._session = session
        self.cluster = FrameCluster(session)

    def facts(self) -> dict[str, Any]:
        return {"master": self.cluster.master or None, "Spark Connect": self._session.client.host}

    @contextmanager
    def naming_lost(self, label: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if not _is_lost(error):
                raise
            raise WorkerLostError(
                f"{label} lost Spark: its server of Spark Connect does not answer: {cause(error)}",
                hint="Look at the server's log, and make a new session.",
                engine="spark",
            ) from error

    def describe(self, label: str | None) -> None:
        """Do nothing: a client has no say in what Spark's pages call its jobs."""

    def outcomes(
        self, work: Any, items: Sequence[Any], plan: JobPlan, *, kind: Kind, label: str, progress: Progress
    ) -> list[Outcome]:
        """Run one job to its end; failures are among its pieces."""
        total = len(items)
        pickled = [cloudpickle.dumps(item) for item in items]
        pieces = FramePieces.of(self._session, pickled, self.cluster.variables(self.cluster.task_cpus))
        frame = plan(pieces, (Enclosed.of(work), kind, None)).mapped().select("number", "value")
        with (
            self.naming_lost(label),
            progress.track(label, total) as track,
            FrameJob(frame, label, self.cluster.settings, total) as job,
        ):
            return [(number, bytes(value)) for number, value in job.followed(track, total)]

    def launch(self, label: str, places: Sequence[RankAssignment], assignment: Assignment) -> Launch:
        """Start the ranks as one barrier stage, or one after the other where executors come and go."""
        pickled = [pickle.dumps(place) for place in places]
        ranks = FramePieces.of(self._session, pickled, self.cluster.variables(assignment.threads))
        stage = ranks.then(RunRank(Enclosed.of(assignment), assignment.threads)).mapped(
            barrier=not self.cluster.is_elastic, profile=self.cluster.rank_profile(assignment.kind)
        )
        return FrameJob(stage, label, self.cluster.settings).start()


def _is_lost(error: BaseException | None) -> bool:
    """Return whether an error, or what it is from, says that the server cannot be reached."""
    while error is not None:
        if "StatusCode.UNAVAILABLE" in str(error) or type(error).__name__ == "RetriesExceeded":
            return True
        error = error.__cause__ or error.__context__
    return False
