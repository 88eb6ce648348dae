"""What the body of a training sees: its place in the gang, its share of the rows, and how to talk to the others."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import devices
from penstock.ahead import ahead
from penstock.errors import ConfigError, PenstockError, UserCodeError
from penstock.fragments import Fragment, Piece, deal
from penstock.frames import Kind
from penstock.spmd.channel import Channel
from penstock.spmd.checkpoints import Checkpoint, CheckpointStore
from penstock.spmd.messages import Ticket
from penstock.spmd.options import SpmdOptions
from penstock.steps import RowLog
from penstock.task_errors import translated
from penstock.tasks import Scan

if TYPE_CHECKING:
    from penstock.dataset import Dataset
    from penstock.engines.base import Engine

Batch = TypeVar("Batch")
Body = Callable[["Rank"], Any]


@dataclass(frozen=True)
class Share:
    """One dataset's fragments for one rank, and the work of reading them."""

    scan: Scan
    fragments: tuple[Fragment, ...]


def shares(dataset: Dataset, size: int) -> list[Share]:
    """Return what each of `size` ranks reads: runs of about the same number of rows, some perhaps without any."""
    return [Share(dataset.scan(), fragments) for fragments in deal(dataset.fragments, size)]


@dataclass(frozen=True)
class Work:
    """What every rank is given: the body, and for each dataset the shares of all ranks."""

    body: Body
    shares: Mapping[str, Sequence[Share]]
    kind: Kind
    threads: int

    @classmethod
    def of(cls, body: Body, datasets: Mapping[str, Dataset], size: int, kind: Kind, threads: int) -> Work:
        """Return the work of `size` ranks."""
        return cls(body, {name: shares(dataset, size) for name, dataset in datasets.items()}, kind, threads)


