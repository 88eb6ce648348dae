"""What runs inside Spark's Python workers: the engine's task on one item, the merging of partial results, one rank.

Spark moves pickled bytes only, so that its serialisers never take a partial result apart. An error of Penstock's own
travels as a value: raised in the task, Spark would try it again and hand on its text alone.
"""

from __future__ import annotations

import functools
import gc
import os
import pickle
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from pyspark import Accumulator, TaskContext, cloudpickle

from penstock import devices
from penstock.core.errors import PenstockError
from penstock.core.recording.attempts import on_attempt
from penstock.dataset.task_errors import RemoteTraceback, translate_errors
from penstock.devices import Device
from penstock.engines.base import ARITY
from penstock.frames import Kind
from penstock.io import persisted
from penstock.spmd import run_rank

if TYPE_CHECKING:
    from penstock.engines.spark.driver import AnyPieces

Outcome = tuple[int, bytes]
"""The place of an item, or of a merged partial result, among its like; and the pickled result or `Failure`."""

Shared: TypeAlias = "tuple[Shipped, Kind, Accumulator[list[Failure]] | None]"
"""What the steps of a job share: what they call, on which device, and where they report failures at once, if at all."""

_unpickled: dict[str, Any] = {}


class Shipped(Protocol):
    """An object on its way to the workers."""

    def value(self) -> Any:
        """Return it, in a worker."""


def unpickle_once(key: str, data: Callable[[], bytes]) -> Any:
    """Return the object in `data`, which a worker's tasks share; only the last one asked for is kept."""
    if key not in _unpickled:
        _unpickled.clear()
        _unpickled[key] = pickle.loads(data())
    return _unpickled[key]


@dataclass(frozen=True)
class Failure:
    """An error of Penstock's own that a task raised, on its way to the driver."""

    index: int
    error: PenstockError
    traceback: RemoteTraceback

    @classmethod
    def of(cls, index: int, error: PenstockError) -> Failure:
        """Return the failure of item `index`, the traceback as text: frames cannot be pickled."""
        return cls(index, error, RemoteTraceback.of(error))

    def throw(self) -> None:
        """Raise the error, with the worker's traceback as its cause."""
        raise self.error from self.traceback


@dataclass(frozen=True)
class JobStep:
    """What a job does to each partition, with what its steps share."""

    shipped: Shipped
    kind: Kind
    failures: Accumulator[list[Failure]] | None


class Apply(JobStep):
    """Calls what is shipped with each item of a partition."""

    def __call__(self, items: Iterable[Outcome]) -> Iterator[Outcome]:
        """Yield the outcome of each item."""
        for index, item in items:
            yield index, attempt(index, partial(self._call, item), self.failures)
        spare_imports()

    def _call(self, item: bytes) -> Any:
        if self.kind == "gpu":
            hold_gpu()
        return translate_errors(self.shipped.value())(pickle.loads(item))


