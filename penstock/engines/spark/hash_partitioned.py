"""What runs inside Spark's Python workers where a reduction is in parts."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark import cloudpickle

from penstock.engines.base import ARITY
from penstock.engines.spark.driver import AnyPieces
from penstock.engines.spark.tasks import Apply, Failure, JobStep, Merge, Outcome, attempt, catch, spare_imports


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
