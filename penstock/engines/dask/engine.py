"""The engine on Dask: Dask places and retries tasks, its worker processes read the files and compute."""

from __future__ import annotations

try:
    import distributed  # noqa: F401
except ImportError as error:
    from penstock.core.errors import MissingExtraError
    from penstock.core.extras import how_to_install

    raise MissingExtraError(f"Dask cannot be imported: {error}", hint=how_to_install("dask")) from error

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from penstock import devices
from penstock.core.errors import ConfigError
from penstock.core.progress import Progress, usual_progress
from penstock.core.scheduler import PartitionedWork, Usage
from penstock.dataset.dataset import Dataset
from penstock.engines.base import Item, Reduction, Result, State, TreeReduction
from penstock.engines.dask import session
from penstock.engines.dask import workers as dask_workers
from penstock.engines.dask.ranks import RankTasks
from penstock.engines.dask.tasks import TaskOptions, Tasks, merge_states, prune_state
from penstock.engines.querying import QueryEngine, read_staged
from penstock.engines.relational import RelationalEngine
from penstock.io import persisted
from penstock.spmd import Assignment, Body, Launch, RankAssignment, SpmdOptions, run_alone, run_gang

if TYPE_CHECKING:
    from dask.dataframe import DataFrame


class DaskEngine(RelationalEngine):
    """Runs tasks in the workers of a Dask cluster, each on the threads of its worker, or on its GPU.

    Parameters
    ----------
    cluster : distributed.Client, str or mapping, optional
        A client, which `close` leaves running; or the address of a scheduler, such as "tls://host:8786"; or a cluster
        to start, as ``{"class": "distributed.LocalCluster", "arguments": {"n_workers": 4}}``, stopped by `close`.
        Without it one is started on this machine, a worker process of one thread for each core.
    device : {"auto", "cpu", "gpu"}, default "auto"
        Asked of the workers; the process of this engine needs no GPU. A GPU must belong to one worker alone, as in
        ``dask_cuda.LocalCUDACluster``.
    progress : Progress, optional
    allow_insecure : bool, default False
        Start a cluster even if other machines can reach it without authentication: whoever connects can run code.
    no_workers_timeout : float, default 300
        Seconds to wait while the cluster has no worker at all.
    timeout : float, default 120
        Seconds without a sign of life after which a worker is taken for lost while tasks run: it is named in a warning
        and started again by its nanny, or given up, and its tasks are run elsewhere. A worker that is only slow gives
        signs of life. In trainings the timeout of `SpmdOptions` counts.
    priority : int, default 0
        Of what this engine runs, among all that share the cluster: where tasks wait, those of a higher priority run
        first, whoever was there first. One that runs is not interrupted.
    speculation : bool, default True
        Run a task of a scan that takes more than a second and twice the median on a second worker too, once half of
        those begun are done and that worker has a free thread. The first result is taken, and is the same to the
        bit; the other task runs to its end, and its result is dropped. So a task may run twice: one with effects of its
        own has to bear that, as it has to where a worker is lost. Ranks of a training are never run twice.
    staging_dir : path or URL, optional
        Where the rows that queries make are kept: a directory that this machine and all workers share, or a folder of a
        store. On one machine the temporary directory, unless given.
    storage_options : mapping, optional
        Passed to fsspec for a `staging_dir` in a store; never shown in a message.

    Raises
    ------
    ConfigError
        The cluster cannot be started or reached; workers cannot import Penstock or have other versions; workers do
        not agree on the device, or it is "gpu" and a worker has none of its own.
    InsecureClusterError
        The cluster to be started would be open to other machines.
    StageTimeoutError
        No worker came.

    Notes
    -----
    A rank of a training that does not end when the others have ended is ended with its worker, which its nanny starts
    again: do not train on workers whose memory holds results of other people.

    A started ``LocalCluster`` listens on loopback only, where other users of this machine can still reach it;
    ``"security": True`` among its arguments encrypts and authenticates (needs the package cryptography). On it, and on
    any cluster whose scheduler and workers are all on loopback, a training on CPUs is one rank with all cores, in this
    process; with ``SpmdOptions(world_size=2)`` or more the ranks are tasks of the workers.

    Examples
    --------
    >>> spec = {"class": "distributed.LocalCluster", "arguments": {"n_workers": 1}}
    >>> with DaskEngine(spec, device="cpu") as engine:
    ...     list(engine.map(abs, [-3, 2, -1]))
    [3, 2, 1]
    """

    name: ClassVar[str] = "dask"
    returns_to_worker: ClassVar[bool] = True

    def __init__(
        self,
        cluster: session.Given = None,
        *,
        device: str = "auto",
        progress: Progress | None = None,
        allow_insecure: bool = False,
        no_workers_timeout: float = 300.0,
        timeout: float = 120.0,
        priority: int = 0,
        speculation: bool = True,
        staging_dir: str | Path | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.staging_dir, self.storage_options = staging_dir, storage_options
        self.progress = progress or usual_progress()
        self._options = TaskOptions(no_workers_timeout, timeout, priority, speculation)
        with ExitStack() as started:
            self.client = session.connect(cluster, started, allow_insecure, no_workers_timeout)
            dask_workers.await_workers(self.client, 1, no_workers_timeout)
            dask_workers.check_versions(self.client)
            self.device = dask_workers.choose_device(self.client, device)
            self._started = started.pop_all()

    def facts(self) -> dict[str, Any]:
        """Return also how many workers there are, and where their dashboard is."""
        workers = len(self.client.scheduler_info(n_workers=-1)["workers"])
        return super().facts() | {"workers": workers, "dashboard": self.client.dashboard_link or None}

    @property
    def slots(self) -> int:
        """Threads of all workers."""
        return sum(self.client.nthreads().values())

    @property
    def task_memory(self) -> int:
        """The least that a thread of a worker has, by the worker's own limit or its machine's."""
        return dask_workers.task_memory(self.client)

    def map(self, task: Callable[[Item], Result], items: Sequence[Item], *, label: str = "map") -> Iterator[Result]:
        """Call `task` on the workers, results in order, a few for each thread ahead of the caller."""
        with self.progress.track(label, len(items)) as track, self._tasks(label, task) as tasks:
            for future in tasks.each(items):
                yield tasks.result(future)
                track.advance()

    def reduce(
        self,
        task: Callable[[Item], State],
        merge: Callable[[list[State]], State],
        items: Sequence[Item],
        *,
        label: str = "reduce",
    ) -> State:
        """Merge on the workers by the tree itself, whose partial results are futures; only the root comes here."""
        with self.progress.track(label, len(items)) as track, self._tasks(label, Reduction(task, merge)) as tasks:
            # Merged where a thread is free: where states are, a straggler may have the only one.
            tree = TreeReduction(lambda states: tasks.submit(merge_states, tasks.shared, list(states), spread=True))
            for future in tasks.each(items):
                tree.push(future)
                track.advance()
            return tasks.result(tree.result())

    def reduce_partitioned(
        self, work: PartitionedWork[Item, State], items: Sequence[Item], *, label: str = "reduce"
    ) -> list[State]:
        """Merge as `reduce` does, by a tree for each part: what a fragment gives is taken apart where it lies."""
        with self.progress.track(label, len(items)) as track, self._tasks(label, work) as tasks:
            trees = [
                TreeReduction(lambda states: tasks.submit(merge_states, tasks.shared, list(states)))
                for _ in range(work.parts)
            ]
            for future in tasks.each(items):
                for place, tree in enumerate(trees):
                    tree.push(tasks.submit(operator.getitem, future, place))
                track.advance()
            pruned = [tasks.submit(prune_state, tasks.shared, tree.result()) for tree in trees]
            return [tasks.result(future) for future in pruned]

    def ranks(self, options: SpmdOptions, *, label: str = "train") -> int:
        """Return how many ranks a training begins with: one a worker, or one alone on this machine's CPUs."""
        workers = len(self.client.nthreads())
        if options.elastic:
            return options.ranks_within(workers)
        room = max(workers, dask_workers.expected_workers(self.client))
        size = options.world_size or (1 if self._ranks_share_cores else room)
        if size > room:
            raise ConfigError(
                f"world_size is {size}, but the Dask cluster has {room} worker(s), which run a rank each",
                hint="Ask for fewer ranks, or start more workers.",
                stage=label,
                engine=self.name,
            )
        return size

    @property
    def _ranks_share_cores(self) -> bool:
        return self.kind == "cpu" and session.is_on_this_machine(self.client)

    def spmd(self, body: Body, datasets: Mapping[str, Dataset], options: SpmdOptions, *, label: str = "train") -> Any:
        """Run the ranks as one task on each of as many workers; one alone on this machine's CPUs in this process.

        Ranks that share the cores of a machine are slower than one with all of them, and need ports to talk.
        """
        size = self.ranks(options, label=label)
        if size == 1 and self._ranks_share_cores and not options.elastic:
            cores = min(self.slots, devices.usable_cores())
            return run_alone(body, datasets, options, self, label, threads=cores)

        def launch(places: Sequence[RankAssignment], assignment: Assignment) -> Launch:
            workers = dask_workers.await_workers(self.client, len(places), options.start_timeout)
            return RankTasks(self._tasks(label, assignment), places, workers)

        per_rank, host = min(self.client.nthreads().values(), default=1), session.host(self.client)
        more = (lambda: len(self.client.nthreads())) if options.elastic else None
        return run_gang(
            launch, body, datasets, options, self, size=size, threads=per_rank, host=host, label=label, room=more
        )

    def query_engine(self) -> QueryEngine:
        """Return Dask DataFrame, on the workers of this cluster."""
        from penstock.engines.dask.query import DaskQueries

        return DaskQueries(self, lambda label: self._tasks(label, None))

    def unshared(self) -> str | None:
        """Refuse to guess what workers on other machines share."""
        address = self.client.scheduler.address
        return None if session.is_loopback(address) else f"the workers of {address} may not share this machine's disk"

    def unpersist(self, name: str) -> None:
        """Have all workers let go of what they hold under a name; those that do not answer keep it until they do."""
        super().unpersist(name)
        dask_workers.ask(self.client, persisted.forget, name)

    def usage(self, name: str) -> Usage | None:
        """Return what all workers hold under a name."""
        held = dask_workers.ask(self.client, persisted.usage_of, name)
        return Usage(*map(sum, zip(*held.values(), strict=True))) if held else None

    def close(self) -> None:
        """Remove what `from_dask` staged; stop the cluster if this engine started it."""
        super().close()
        self._started.close()

    def from_dask(
        self,
        frame: DataFrame,
        *,
        staging_dir: str | Path | None = None,
        storage_options: Mapping[str, Any] | None = None,
        fragment_bytes: int | None = None,
    ) -> Dataset:
        """Return a dataset of a Dask DataFrame: compute it once, keep the rows as Parquet until `close`.

        Parameters
        ----------
        frame : dask.dataframe.DataFrame
            Its index is left out.
        staging_dir : path or URL, optional
            A directory that this machine and all workers share, or a folder of a store; that of the engine unless
            given, or on one machine the temporary directory.
        storage_options : mapping, optional
            Passed to fsspec for a store; those of the engine unless given.
        fragment_bytes : int, optional
            Memory that the rows of one fragment take, about; that of the engine unless given.

        Raises
        ------
        ConfigError
            The workers are on other machines and `staging_dir` is not given.
        OutputError
            It cannot be written.
        """
        from penstock.engines.dask.query import to_parquet

        folder = self.staging(staging_dir, "from_dask", storage_options).new_folder()
        staged = folder.parts("frame")
        self._started.enter_context(folder)
        try:
            with self._tasks("from_dask", None) as tasks:
                tasks.result(tasks.compute(to_parquet(frame, staged)))
            return read_staged(self, staged, fragment_bytes=fragment_bytes)
        except BaseException:
            folder.remove()
            raise

    def to_dask(self, dataset: Dataset) -> DataFrame:
        """Return a lazy Dask DataFrame of a dataset: a fragment is a partition, and read when it is computed.

        On a CPU partitions are pandas' with Arrow's types, so that integers with nulls stay integers; on a GPU cuDF's.
        Labels of rows tell them apart, and no more.
        """
        from penstock.engines.dask.frames import frame_of

        return frame_of(dataset)

    def _tasks(self, label: str, shared: object) -> Tasks:
        return Tasks(self.client, label, shared, self._options, self.progress.note)
