"""What datasets, ranks and plans need of an engine: tasks run over items, and what they give merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

from penstock.core.errors import ConfigError, ExecutionError
from penstock.core.locations import is_in_memory
from penstock.core.recording import RecordedTask, RecordedWork, active_recorder

if TYPE_CHECKING:
    from penstock.core.progress import Progress

Item = TypeVar("Item")
Result = TypeVar("Result")
State = TypeVar("State")
Taken = TypeVar("Taken", contravariant=True)


class PartitionedWork(Protocol[Taken, State]):
    """Work whose result is in parts: each is merged apart from the others, and goes by itself to who asked for it."""

    @property
    def parts(self) -> int:
        """How many there are."""

    def __call__(self, item: Taken, /) -> Sequence[State]:
        """Return the parts of what one item gives."""

    def merge(self, states: list[State]) -> State:
        """Merge one part of several items; may empty the list, and changes none of what is in it."""

    def prune(self, state: State) -> State:
        """Return what is asked for of a part, when it is merged."""


class Usage(NamedTuple):
    """What is held of the rows of a dataset: columns of fragments, bytes of memory, bytes on disk."""

    columns: int
    memory: int
    disk: int


class _Device(Protocol):
    """Where partitions are processed, and why there."""

    @property
    def kind(self) -> Literal["cpu", "gpu"]:
        """Which frame library the workers use."""

    @property
    def reason(self) -> str:
        """Why it was chosen."""


class Scheduler(Protocol):
    """Runs tasks over items: in this process or on a cluster. Every engine is one.

    Attributes
    ----------
    name : str
        As errors and progress lines have it.
    """

    name: ClassVar[str]
    arity: ClassVar[int]
    """How many partial results are merged at once. Part of the definition of every fitted state."""
    in_process: ClassVar[bool]
    """Whether tasks run in this process, so that what they have apart is here together all the same."""

    returns_to_worker: ClassVar[bool]
    """Whether the worker that has worked on a fragment is given it again, so that it is of use to hold its rows."""

    @property
    def progress(self) -> Progress:
        """Told of every scan and training."""

    @property
    def device(self) -> _Device:
        """Where partitions are processed."""

    @property
    def kind(self) -> Literal["cpu", "gpu"]:
        """Which frame library the workers use."""

    @property
    def slots(self) -> int:
        """How many tasks run at the same time."""

    @property
    def task_memory(self) -> int:
        """Bytes of memory that a task may take: a worker's share for each task that it runs at the same time."""

    def map(self, task: Callable[[Item], Result], items: Sequence[Item], /, *, label: str = "map") -> Iterator[Result]:
        """Call `task` with each item; results come in the order of the items."""

    def reduce(
        self,
        task: Callable[[Item], State],
        merge: Callable[[list[State]], State],
        items: Sequence[Item],
        /,
        *,
        label: str = "reduce",
    ) -> State:
        """Call `task` with each item and merge what it gives near the data, in a tree of fixed shape.

        `merge` may empty the list that it is given, so that partial results are let go, and changes none of them.
        """

    def reduce_partitioned(
        self, work: PartitionedWork[Item, State], items: Sequence[Item], /, *, label: str = "reduce"
    ) -> list[State]:
        """Do what `reduce` does with each part by itself, so that no task has more than one part of all items.

        A part is cut down near the data, and only then comes here.
        """

    def new_persistence(self) -> str:
        """Return a new name under which the workers hold rows of a dataset that they have read."""

    def unpersist(self, name: str, /) -> None:
        """Have the workers let go of what they hold under a name, or under all that begin so."""

    def usage(self, name: str, /) -> Usage | None:
        """Return what the workers hold under a name; None where that is not known."""

    def ranks(self, options: Any, /, *, label: str = "train") -> int:
        """Return how many ranks a training begins with; ConfigError where there is no room for those asked for."""

    def spmd(self, body: Any, datasets: Mapping[str, Any], options: Any, /, *, label: str = "train") -> Any:
        """Run `body` on every rank at the same time, or on none; return what rank 0 returns."""


def map_exactly(
    scheduler: Scheduler, task: Callable[[Item], Result], items: Sequence[Item], *, label: str
) -> Iterator[Result]:
    """Give what `Scheduler.map` gives, one result for each item.

    Raises
    ------
    ExecutionError
        There are fewer results, or more: rows would be lost, or there twice, without a word.
    """
    results = 0
    for result in scheduler.map(task, items, label=label):
        results += 1
        yield result
    if results != len(items):
        raise ExecutionError(
            f"{label}: the engine {scheduler.name!r} gave {results} results for {len(items)} tasks",
            hint="Its `map` has to give one result for each item, in their order.",
        )


