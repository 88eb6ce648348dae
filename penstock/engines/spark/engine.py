"""The engine on Spark: Spark places and retries tasks, its Python workers read the files and compute."""

from __future__ import annotations

try:
    import pyspark  # noqa: F401
except ImportError as error:
    from penstock.core.errors import MissingExtraError
    from penstock.core.extras import how_to_install

    raise MissingExtraError(f"PySpark cannot be imported: {error}", hint=how_to_install("spark")) from error

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakSet

from pyspark import sql
from pyspark.sql import DataFrame, SparkSession

from penstock.core.errors import ConfigError, ExecutionError, WorkerLostError, class_name
from penstock.core.progress import Progress, usual_progress
from penstock.core.scheduler import PartitionedWork, Usage
from penstock.dataset.dataset import Dataset
from penstock.dataset.relations.relation import settled
from penstock.dataset.task_errors import translate_errors
from penstock.engines.base import ARITY, Item, Reduction, Result, State, TreeReduction
from penstock.engines.querying import QueryEngine, conformed, read_staged
from penstock.engines.reading import owning
from penstock.engines.relational import RelationalEngine
from penstock.engines.spark import session as spark_session
from penstock.engines.spark.carriers import arrow_schema, as_declared, with_arrays
from penstock.engines.spark.driver import AnyPieces, JobPlan, driver_of
from penstock.engines.spark.frames import frame_of
from penstock.engines.spark.pandas_warning import no_pandas_warning
from penstock.engines.spark.query import WRITING, SparkQueries, set_for
from penstock.engines.spark.staging import write_rows
from penstock.engines.spark.tasks import (
    Apply,
    ApplyParts,
    Forget,
    Merge,
    Outcome,
    PartNumbers,
    Prune,
    Shared,
    merge_by_eights,
    open_outcome,
)
from penstock.frames.interchange import refuse_stream
from penstock.io.sinks.staging_place import StagingFolder
from penstock.spmd import Body, SpmdOptions, run_gang


