"""What an engine asks of a Spark session: one whose JVM this process drives, or one of Spark Connect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from penstock.core.errors import ConfigError
from penstock.engines.spark.session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.core.progress import Progress
    from penstock.engines.spark.cluster import Cluster
    from penstock.engines.spark.tasks import Outcome, PartNumbers, Shared
    from penstock.frames import Kind
    from penstock.spmd import Assignment, Launch, RankAssignment


class Pieces(Protocol):
    """Numbered pickled values in the partitions of a job that has not run."""

    def then(self, step: Callable[[Iterable[Outcome]], Iterator[Outcome]]) -> Self:
        """Return what a step makes of each partition."""

    def meet(self, numbers: PartNumbers, partitions: int) -> Self:
        """Return the same pieces, those that `numbers` merges into one in one of so many partitions."""


AnyPieces = TypeVar("AnyPieces", bound=Pieces)


class JobPlan(Protocol):
    """What a job does to its items, each pickled and in a partition of its own."""

    def __call__(self, pieces: AnyPieces, shared: Shared) -> AnyPieces:
        """Return what is to be collected; `shared` is for the steps."""


class Driver(Protocol):
    """Runs the jobs of an engine in a Spark session."""

    @property
    def cluster(self) -> Cluster:
        """The executors behind the session."""

    def facts(self) -> dict[str, Any]:
        """Return what a reader of a notebook wants to know of the session; None for what is not known."""

    def naming_lost(self, label: str) -> AbstractContextManager[None]:
        """Raise WorkerLostError in place of whatever fails inside because Spark itself is gone."""

    def describe(self, label: str | None) -> None:
        """Name the jobs that this thread starts from now on, for Spark's pages."""

    def outcomes(
        self, work: Any, items: Sequence[Any], plan: JobPlan, *, kind: Kind, label: str, progress: Progress
    ) -> list[Outcome]:
        """Run one job and return its pieces, in no order; raise the first failure that is known while it runs."""

    def launch(self, label: str, places: Sequence[RankAssignment], assignment: Assignment) -> Launch:
        """Start the ranks of a gang, each a task of one stage, all at the same time."""


def driver_of(session: SparkSession, pool: str | None = None) -> Driver:
    """Return the driver for a session, by its kind.

    Raises
    ------
    ConfigError
        The session is of Spark Connect, and `pool` is given.
    """
    if is_connect(session):
        if pool is not None:
            raise ConfigError(
                f"pool is {pool!r}, but a client of Spark Connect has no say in the pool of its jobs",
                hint="Leave pool out, or use a session whose driver is this process.",
                engine="spark",
            )
        from penstock.engines.spark.connect.driver import FrameDriver

        return FrameDriver(session)
    from penstock.engines.spark.classic.driver import RddDriver

    return RddDriver(session, pool)