def map_all(
    scheduler: Scheduler, task: Callable[[Item], Result], items: Sequence[Item], *, label: str
) -> Iterator[Result]:
    """Give what `map_exactly` gives; each task is recorded where a recorder is active."""
    recorder = active_recorder()
    if recorder is None:
        yield from map_exactly(scheduler, task, items, label=label)
        return
    with recorder.scan(label, len(items), scheduler) as ticket:
        for recorded in map_exactly(scheduler, RecordedTask(task, ticket), items, label=label):
            yield recorder.take(recorded)


def reduce_all(
    scheduler: Scheduler,
    task: Callable[[Item], State],
    merge: Callable[[list[State]], State],
    items: Sequence[Item],
    *,
    label: str,
) -> State:
    """Give what `Scheduler.reduce` gives; each task and merge is recorded where a recorder is active."""
    recorder = active_recorder()
    if recorder is None:
        return scheduler.reduce(task, merge, items, label=label)
    with recorder.scan(label, len(items), scheduler) as ticket:
        work: Any = RecordedTask(task, ticket, merge)
        state: State = recorder.take(scheduler.reduce(work, work.merge, items, label=label))
    return state


def reduce_partitioned_all(
    scheduler: Scheduler, work: PartitionedWork[Item, State], items: Sequence[Item], *, label: str
) -> list[State]:
    """Give what `Scheduler.reduce_partitioned` gives, recorded as `reduce_all` does."""
    recorder = active_recorder()
    if recorder is None:
        return scheduler.reduce_partitioned(work, items, label=label)
    with recorder.scan(label, len(items), scheduler) as ticket:
        recorded: Any = RecordedWork(work, ticket)
        return [recorder.take(part) for part in scheduler.reduce_partitioned(recorded, items, label=label)]


def check_shared(engine: Scheduler, locations: Iterable[object]) -> None:
    """Raise ConfigError for a ``memory://`` URL where tasks run in other processes, which see nothing of it."""
    hidden = [text for text in map(str, locations) if is_in_memory(text)]
    if hidden and not engine.in_process:
        raise ConfigError(
            f"{hidden[0]} is in the memory of this process, and tasks of {engine.name!r} run in others",
            hint="Use a directory that all machines mount, or the URL of a store, such as s3://bucket/rows.",
            path=hidden[0],
        )


@runtime_checkable
class Relational(Protocol):
    """A scheduler that has a query engine too; not every one does."""

    def query(self, function: Callable[..., Any], /, *datasets: Any, **options: Any) -> Any:
        """Relate the rows of datasets to each other by a function over lazy frames; return a dataset."""

    def relate(self, pending: Any, /) -> Any:
        """Run the query of a pending relation; return a dataset of its rows."""

    def check_relation(self, schemas: Sequence[Any], label: str, /) -> None:
        """Raise ConfigError or SchemaError for a query over such columns that cannot be run."""

    def window(self, frame: Any, columns: Mapping[str, Any], /, *, partition_by: Any, order_by: Any) -> Any:
        """Return a lazy frame with columns that are computed within each partition, in order."""

    def keep(self, table: Any, label: str, /, *, fragment_rows: int) -> Any:
        """Return a dataset of a table of this process: in memory where it is small, else where all workers read it."""


@runtime_checkable
class EstimatorEngine(Protocol):
    """A scheduler whose own machine-learning library fits estimators to whole datasets too; not every one has any."""

    def fit_estimator(
        self, build: Callable[[], Any], dataset: Any, outputs: Sequence[str], /, *, label: str
    ) -> dict[str, Any]:
        """Return, as plain state, what the estimator that `build` makes learns from all rows of a dataset.

        In it is ``outputs``: a table without rows of the columns that it makes.
        """

    def score_estimator(
        self, state: Mapping[str, Any], dataset: Any, columns: Mapping[str, str], /, *, label: str
    ) -> Any:
        """Return a dataset of what a fitted estimator makes of rows: `columns`, each under its other name.

        Rows are in the order of the first of the columns.
        """

    def load_estimator(self, state: Mapping[str, Any], /, *, label: str) -> Any:
        """Return a fitted estimator as an object of the library."""


def estimator_engine(engine: Scheduler, purpose: str) -> EstimatorEngine:
    """Return the engine as one that fits estimators of its own library.

    Raises
    ------
    ConfigError
        It has no such library; says what `purpose` it was needed for.
    """
    if not isinstance(engine, EstimatorEngine):
        raise ConfigError(
            f"{purpose} is computed by Spark, and the rows are on the engine {engine.name!r}",
            hint="Read them with a SparkEngine: ps.SparkEngine().read_parquet(...), or engine.from_spark(frame).",
        )
    return engine


def relational(engine: Scheduler, purpose: str) -> Relational:
    """Return the engine as one that relates rows to each other.

    Raises
    ------
    ConfigError
        It has no query engine; says what `purpose` it was needed for.
    """
    if not isinstance(engine, Relational):
        raise ConfigError(
            f"{purpose} needs an engine with a query engine, and {engine.name!r} has none",
            hint="Use LocalEngine, DaskEngine or SparkEngine for this step.",
        )
    return engine