class Rank:
    """One of ``size`` processes that train together.

    Attributes
    ----------
    index, size : int
    kind : {"cpu", "gpu"}
        Where the frames are, and where to train.
    threads : int
        How many threads this rank may use.
    checkpoint : Checkpoint or None
        Where to go on from.
    checkpoint_interval : int
        After how many rounds to save.
    """

    def __init__(
        self, index: int, size: int, work: Work, checkpoint: Checkpoint | None, interval: int, channel: Channel | _Alone
    ) -> None:
        self.index, self.size, self.kind, self.threads = index, size, work.kind, work.threads
        self.checkpoint, self.checkpoint_interval = checkpoint, interval
        self._work, self._channel = work, channel

    @property
    def host(self) -> str:
        """The address of this machine at which the other ranks reach it."""
        return self._channel.host

    @property
    def timeout(self) -> float:
        """Seconds that a collective call may wait for another rank."""
        return self._channel.timeout

    @property
    def datasets(self) -> list[str]:
        """Names of the datasets there are: "train", and "validation" where it was given."""
        return list(self._work.shares)

    def batches(self, name: str, columns: Sequence[str], convert: Callable[[nw.DataFrame], Batch]) -> Iterator[Batch]:
        """Yield what `convert` makes of each of this rank's fragments of a dataset; nothing for a rank without rows.

        Fragments come in order, but as many as the rank has threads are read and converted at the same time. Bad values
        that `convert` finds (a `DataValueError` with a predicate) are told with their file and row.
        """
        return self._converted(self._work.shares[name][self.index], columns, convert)

    def all_batches(
        self, name: str, columns: Sequence[str], convert: Callable[[nw.DataFrame], Batch]
    ) -> Iterator[Batch]:
        """Yield, as `batches` does, what `convert` makes of the fragments of all ranks, in the order of the dataset."""
        for share in self._work.shares[name]:
            yield from self._converted(share, columns, convert)

    def _converted(
        self, share: Share, columns: Sequence[str], convert: Callable[[nw.DataFrame], Batch]
    ) -> Iterator[Batch]:
        scan = Scan(share.scan.reader, share.scan.steps, tuple(columns), self.kind)

        def converted(fragment: Fragment) -> Batch:
            return scan.convert(fragment, RowLog(), convert)

        if self.kind == "gpu" or self.threads == 1:
            yield from map(converted, share.fragments)
        else:
            yield from ahead(converted, share.fragments, self.threads)

    def rows(self, name: str) -> int:
        """Return how many rows this rank's fragments store, before any split or filter."""
        return sum(fragment.rows for fragment in self._work.shares[name][self.index].fragments)

    def total_rows(self, name: str) -> int:
        """Return how many rows the fragments of all ranks store."""
        return sum(fragment.rows for share in self._work.shares[name] for fragment in share.fragments)

    def numbers_rows(self, name: str) -> bool:
        """Return whether rows still have their numbers, the column ``__row__``, after all steps."""
        return not any(step.makes_rows for step in self._work.shares[name][self.index].scan.steps)

    def save(self, rounds: int, data: bytes) -> None:
        """Save a checkpoint; only rank 0's is kept."""
        if self.index == 0:
            self._channel.save(Checkpoint(rounds, data))

    def report(self, rounds: int, detail: str = "") -> None:
        """Tell that this many rounds are complete."""
        self._channel.round(rounds, detail)

    def gather(self, value: Any) -> list[Any]:
        """Return what every rank gave, in the order of the ranks; each calls it, as often as the others.

        Parameters
        ----------
        value : object
            A few numbers, say; it goes by way of the driver. Ranks wait here for each other without a time limit, so it
            is a place to wait for those that still read.
        """
        return self._channel.gather(value)

    def allreduce(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of an array over all ranks, the same to the bit on each; every rank calls it.

        Parameters
        ----------
        values : numpy.ndarray
            Of one shape and type on every rank, on the host; it is left as it is. Sums are made by the driver, in the
            order of the ranks. Ranks wait here for each other without a time limit.
        """
        return self._channel.reduce(values)

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
        arguments = self._channel.meet()
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


def checkpoints(options: SpmdOptions, body: Body, datasets: Mapping[str, Dataset], size: int) -> CheckpointStore:
    """Return where the checkpoints of one training are kept; those of others, in the same directory, are not seen."""
    key = "" if options.checkpoint_dir is None else fingerprint(body, datasets, size)
    return CheckpointStore(options.checkpoint_dir, key)


def fingerprint(body: Body, datasets: Mapping[str, Dataset], size: int) -> str:
    """Return a text that differs between trainings: of what, on which rows, after which steps, on how many ranks."""
    return repr((body, {name: _rows(dataset) for name, dataset in datasets.items()}, size))


def _rows(dataset: Dataset) -> tuple[Any, ...]:
    pieces = [_identity(piece) for fragment in dataset.fragments for piece in fragment.pieces]
    return dataset.steps, dataset.reader.samples, pieces


def _identity(piece: Piece) -> tuple[Any, ...]:
    """Return what tells the rows of a piece from others: the file as it was planned, or the values themselves."""
    if piece.table is None:
        return piece.path, piece.size, piece.mtime, piece.first, piece.rows
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, piece.table.schema) as writer:
        writer.write_table(piece.table)
    return hashlib.sha256(sink.getvalue()).hexdigest(), piece.first, piece.rows


def run_rank(ticket: Ticket, work: Work) -> None:
    """Run the body as one rank of a gang, on a worker; its outcome goes to the coordinator."""
    with Channel(ticket) as channel:
        start = channel.join()
        rank = Rank(ticket.index, ticket.size, work, start.checkpoint, ticket.checkpoint_interval, channel)
        try:
            devices.use(work.kind)
            result = work.body(rank)
            channel.done(result if ticket.index == 0 else None)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            lost_peer = is_lost_peer(error)
            what = "its collective call" if lost_peer else f"rank {ticket.index} ({channel.name})"
            with suppress(OSError):  # the coordinator has hung up: it has given up on this attempt
                channel.failed(translated(error, what, UserCodeError), lost_peer=lost_peer)


_LOST = {
    "XGBoostError": ("collective/", "allreduce", "allgather", "broadcast", "socket"),
    "DistError": ("",),  # all of torch.distributed but gloo, which has no class of its own
    "RuntimeError": ("/gloo/",),
}
"""Classes of errors, and words one of which is in the text of those that tell of a lost peer."""


def is_lost_peer(error: BaseException) -> bool:
    """Return whether an error is what a lost peer looks like from inside a collective call."""
    words = [word for kind in type(error).__mro__ for word in _LOST.get(kind.__name__, ())]
    return any(word in str(error) for word in words)


class _Alone:
    """The channel of the only rank: no one to talk to but the progress and the checkpoints of this process."""

    host, timeout = "127.0.0.1", math.inf

    def __init__(self, store: CheckpointStore, advance: Callable[[int, str], None]) -> None:
        self._store, self._advance, self._rounds = store, advance, 0

    def meet(self) -> dict[str, Any]:
        return {}

    def gather(self, value: Any) -> list[Any]:
        return [value]

    def reduce(self, values: np.ndarray) -> np.ndarray:
        return values.copy()

    def save(self, checkpoint: Checkpoint) -> None:
        self._store.save(checkpoint)

    def round(self, rounds: int, detail: str) -> None:
        self._advance(rounds - self._rounds, detail)
        self._rounds = rounds


def run_alone(
    body: Body, datasets: Mapping[str, Dataset], options: SpmdOptions, engine: Engine, label: str, *, threads: int
) -> Any:
    """Run the body in this process as the only rank, on so many threads.

    Raises
    ------
    ConfigError
        More than one rank was asked for.
    """
    if options.world_size not in (None, 1):
        raise ConfigError(
            f"world_size is {options.world_size}, but the {engine.name} engine has one rank", hint="Use Dask or Spark."
        )
    work = Work.of(body, datasets, 1, engine.kind, threads)
    total = getattr(body, "rounds", 0)
    with checkpoints(options, body, datasets, 1) as store, engine.progress.track(label, total) as track:
        rank = Rank(0, 1, work, store.load(), options.checkpoint_interval, _Alone(store, track.advance))
        devices.use(work.kind)
        result = guarded(body, rank, label)
        store.clear()
        return result


def guarded(body: Body, rank: Rank, label: str) -> Any:
    """Call the body; what it raises that is not an error of Penstock's own is told as one."""
    try:
        return body(rank)
    except (PenstockError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise translated(error, label, UserCodeError, stage=label) from error
