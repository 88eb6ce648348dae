"""Jobs of data frames, in a session of Spark Connect."""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from threading import current_thread
from typing import Any, TypeAlias
from uuid import uuid4

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from penstock import devices
from penstock.core.by_value import register_modules
from penstock.core.errors import ConfigError, WorkerLostError
from penstock.core.progress import Progress
from penstock.engines.spark.cluster import Cluster, Everywhere
from penstock.engines.spark.driver import JobPlan
from penstock.engines.spark.frames import partition_each
from penstock.engines.spark.job import CANCELLING, ENDING, Job
from penstock.engines.spark.job_errors import SettingLookup, cause
from penstock.engines.spark.pandas_warning import no_pandas_warning
from penstock.engines.spark.tasks import Outcome, PartNumbers, RunRank, unpickle_once
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


Step: TypeAlias = Callable[[Iterable[Outcome]], Iterator[Outcome]]

_SCHEMA = pa.schema([("number", pa.int64()), ("value", pa.binary()), ("place", pa.int32())])


def _stepped(
    steps: tuple[Step, ...], numbers: PartNumbers | None, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Do steps to the outcomes of a partition, in a Python worker of Spark, and yield a batch an outcome.

    By `numbers` each is given its place among the partitions of the next stage, if there is one.
    """
    outcomes: Iterator[Outcome] = (
        outcome
        for batch in batches
        for outcome in zip(batch.column("number").to_pylist(), batch.column("value").to_pylist(), strict=True)
    )
    for step in steps:
        outcomes = step(outcomes)
    for outcome in outcomes:
        place = 0 if numbers is None else numbers.place_of_group(outcome)
        yield pa.record_batch([[outcome[0]], [outcome[1]], [place]], schema=_SCHEMA)


@dataclass(frozen=True)
class FramePieces:
    """`penstock.engines.spark.driver.Pieces` in a data frame, and the steps that are still to be done to them."""

    frame: DataFrame
    variables: Mapping[str, str]
    steps: tuple[Step, ...] = ()

    @classmethod
    def of(cls, session: SparkSession, values: list[bytes], variables: Mapping[str, str]) -> FramePieces:
        """Return values by their numbers, each in a partition of its own; `variables` are set in the workers."""
        return cls(partition_each(session, values), variables)

    def then(self, step: Step) -> FramePieces:
        return replace(self, steps=(*self.steps, step))

    def meet(self, numbers: PartNumbers, partitions: int) -> FramePieces:
        frame = self.mapped(numbers).repartitionById(partitions, "place")
        return FramePieces(frame, self.variables)

    def mapped(
        self, numbers: PartNumbers | None = None, *, barrier: bool = False, profile: ResourceProfile | None = None
    ) -> DataFrame:
        """Return the frame to which the steps are done, as one stage whose tasks start together if `barrier`."""
        options: dict[str, Any] = {"barrier": barrier} | ({} if profile is None else {"profile": profile})
        work = by_value(partial(_stepped, self.steps, numbers), self.variables)
        with no_pandas_warning():
            return self.frame.mapInArrow(work, from_arrow_schema(_SCHEMA), **options)


_MOST_SLOTS = 65_536
_REACHING = 10.0


class SessionSettings:
    """The settings of a session, of which a server may keep some to itself."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def get(self, key: str, default: str, /) -> str | None:
        """Return a setting; `default` where it is not set, or not for a client to know."""
        try:
            setting: str | None = self._session.conf.get(key, default)
        except PySparkException:
            return default
        return setting


class FrameCluster(Cluster):
    """The executors behind a session of Spark Connect.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
    """

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self.settings = SessionSettings(session)
        super().__init__(self.settings.get("spark.master", "") or "", self.settings)

    @cached_property
    def host(self) -> str:
        """The address of this process by which it reaches the server.

        Raises
        ------
        ConfigError
            Workers cannot connect to it.
        """
        if self.local:
            return "127.0.0.1"
        address = _own_address(self.session.client.host)
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.create_server((address, 0), family=family) as server:
            problems = [text for text in self.everywhere(_connects(*server.getsockname()[:2]), "reach") if text]
        if problems:
            raise ConfigError(
                f"workers of Spark cannot connect to this process at {address}, as the ranks of a training do:"
                f" {problems[0]}",
                hint="Run this process in the cluster's network. What has no ranks works from here: preprocessing,"
                " LinearRegression, NaiveBayes, scores.",
                engine="spark",
            )
        return address

    @cached_property
    def slots(self) -> int:
        return len(self._tasks)

    @cached_property
    def executors(self) -> int:
        return len({(host, executor) for host, executor, _ in self._tasks})

    @cached_property
    def task_memory(self) -> int:
        memory = {host: limit for host, _, limit in self._tasks}
        return min(memory.values()) // max(1, self.slots // len(memory))

    @cached_property
    def _tasks(self) -> list[tuple[str, int, int]]:
        """Of a task for each slot the host, a number of its executor on it, and the memory that its worker may use."""
        return self.everywhere(lambda _: [(socket.gethostname(), os.getppid(), devices.memory_limit())], "survey")

    def everywhere(self, function: Everywhere, label: str) -> list[Any]:
        """Return what `function` gives in a task for each slot: as many as Spark cuts a range into unless told."""
        with no_pandas_warning():
            frame = self.session.range(_MOST_SLOTS).mapInArrow(_once(function), "found binary")
        with FrameJob(frame, label, self.settings) as job:
            return [found for (data,) in job.rows_of("Spark") for found in cloudpickle.loads(data)]


def _once(function: Everywhere) -> Any:
    """Return a function for a partition, pickled by value so that it also runs where Penstock cannot be imported."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pickle

        import pyarrow

        rows = sum(batch.num_rows for batch in batches)
        found = pickle.dumps(list(function(iter(range(rows)))))
        yield pyarrow.record_batch({"found": [found]})

    return run


def _connects(host: str, port: int) -> Everywhere:
    """Return a function that tries to connect, and gives why it could not; nothing where it could."""

    def connect(_: Iterator[Any]) -> list[str]:
        try:
            socket.create_connection((host, port), timeout=_REACHING).close()
        except OSError as error:
            return [f"{socket.gethostname()}: {error}"]
        return []

    return connect


def _own_address(server: str) -> str:
    """Return the address of this machine on the way to a server; nothing is sent."""
    family, kind, _, _, address = socket.getaddrinfo(server.strip("[]"), 1, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as way:
        way.connect(address)
        return str(way.getsockname()[0])


Batches = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class Enclosed:
    """An object that travels pickled in the function of a job, and is unpickled once in each Python worker."""

    key: str
    data: bytes

    @classmethod
    def of(cls, value: Any) -> Enclosed:
        """Return a value ready to be sent."""
        register_modules(cloudpickle)
        return cls(uuid4().hex, cloudpickle.dumps(value))

    def value(self) -> Any:
        """Return the object."""
        return unpickle_once(self.key, lambda: self.data)


def by_value(work: Batches, variables: Mapping[str, str]) -> Batches:
    """Return a function that does `work`, and sets variables of the environment before it imports what that needs.

    ``PYTHONPATH`` is for the worker itself too, which has started.
    """
    pickled, variables = cloudpickle.dumps(work), dict(variables)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os
        import pickle
        import sys

        os.environ.update(variables)
        sys.path += [path for path in variables.get("PYTHONPATH", "").split(os.pathsep) if path not in sys.path]
        yield from pickle.loads(pickled)(batches)

    return run


class FrameJob(Job):
    """Collects a data frame of Spark Connect.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    label : str
    settings : SettingLookup
    tasks : int
        Of the stage whose progress is followed; 0 where none is.
    """

    def __init__(self, frame: DataFrame, label: str, settings: SettingLookup, tasks: int = 0) -> None:
        super().__init__(label, (), settings)
        self._frame, self._session = frame, frame.sparkSession
        self._tasks, self._completed = tasks, 0

    def collect(self) -> list[Any]:
        """Return a tuple a row."""
        self._session.addTag(self.name)
        self._session.registerProgressHandler(self._follow)
        try:
            table = self._frame.toArrow()
        finally:
            self._session.removeProgressHandler(self._follow)
            self._session.removeTag(self.name)
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def completed(self) -> int:
        return self._completed

    def stop(self, patience: float = ENDING) -> None:
        if self.wait(patience):
            return
        with suppress(PySparkException):  # the server is gone
            self._session.interruptTag(self.name)
        self.wait(CANCELLING)

    def _follow(self, stages: Iterable[Any] | None = None, **_: Any) -> None:
        """Take what the server reports of an operation, which it does in the thread that waits for it."""
        if current_thread() is self._thread:
            completed = [each.num_completed_tasks for each in stages or () if each.num_tasks == self._tasks]
            self._completed = max([self._completed, *completed])
