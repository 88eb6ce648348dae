"""What an engine is: a scheduler of tasks over fragments. It knows no stage and no statistic."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from penstock import devices
from penstock.core.displayed import Displayed
from penstock.core.keywords import with_known_keywords
from penstock.core.progress import Progress
from penstock.core.scheduler import PartitionedWork, Usage, map_exactly
from penstock.core.sizes import show_bytes
from penstock.dataset.dataset import Dataset
from penstock.dataset.task_errors import translate_errors
from penstock.engines.reading import Reading
from penstock.frames import Kind
from penstock.io import persisted
from penstock.spmd import Body, SpmdOptions, rank_alone, run_alone

Item = TypeVar("Item")
Result = TypeVar("Result")
State = TypeVar("State")

ARITY = 8
"""How many partial results are merged at once. Part of the definition of every fitted state, so it never changes."""


class TreeReduction(Generic[State]):
    """Merges partial results in a tree of fixed shape as they arrive in order; holds at most 8 a level.

    Examples
    --------
    >>> tree = TreeReduction(lambda parts: "(" + "".join(parts) + ")")
    >>> for letter in "abcdefghij":
    ...     tree.push(letter)
    >>> tree.result()
    '((abcdefgh)(ij))'
    """

    def __init__(self, merge: Callable[[list[State]], State]) -> None:
        self._merge = merge
        self._levels: list[list[State]] = [[]]

    def push(self, state: State) -> None:
        """Take the next partial result."""
        level = 0
        self._levels[level].append(state)
        while len(self._levels[level]) == ARITY:
            self._close(level)
            level += 1

    def _close(self, level: int) -> None:
        states, self._levels[level] = self._levels[level], []
        if level + 1 == len(self._levels):
            self._levels.append([])
        self._levels[level + 1].append(self._merge(states))

    def result(self) -> State:
        """Return the merge of all; at least one was pushed."""
        level = 0
        while level < len(self._levels) - 1 or len(self._levels[level]) > 1:
            if self._levels[level]:
                self._close(level)
            level += 1
        return self._levels[level][0]


@dataclass(frozen=True)
class Reduction(Generic[Item, State]):
    """What a `reduce` does, in one value that travels: as `PartitionedWork` is called and merged, in one part."""

    task: Callable[[Item], State]
    merge: Callable[[list[State]], State]

    def __call__(self, item: Item) -> State:
        """Return what one item gives."""
        return self.task(item)


class Engine(Reading, Displayed, ABC):
    """Runs tasks over fragments: in this process, on Dask or on Spark.

    Parameters common to all
    ------------------------
    device : {"auto", "cpu", "gpu"}
        Where partitions are processed. "gpu" raises ConfigError when there is none usable; "auto" records why it chose.
    progress : Progress, optional
        Follows every scan and training. Unless given, IPython and its notebooks draw bars; elsewhere nothing is drawn,
        and what is worth a line is logged. ``progress=ps.Progress()`` draws nothing in notebooks either.

    Notes
    -----
    A fragment that is worked on for more than 10 seconds and five times the median of those that are done (three, or
    half of all) is told to `progress` with its files, and again each time that it has taken twice as long. Queries,
    trainings and the merging of partial results are not compared. On Dask the workers are asked, so that nothing is
    known of one that does not answer; on Spark a task's time counts from its launch, the start of a Python worker
    included.
    """

    if not TYPE_CHECKING:  # who would take what it returns for Any
        __new__ = with_known_keywords

    name: ClassVar[str]
    arity: ClassVar[int] = ARITY
    in_process: ClassVar[bool] = False
    """Whether tasks run in this process, so that what they have apart is here together all the same."""
    returns_to_worker: ClassVar[bool] = False
    """Whether the worker that has worked on a fragment is given it again, so that it is of use to hold its rows."""
    progress: Progress
    device: devices.Device
    _display = "penstock.report.notebook.engines:engine_html"

    def facts(self) -> dict[str, Any]:
        """Return what a reader of a notebook wants to know of it, by name; None for what is not known."""
        return {
            "device": str(self.device),
            "because": self.device.reason or None,
            "tasks at once": self.slots,
            "memory of a task": show_bytes(self.task_memory),
        }

    @property
    def kind(self) -> Kind:
        """Which frame library the workers use: "cpu" or "gpu"."""
        return self.device.kind

    def reduce(
        self,
        task: Callable[[Item], State],
        merge: Callable[[list[State]], State],
        items: Sequence[Item],
        *,
        label: str = "reduce",
    ) -> State:
        """Call `task` with each item and merge what it gives near the data, in the shape of `TreeReduction`.

        `merge` may empty the list that it is given, so that partial results are let go, and changes none of them. An
        engine whose workers are not here overrides this; here they are merged in this process, as they arrive.
        """
        tree = TreeReduction(translate_errors(merge))
        for state in map_exactly(self, task, items, label=label):
            tree.push(state)
        return tree.result()

    def reduce_partitioned(
        self, work: PartitionedWork[Item, State], items: Sequence[Item], *, label: str = "reduce"
    ) -> list[State]:
        """Do what `reduce` does with each part by itself, so that no task has more than one part of all items.

        A part is cut down near the data, and only then comes here; this merges here, as `reduce` does.
        """
        trees = [TreeReduction(translate_errors(work.merge)) for _ in range(work.parts)]
        for parts in map_exactly(self, work, items, label=label):
            for tree, part in zip(trees, parts, strict=True):
                tree.push(part)
        prune = translate_errors(work.prune)
        return [prune(tree.result()) for tree in trees]

    def ranks(self, options: SpmdOptions, *, label: str = "train") -> int:
        """Return how many ranks a training begins with; a fit asks before it reads anything.

        An engine whose workers are not here overrides this; here there is one.

        Raises
        ------
        ConfigError
            There is no room for as many as are asked for.
        """
        return rank_alone(options, self)

    def spmd(self, body: Body, datasets: Mapping[str, Dataset], options: SpmdOptions, *, label: str = "train") -> Any:
        """Run `body` on every rank at the same time, or on none; return what rank 0 returns.

        An engine whose workers are not here overrides this; here the only rank runs in this process, on all cores.
        """
        return run_alone(body, datasets, options, self, label, threads=devices.usable_cores())

    def new_persistence(self) -> str:
        """Return a new name under which the workers hold rows of a dataset that they have read."""
        return f"{self._persisting}-{secrets.token_hex(4)}"

    def unpersist(self, name: str) -> None:
        """Have the workers let go of what they hold under a name, or under all that begin so.

        An engine whose workers are not here overrides this, and `usage`; here they are this process.
        """
        persisted.forget(name)

    def usage(self, name: str) -> Usage | None:
        """Return what the workers hold under a name; None where that is not known."""
        return persisted.usage_of(name)

    @cached_property
    def _persisting(self) -> str:
        """What the names of all that is held for this engine begin with; it is there once there is any."""
        return secrets.token_hex(8)

    @property
    @abstractmethod
    def slots(self) -> int:
        """How many tasks run at the same time."""

    @property
    def task_memory(self) -> int:
        """Bytes of memory that a task may take: a worker's share for each task that it runs at the same time.

        An engine whose workers are not here overrides this; here they are this process.
        """
        return devices.memory_limit() // self.slots

    def close(self) -> None:
        """Stop what this engine started; what was given to it goes on. What is held of persisted rows is let go."""
        if "_persisting" in self.__dict__:
            self.unpersist(self._persisting)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