class SparkEngine(RelationalEngine):
    """Runs tasks in the Python workers of a Spark session, each on the cores of its task, or on its GPU.

    Parameters
    ----------
    session : SparkSession, optional
        An existing session, of Spark Connect too; `close` leaves it running. Without it the one that runs in this
        process is used in the same way; if there is none, one is started, and stopped by `close`. On this machine
        Python functions of the session run, from then on, on the Python of this process unless ``PYSPARK_PYTHON`` is
        set.
    conf : mapping, optional
        Spark's settings by their own names, for a session to be started: ``spark.master`` (``local[*]`` unless given
        here or to spark-submit), ``spark.app.name``, ... On this machine it listens on loopback only, without a UI.
        ``spark.remote`` (or the variable ``SPARK_REMOTE``) has it started on a server of Spark Connect.
    device : {"auto", "cpu", "gpu"}, default "auto"
        Asked of the workers; the driver needs no GPU.
    pool : str, optional
        The pool of Spark's scheduler for the jobs of this engine, where ``spark.scheduler.mode`` is ``FAIR``: pools
        share the executors by the weights of the application's ``fairscheduler.xml``. A name that is not in it is a
        pool of weight 1. Not on Spark Connect.
    progress : Progress, optional
    staging_dir : path or URL, optional
        Where the rows that queries make are kept: a directory that this machine and all workers share, or a folder of a
        store. On one machine the temporary directory, unless given.
    storage_options : mapping, optional
        Passed to fsspec for a `staging_dir` in a store; never shown in a message.

    Raises
    ------
    ConfigError
        There is no Java; Spark does not start; workers cannot import Penstock or have other versions; `device` is
        "gpu" and a worker has none usable; the server of Spark Connect is older than Spark 4.1, or `pool` is given.

    Notes
    -----
    A Python worker that is frozen during a scan (in a training its silence is noticed) holds up the job: Spark has no
    heartbeat of it. ``spark.python.worker.idleTimeoutSeconds`` with ``spark.python.worker.killOnIdleTimeout`` ends one
    that hands on nothing for so long, which is safe only where it is more than the slowest task takes.

    The memory of the Python workers is that of ``spark.executor.memoryOverhead``. ``spark.executor.pyspark.memory``
    limits their addresses, as ``ulimit -v`` does: a worker that Polars is refused some is aborted, and lost.

    On a session of Spark Connect jobs are data frames. Slots are counted once, when the engine is made; an error of a
    task is raised when its job has ended, and slow tasks are not told. Ranks have to reach this process, so that
    trainers other than those of one scan are refused (ConfigError) where they cannot.

    A session that is started here has ``spark.speculation`` on, unless `conf` says otherwise: a task that takes two
    seconds and twice the median, when half are done, runs on another machine too, and the first result is taken.

    Results pass through the driver's JVM: ``spark.driver.maxResultSize`` bounds what `Dataset.to_arrow` can give.
    Settings for GPUs are in ``conf/engines/spark-gpu.yaml``: one GPU an executor, a share of it a task.

    Examples
    --------
    >>> with SparkEngine(device="cpu") as engine:
    ...     list(engine.map(abs, [-3, 2, -1]))
    [3, 2, 1]
    """

    name: ClassVar[str] = "spark"

    def __init__(
        self,
        session: SparkSession | None = None,
        *,
        conf: Mapping[str, Any] | None = None,
        device: str = "auto",
        pool: str | None = None,
        progress: Progress | None = None,
        staging_dir: str | Path | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.staging_dir, self.storage_options = staging_dir, storage_options
        existing = spark_session.given(session, conf)
        with no_pandas_warning():
            self.session = existing or spark_session.start(conf)
        self.progress = progress or usual_progress()
        self._owned = existing is None
        self._staged: WeakSet[StagingFolder] = WeakSet()
        self._held: list[object] = []
        self._driver = driver_of(self.session, pool)
        self._cluster = self._driver.cluster
        try:
            with self._driver.naming_lost("start"):
                self._cluster.check_workers()
                self.device = self._cluster.choose(device)
                self._cluster.await_executors()
        except BaseException:
            self.close()
            raise

    def facts(self) -> dict[str, Any]:
        """Return also what Spark runs on, and where its pages are."""
        return super().facts() | self._driver.facts()

    @property
    def slots(self) -> int:
        """Tasks that the executors run at the same time, by Spark's own count."""
        return self._cluster.slots

    @property
    def task_memory(self) -> int:
        """The share of a task in its machine, or in what ``spark.executor.pyspark.memory`` allows its executor."""
        return self._cluster.task_memory

    def map(self, task: Callable[[Item], Result], items: Sequence[Item], *, label: str = "map") -> Iterator[Result]:
        """Call `task` in one Spark job, an item a partition; results are given when all are there."""
        if not items:
            return
        outcomes = self._outcomes(task, items, label, lambda pieces, shared: pieces.then(Apply(*shared)))
        for _, data in sorted(outcomes):
            yield open_outcome(data)

    def reduce(
        self,
        task: Callable[[Item], State],
        merge: Callable[[list[State]], State],
        items: Sequence[Item],
        *,
        label: str = "reduce",
    ) -> State:
        """Merge by eights on the workers until at most eight are left; those are merged here."""
        numbers = PartNumbers.of(len(items))

        def plan(pieces: AnyPieces, shared: Shared) -> AnyPieces:
            return merge_by_eights(pieces.then(Apply(*shared)), Merge(*shared), numbers, 1, ARITY)

        tree = TreeReduction(translate_errors(merge))
        for _, data in sorted(self._outcomes(Reduction(task, merge), items, label, plan)):
            tree.push(open_outcome(data))
        return tree.result()

    def reduce_partitioned(
        self, work: PartitionedWork[Item, State], items: Sequence[Item], *, label: str = "reduce"
    ) -> list[State]:
        """Merge by eights on the workers until each part is one; Spark's shuffle brings its pieces together."""
        numbers = PartNumbers.of(len(items))

        def plan(pieces: AnyPieces, shared: Shared) -> AnyPieces:
            parts = pieces.then(ApplyParts(*shared, numbers))
            return merge_by_eights(parts, Merge(*shared), numbers, work.parts, 1).then(Prune(*shared))

        return [open_outcome(data) for _, data in sorted(self._outcomes(work, items, label, plan))]

    def ranks(self, options: SpmdOptions, *, label: str = "train") -> int:
        """Return how many ranks a training begins with: as many as run at once, one where they share a machine."""
        room = self._cluster.ranks(self.kind)
        if options.elastic:
            return options.ranks_within(room)
        size = options.world_size or self._cluster.ranks_by_default(self.kind)
        if size > room and not self._cluster.is_elastic:
            raise ConfigError(
                f"world_size is {size}, but Spark runs {room} rank(s) at the same time",
                hint="Ask for fewer ranks, or give the application more executors or cores.",
                stage=label,
                engine=self.name,
            )
        return size

    def spmd(self, body: Body, datasets: Mapping[str, Dataset], options: SpmdOptions, *, label: str = "train") -> Any:
        """Run the ranks as one barrier stage: all tasks start together.

        Under dynamic allocation, which has no barrier stages, Spark is asked for executors until all ranks are there,
        for as long as ``start_timeout``; unless given, there are as many ranks as the executors there have slots.
        """
        size = self.ranks(options, label=label)
        launch = partial(self._driver.launch, label)
        threads, host = self._cluster.rank_cpus(self.kind, size), self._cluster.host
        more = partial(self._cluster.ranks, self.kind) if options.elastic else None
        with self._driver.naming_lost(label):
            return run_gang(
                launch, body, datasets, options, self, size=size, threads=threads, host=host, label=label, room=more
            )

    def query_engine(self) -> QueryEngine:
        """Return Spark SQL, in this engine's session."""
        return SparkQueries(self.session, self._driver)

    def unshared(self) -> str | None:
        """Refuse to guess what workers on other machines share."""
        master = self._cluster.master or "Spark"
        return None if self._cluster.local else f"the workers of {master} do not share the driver's disk"

    def unpersist(self, name: str) -> None:
        """Have the Python workers that take a task now let go of what they hold under a name.

        Spark reaches no others: they hold it until they are given the rows of a dataset again, or end, after a minute
        without a task.
        """
        with suppress(ExecutionError), self._driver.naming_lost("unpersist"):
            self._cluster.everywhere(Forget(name), "unpersist")

    def usage(self, name: str) -> Usage | None:
        """Return None: Spark reaches its Python workers one task at a time."""
        return None

    def close(self) -> None:
        """Remove what `from_spark` staged; stop the session if this engine started it."""
        if not self._owned:
            super().close()
        self._held.clear()
        for folder in list(self._staged):
            folder.remove()
        if self._owned:
            with suppress(WorkerLostError), self._driver.naming_lost("stop"):
                self.session.stop()

    def from_spark(
        self,
        frame: DataFrame,
        *,
        staging_dir: str | Path | None = None,
        storage_options: Mapping[str, Any] | None = None,
        fragment_bytes: int | None = None,
    ) -> Dataset:
        """Return a dataset of a Spark DataFrame: run its query once, keep the rows as Parquet.

        The files are removed when no dataset refers to them any more, and by `close`.

        Parameters
        ----------
        frame : pyspark.sql.DataFrame
            Timestamps become microseconds in UTC, vectors of MLlib lists of float64. Not a stream, whose batches
            (``foreachBatch``) are taken one by one. Names may differ in case alone.
        staging_dir : path or URL, optional
            A directory that the driver and all workers share, or a folder of a store; that of the engine unless
            given, or on one machine the temporary directory.
        storage_options : mapping, optional
            Passed to fsspec for a store; those of the engine unless given.
        fragment_bytes : int, optional
            Memory that the rows of one fragment take, about; that of the engine unless given.

        Raises
        ------
        ConfigError
            It is no frame of Spark, or a stream; or the workers are on other machines and `staging_dir` is not given.
        SchemaError, SchemaDriftError
            A column is of a type that Arrow lacks, or that files would give back as another: an interval, a variant;
            or a name stands twice. Nothing has run.
        OutputError
            It cannot be written.
        """
        _check_frame(frame)
        folder = self.staging(staging_dir, "from_spark", storage_options).new_folder()
        self._staged.add(folder)
        rows = folder.parts("frame")
        with self._driver.naming_lost("from_spark"), set_for(frame.sparkSession, WRITING):
            schema = arrow_schema(frame := with_arrays(frame), "from_spark")
            write_rows(as_declared(frame, schema), rows)
        return owning(conformed(read_staged(self, rows, fragment_bytes=fragment_bytes), schema), folder)

    def to_spark(self, dataset: Dataset) -> DataFrame:
        """Return a lazy Spark DataFrame of a dataset: a fragment is a partition, read by a Python worker when it runs.

        Unsigned integers become the next wider signed ones. What a query has staged for the dataset stays until
        `close`.

        Raises
        ------
        SchemaError
            A column is of a type that Spark lacks: nanoseconds, a duration, a time of day.
        """
        rows = settled(dataset)
        self.hold(rows)
        with self._cluster.environment(self._cluster.task_cpus):
            return frame_of(rows, self.session)

    def fit_estimator(
        self, build: Callable[[], Any], dataset: Dataset, outputs: Sequence[str], *, label: str
    ) -> dict[str, Any]:
        """Return what an estimator of Spark ML learns from all rows, and the columns that it makes."""
        from penstock.engines.spark.ml import estimators

        return estimators.fit(self, build, dataset, outputs, label)

    def score_estimator(
        self, state: Mapping[str, Any], dataset: Dataset, columns: Mapping[str, str], *, label: str
    ) -> Dataset:
        """Return what a fitted model of Spark ML makes of rows: columns, under other names, in order of the first."""
        from penstock.engines.spark.ml import estimators

        return estimators.score(self, state, dataset, columns, label)

    def load_estimator(self, state: Mapping[str, Any], *, label: str) -> Any:
        """Return a fitted model of Spark ML, in this session."""
        from penstock.engines.spark.ml import estimators

        return estimators.load(self, state, label)

    def hold(self, value: object) -> None:
        """Keep a reference until `close`: to what Spark reads later, of files that go with the last one."""
        self._held.append(value)

    def naming_lost(self, label: str) -> AbstractContextManager[None]:
        """Raise WorkerLostError in place of whatever fails inside because Spark itself is gone."""
        return self._driver.naming_lost(label)

    def _outcomes(self, work: Any, items: Sequence[Any], label: str, plan: JobPlan) -> list[Outcome]:
        return self._driver.outcomes(work, items, plan, kind=self.kind, label=label, progress=self.progress)


def _check_frame(frame: object) -> None:
    if not isinstance(frame, sql.DataFrame):
        raise ConfigError(
            f"from_spark takes a DataFrame of Spark, found {class_name(frame)}",
            hint="Tables of Arrow, pandas and Polars are for engine.from_arrow.",
        )
    refuse_stream(frame)
