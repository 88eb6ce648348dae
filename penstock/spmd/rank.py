"""What the body of a training sees: its place in the gang, its share of the rows, and how to talk to the others."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import narwhals as nw
import numpy as np

from penstock.core.bounded_pool import ahead
from penstock.core.names import column_names
from penstock.core.recording.meter import measure, measured
from penstock.dataset.steps import RowLog
from penstock.dataset.tasks import ReadTask
from penstock.frames import Kind
from penstock.io.fragments import Fragment
from penstock.spmd.assignment import Assignment, DataShare
from penstock.spmd.checkpoints import Checkpoint
from penstock.spmd.communicator import Communicator
from penstock.spmd.prepared import Prepared, PreparedInputs

Batch = TypeVar("Batch")


@dataclass(frozen=True, eq=False)
class Rank:
    """One of ``size`` processes that train together.

    Parameters
    ----------
    assignment : Assignment
        The rows of all ranks, and where to train.
    communicator : Communicator
        The connection with the other ranks.
    checkpoint : Checkpoint, optional
        Where to go on from.
    checkpoint_interval : int, default 10
        After how many rounds to save.
    inputs : PreparedInputs, optional
        Where what trainings make of the same rows is kept from one to the next.
    """

    assignment: Assignment
    communicator: Communicator
    checkpoint: Checkpoint | None = None
    checkpoint_interval: int = 10
    inputs: PreparedInputs | None = None

    @property
    def index(self) -> int:
        """The place of this rank, from 0."""
        return self.communicator.index

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return self.communicator.size

    @property
    def kind(self) -> Kind:
        """Where the frames are, and where to train: "cpu" or "gpu"."""
        return self.assignment.kind

    @property
    def threads(self) -> int:
        """How many threads this rank may use."""
        return self.assignment.threads

    @property
    def host(self) -> str:
        """The address of this machine at which the other ranks reach it."""
        return self.communicator.host

    @property
    def timeout(self) -> float:
        """Seconds that a collective call may wait for another rank."""
        return self.communicator.timeout

    @property
    def datasets(self) -> list[str]:
        """Names of the datasets there are: "train", and "validation" where it was given."""
        return list(self.assignment.shares)

    def batches(self, name: str, columns: Sequence[str], convert: Callable[[nw.DataFrame], Batch]) -> Iterator[Batch]:
        """Yield what `convert` makes of each of this rank's fragments of a dataset; nothing for a rank without rows.

        Fragments come in order, but as many as the rank has threads are read and converted at the same time. Bad values
        that `convert` finds (a `DataValueError` with a predicate) are told with their file and row.
        """
        return self._convert(self._share(name), columns, convert)

    def all_batches(
        self, name: str, columns: Sequence[str], convert: Callable[[nw.DataFrame], Batch]
    ) -> Iterator[Batch]:
        """Yield, as `batches` does, what `convert` makes of the fragments of all ranks, in the order of the dataset."""
        for share in self.assignment.shares[name]:
            yield from self._convert(share, columns, convert)

    def with_all_rows(self) -> Self:
        """Return this rank with the rows of all ranks for its own, in the order of the dataset."""
        return replace(self, assignment=self.assignment.undivided())

    def _share(self, name: str) -> DataShare:
        return self.assignment.shares[name][self.index]

    def _convert(
        self, share: DataShare, columns: Sequence[str], convert: Callable[[nw.DataFrame], Batch]
    ) -> Iterator[Batch]:
        scan = ReadTask(share.scan.reader, share.scan.steps, column_names(columns, "columns"), self.kind)

        def convert_fragment(fragment: Fragment) -> Batch:
            return scan.convert(fragment, RowLog(), convert)

        if self.kind == "gpu" or self.threads == 1:
            yield from map(convert_fragment, share.fragments)
        else:
            yield from measured("decode", ahead(convert_fragment, share.fragments, self.threads))

    def prepared(self, key: Hashable, build: Callable[[], Prepared]) -> Prepared:
        """Return what `build` makes of this rank's rows; of an earlier training on the same rows, where it is there.

        Parameters
        ----------
        key : hashable
            All that what is made depends on, besides the rows: columns, and how they are converted.
        build : callable
            What it makes is changed by no training.
        """
        return build() if self.inputs is None else self.inputs.get(key, build)

    def rows(self, name: str) -> int:
        """Return how many rows this rank's fragments store, before any split or filter."""
        return self._share(name).rows

    def total_rows(self, name: str) -> int:
        """Return how many rows the fragments of all ranks store."""
        return sum(share.rows for share in self.assignment.shares[name])

    def numbers_rows(self, name: str) -> bool:
        """Return whether rows still have their numbers, the column ``__row__``, after all steps."""
        return not any(step.makes_rows for step in self._share(name).scan.steps)

    @property
    def keeps_checkpoints(self) -> bool:
        """Whether a checkpoint that is saved can be gone on from; if not, none has to be made."""
        return self.communicator.keeps_checkpoints

    def save(self, rounds: int, data: bytes) -> None:
        """Save a checkpoint; only rank 0's is kept."""
        if self.index == 0:
            self.communicator.save(Checkpoint(rounds, data))

    def report(self, rounds: int, detail: str = "") -> None:
        """Tell that this many rounds are complete."""
        self.communicator.report(rounds, detail)

    def gather(self, value: Any) -> list[Any]:
        """Return what every rank gave, in the order of the ranks; each calls it, as often as the others.

        Parameters
        ----------
        value : object
            A few numbers, say; it goes by way of the driver. Ranks wait here for each other without a time limit, so it
            is a place to wait for those that still read.
        """
        with measure("communicate"):
            return self.communicator.gather(value)

    def allreduce(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of an array over all ranks, the same to the bit on each; every rank calls it.

        Parameters
        ----------
        values : numpy.ndarray
            Of one shape and type on every rank, on the host; it is left as it is. Sums are made by the driver, in the
            order of the ranks. Ranks wait here for each other without a time limit.
        """
        with measure("communicate"):
            return self.communicator.allreduce(values)

    @contextmanager
    def collective(self) -> Iterator[None]:
        """Take part in collective calls of XGBoost while inside; every rank enters, with rows or without.

        Data should be read before: ranks wait here for each other without a time limit; a collective call has one.

        Raises
        ------
        InsecureClusterError
            There are several ranks, XGBoost would listen on every address of their machines, and the options of the
            training do not allow it. A body that says so (``opens_ports``) is refused before it starts.
        """
        arguments = self.communicator.rendezvous()
        if self.size == 1:
            yield
            return
        from xgboost import collective
        from xgboost.core import XGBoostError

        collective.init(**arguments, dmlc_task_id=f"{self.index:08d}")
        try:
            yield
        except BaseException:
            with suppress(XGBoostError):
                collective.finalize()  # closes its connections, so that the others fail at once instead of waiting
            raise
        collective.finalize()
