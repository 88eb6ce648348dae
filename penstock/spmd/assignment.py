"""What a rank is given: the body with the rows of every rank, and its place in the gang."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.dataset.tasks import ReadTask
from penstock.frames import Kind
from penstock.io.fragments import Fragment, deal

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset
    from penstock.dataset.steps import Step
    from penstock.spmd.rank import Rank

Body = Callable[["Rank"], Any]


@dataclass(frozen=True)
class DataShare:
    """One dataset's fragments for one rank, and the work of reading them."""

    scan: ReadTask
    fragments: tuple[Fragment, ...]

    @property
    def rows(self) -> int:
        """How many rows the fragments store, before any split or filter."""
        return sum(fragment.rows for fragment in self.fragments)

    def with_step(self, step: Step) -> DataShare:
        """Return the same fragments, read with one step more."""
        return replace(self, scan=replace(self.scan, steps=(*self.scan.steps, step)))


@dataclass(frozen=True)
class Assignment:
    """What all ranks are given alike: the body, the shares of all ranks by dataset, where and on how many threads."""

    body: Body
    shares: Mapping[str, Sequence[DataShare]]
    kind: Kind
    threads: int

    @classmethod
    def of(cls, body: Body, datasets: Mapping[str, Dataset], size: int, kind: Kind, threads: int) -> Assignment:
        """Return the assignment of `size` ranks, which read about as many rows each; some perhaps none."""
        shares = {
            name: [DataShare(dataset.scan(), each) for each in deal(dataset.fragments, size)]
            for name, dataset in datasets.items()
        }
        return cls(body, shares, kind, threads)

    def with_step(self, step: Step) -> Assignment:
        """Return the same, of rows that go through one step more."""
        more = {name: [share.with_step(step) for share in shares] for name, shares in self.shares.items()}
        return replace(self, shares=more)

    def undivided(self) -> Assignment:
        """Return the same, but that each rank reads what here all of them read."""
        whole = {name: [_joined(shares)] * len(shares) for name, shares in self.shares.items()}
        return replace(self, shares=whole)


def _joined(shares: Sequence[DataShare]) -> DataShare:
    return DataShare(shares[0].scan, tuple(fragment for share in shares for fragment in share.fragments))


@dataclass(frozen=True)
class RankAssignment:
    """One rank's place, where its coordinator listens, and how many starts of the training there were before."""

    index: int
    size: int
    address: tuple[str, int]
    key: bytes = field(repr=False)
    timeout: float
    start_timeout: float
    checkpoint_interval: int
    attempt: int = 0