class Merge(JobStep):
    """Merges the partial results of each group of eight, in their order, as the shipped work does."""

    def __call__(self, members: Iterable[Outcome]) -> Iterator[Outcome]:
        """Yield one outcome a group: the first failure, if there is one, or all merged."""
        groups: dict[int, list[Outcome]] = {}
        for index, data in members:
            groups.setdefault(index // ARITY, []).append((index, data))
        for group, outcomes in groups.items():
            parts = [pickle.loads(data) for _, data in sorted(outcomes)]
            failed = next((part for part in parts if isinstance(part, Failure)), None)
            if failed is not None:
                yield group, cloudpickle.dumps(failed)
            else:
                yield group, attempt(group, partial(self._merge, parts), self.failures)
        spare_imports()

    def _merge(self, parts: list[Any]) -> Any:
        return self.shipped.value().merge(parts)


@dataclass(frozen=True)
class PartNumbers:
    """How the pieces of parts are numbered: those of a part from its multiple of `stride`, a power of 8.

    So a group of `TreeReduction`, whose number is an eighth of those of its members, is of one part, and is numbered in
    the same way again.

    Parameters
    ----------
    left : int
        Pieces of each part.
    stride : int
        At least `left`.

    Examples
    --------
    >>> numbers = PartNumbers.of(20)
    >>> numbers, numbers.merged()
    (PartNumbers(left=20, stride=64), PartNumbers(left=3, stride=8))
    >>> [numbers.place(number) for number in (0, 19, 64, 83)]
    [0, 19, 20, 39]
    """

    left: int
    stride: int

    @classmethod
    def of(cls, items: int) -> PartNumbers:
        """Return the numbers of parts that so many items give."""
        stride = 1
        while stride < items:
            stride *= ARITY
        return cls(items, stride)

    def merged(self) -> PartNumbers:
        """Return the numbers of what is merged by eights."""
        return PartNumbers(-(-self.left // ARITY), self.stride // ARITY)

    def place(self, number: int) -> int:
        """Return the place of a piece among all pieces of all parts."""
        part, piece = divmod(number, self.stride)
        return part * self.left + piece

    def place_of_group(self, outcome: Outcome) -> int:
        """Return the place of what an outcome is merged into, by these numbers, with the seven others of its group."""
        return self.place(outcome[0] // ARITY)


@dataclass(frozen=True)
class ApplyParts(Apply):
    """Calls what is shipped with each item of a partition, and yields each part of what it gives by itself."""

    numbers: PartNumbers

    def __call__(self, items: Iterable[Outcome]) -> Iterator[Outcome]:
        """Yield the parts of each item; a failure is the first part."""
        for index, item in items:
            found = catch(index, partial(self._call, item), self.failures)
            for part, piece in enumerate([found] if isinstance(found, Failure) else found):
                yield part * self.numbers.stride + index, bytes(cloudpickle.dumps(piece))
        spare_imports()


def merge_by_eights(pieces: AnyPieces, merge: Merge, numbers: PartNumbers, parts: int, stride: int) -> AnyPieces:
    """Return pieces merged until those of a part are numbered within `stride`, which is 8 or 1."""
    while numbers.stride > stride:
        numbers = numbers.merged()
        pieces = pieces.meet(numbers, numbers.left * parts).then(merge)
    return pieces


class Prune(JobStep):
    """Prunes merged parts to what is asked for, as the shipped work does."""

    def __call__(self, parts: Iterable[Outcome]) -> Iterator[Outcome]:
        """Yield the outcome of each part; a failure stays one."""
        for index, data in parts:
            part = pickle.loads(data)
            failed = isinstance(part, Failure)
            yield index, data if failed else attempt(index, partial(self._pruned, part), self.failures)
        spare_imports()

    def _pruned(self, part: Any) -> Any:
        return self.shipped.value().prune(part)


def attempt(index: int, call: Callable[[], Any], failures: Accumulator[list[Failure]] | None) -> bytes:
    """Return what the call gives, or the failure that it ends in, pickled."""
    return bytes(cloudpickle.dumps(catch(index, call, failures)))


def catch(index: int, call: Callable[[], Any], failures: Accumulator[list[Failure]] | None) -> Any:
    """Return what the call gives, or the failure that it ends in."""
    try:
        with on_attempt(TaskContext.get().attemptNumber()):
            return translate_errors(call)()
    except PenstockError as error:
        failure = Failure.of(index, error)
        if failures is not None:
            failures.add([failure])
        return failure


def open_outcome(data: bytes) -> Any:
    """Return the result in an outcome, or raise the error."""
    value = pickle.loads(data)
    if isinstance(value, Failure):
        value.throw()
    return value


@dataclass(frozen=True)
class RunRank:
    """Runs one rank of a gang, in one task of a stage whose tasks all run at the same time."""

    assignment: Shipped
    threads: int

    def __call__(self, places: Iterable[Outcome]) -> Iterator[Outcome]:
        """Yield the index of the rank when its body has ended, well or not: the coordinator knows."""
        # Spark puts the cores of one task in OMP_NUM_THREADS last of all; OpenMP reads it when a library is imported.
        os.environ.update(devices.thread_environment(self.threads))
        for index, place in places:
            assignment = self.assignment.value()
            if assignment.kind == "gpu":
                hold_gpu()
            run_rank(pickle.loads(place), assignment)
            yield index, b""
        spare_imports()


@dataclass(frozen=True)
class Forget:
    """Has a Python worker let go of what it holds of persisted rows."""

    name: str

    def __call__(self, items: Iterable[Any]) -> list[Any]:
        persisted.forget(self.name)
        return []


def spare_imports() -> None:
    """Keep the garbage collector from what imported libraries are made of.

    Spark collects after every task of a worker: half a second each, once PyTorch and scikit-learn are there.
    """
    _spare(len(sys.modules))


@functools.lru_cache(maxsize=1)
def _spare(modules: int) -> None:
    """Set aside what is there now, unless that was done with so many modules before."""
    gc.collect()
    gc.freeze()


def task_device(choice: str) -> Device:
    """Return the device that a task of this choice works on, in the task itself."""
    context = TaskContext.get()
    resources = {name: list(resource.addresses) for name, resource in context.resources().items()}
    index = partial(devices.for_spark_task, resources, os.environ, context.partitionId())
    return devices.choose(choice, index=index)


def choose_in_task(choice: str) -> bytes:
    """Return the device of a task as an outcome."""
    try:
        return pickle.dumps(task_device(choice))
    except PenstockError as error:
        named = type(error)(f"worker {socket.gethostname()}: {error.message}", hint=error.hint, engine="spark")
        return pickle.dumps(Failure.of(0, named))


def hold_gpu() -> None:
    """Make the GPU of this task current; the process keeps it, as Spark's workers are used again, but no memory.

    Workers that have nothing to do would keep it from those beside them, and from a rank that trains.
    """
    devices.bind(task_device("gpu"), release_threshold=0)
