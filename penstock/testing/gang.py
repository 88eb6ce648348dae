"""Ranks that are threads of this process, to test what trains on several of them."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from penstock.core.errors import ExecutionError
from penstock.dataset.dataset import Dataset
from penstock.engines.local.engine import LocalEngine
from penstock.frames import Kind
from penstock.pipeline.pipeline import Pipeline
from penstock.spmd import Assignment, Body, Rank, SpmdOptions
from penstock.spmd.checkpoints import Checkpoint
from penstock.spmd.collectives import Collectives, Contribution
from penstock.spmd.messages import Gather, Ready, Reduce
from penstock.spmd.xgboost_ports import Rendezvous
from penstock.stages.base import Fitted
from penstock.stages.trainer import Trainer


class LocalGang:
    """Runs a body on several ranks without a cluster, workers or a connection between them.

    Parameters
    ----------
    size : int
        How many ranks.
    shuffle_sums : bool, default False
        Add up the arrays of `Rank.allreduce` in an order that differs from call to call, as no cluster does: what a
        trainer learns is the same to the bit all the same where its sums are exact.
    options : SpmdOptions, optional
        How often to save, how long ranks wait for each other, and whether XGBoost's may open ports.

    Attributes
    ----------
    checkpoints : list of Checkpoint
        What rank 0 has saved in the last run, in order.
    reports : list of list of (int, str)
        For each rank, the rounds and details that it has told in the last run.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from penstock import LocalEngine
    >>> data = {"train": LocalEngine().from_arrow(pa.table({"x": [1.0, 2.0, 4.0]}))}
    >>> def total(rank):
    ...     own = sum(rank.batches("train", ["x"], lambda frame: frame["x"].sum()))
    ...     return float(rank.allreduce(np.array([own]))[0])
    >>> LocalGang(2).run(total, data)
    [7.0, 7.0]
    >>> from penstock import stages as st
    >>> gang = LocalGang(2)
    >>> one, other = gang.train(st.KMeans("x", k=2), data["train"])
    >>> one == other, gang.reports[0] == gang.reports[1]
    (True, True)
    """

    def __init__(self, size: int, *, shuffle_sums: bool = False, options: SpmdOptions | None = None) -> None:
        self.size, self.shuffle_sums, self.options = size, shuffle_sums, options or SpmdOptions()
        self.checkpoints: list[Checkpoint] = []
        self.reports: list[list[tuple[int, str]]] = [[] for _ in range(size)]

    def run(
        self, body: Body, datasets: Mapping[str, Dataset], *, checkpoint: Checkpoint | None = None, threads: int = 1
    ) -> list[Any]:
        """Return what the body returns on each rank.

        Parameters
        ----------
        body : callable
            Takes a `Rank`; of a bound trainer, ``lambda rank: stage.train(rank, learned)``.
        datasets : mapping of str to Dataset
            Dealt to the ranks as engines do.
        checkpoint : Checkpoint, optional
            Where to go on from.
        threads : int, default 1
            Threads of each rank.

        Raises
        ------
        ExecutionError
            Ranks made different collective calls, or waited for one that has ended.
        Exception
            What the body raised, as it is; that of the first rank, where several did.
        """
        ranks = self.ranks(datasets, checkpoint=checkpoint, threads=threads)

        def run_rank(rank: Rank) -> Any:
            try:
                return body(rank)
            except BaseException:
                self._meeting.abort()
                raise

        try:
            with ThreadPoolExecutor(self.size) as pool:
                return _results([pool.submit(run_rank, rank) for rank in ranks])
        finally:
            self._rendezvous.close()

    def ranks(
        self, datasets: Mapping[str, Dataset] | None = None, *, checkpoint: Checkpoint | None = None, threads: int = 1
    ) -> list[Rank]:
        """Return new ranks: one alone to be used at will, several in a thread each, as `run` does."""
        datasets = datasets or {}
        kind: Kind = next((dataset.engine.kind for dataset in datasets.values()), "cpu")
        assignment = Assignment.of(lambda rank: None, datasets, self.size, kind, threads)
        self.checkpoints, self.reports = [], [[] for _ in range(self.size)]
        self._rendezvous = Rendezvous(self.size, InProcessCommunicator.host, self.options)
        self._meeting = _Meeting(self.size, Collectives(self.size, self._rendezvous.arguments), self.options.timeout)
        communicators = [InProcessCommunicator(index, self, self._meeting) for index in range(self.size)]
        return [Rank(assignment, each, checkpoint, self.options.checkpoint_interval) for each in communicators]

    def train(
        self,
        stage: Trainer,
        data: Dataset,
        *,
        validation: Dataset | None = None,
        checkpoint: Checkpoint | None = None,
        threads: int = 1,
    ) -> list[Fitted]:
        """Fit a pipeline of one trainer, and return what each rank has learned.

        Parameters
        ----------
        stage : Trainer
        data : Dataset
        validation : Dataset, optional
        checkpoint : Checkpoint, optional
            Where to go on from.
        threads : int, default 1
            Threads of each rank.
        """
        engine = _GangEngine(data.engine.kind, partial(self.run, checkpoint=checkpoint, threads=threads))
        watched = validation and replace(validation, engine=engine)
        Pipeline(stage).fit(replace(data, engine=engine), validation=watched, options=self.options)
        return engine.results


class _GangEngine(LocalEngine):
    """Trains on the ranks of a gang, and keeps what each of them returned."""

    def __init__(self, device: str, run: Callable[[Body, Mapping[str, Dataset]], list[Any]]) -> None:
        super().__init__(device=device)
        self.results: list[Any] = []
        self._run = run

    def ranks(self, options: SpmdOptions, *, label: str = "train") -> int:
        """Return 1: the gang has its own number, and its own word on ports."""
        return 1

    def spmd(self, body: Body, datasets: Mapping[str, Dataset], options: SpmdOptions, *, label: str = "train") -> Any:
        """Run `body` on every rank, whatever the options say of their number."""
        self.results = self._run(body, datasets)
        return self.results[0]


class InProcessCommunicator:
    """Connects a rank of a `LocalGang` with the others; a `penstock.spmd.Communicator`.

    What ranks hand to each other is pickled as on a cluster: none sees the objects of another.
    """

    host = "127.0.0.1"

    def __init__(self, index: int, gang: LocalGang, meeting: _Meeting) -> None:
        self.index, self.size, self.timeout = index, gang.size, gang.options.timeout
        self._gang, self._meeting, self._sums = gang, meeting, 0

    def rendezvous(self) -> dict[str, Any]:
        """Wait until every rank is ready, and return where XGBoost's ranks meet."""
        return self._meeting.exchange(self.index, Ready())

    def gather(self, value: Any) -> list[Any]:
        """Return copies of what the ranks gave."""
        return self._meeting.exchange(self.index, Gather(value))

    def allreduce(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the arrays of all ranks."""
        return self._meeting.exchange(self._place(), Reduce(values))

    def _place(self) -> int:
        """Return which term of the next sum that of this rank is."""
        self._sums += 1
        if not self._gang.shuffle_sums:
            return self.index
        return int(np.random.default_rng(self._sums).permutation(self.size)[self.index])

    keeps_checkpoints = True

    def save(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint with those before it."""
        self._gang.checkpoints.append(checkpoint)

    def report(self, rounds: int, detail: str) -> None:
        """Keep what was told."""
        self._gang.reports[self.index].append((rounds, detail))


class _Abandoned(ExecutionError):
    """Raised where a rank waits in vain."""


class _Meeting:
    """Where ranks wait for each other, so that each collective call is complete before the next begins."""

    def __init__(self, size: int, collectives: Collectives, timeout: float) -> None:
        self._collectives = collectives
        self._contributions: list[tuple[int, Contribution]] = []
        self._answer = b""
        self._barrier = threading.Barrier(size, self._complete, timeout)

    def exchange(self, index: int, contribution: Contribution) -> Any:
        """Return what comes of what all ranks hand in."""
        self._contributions.append((index, pickle.loads(pickle.dumps(contribution))))
        try:
            self._barrier.wait()
        except threading.BrokenBarrierError:
            raise _Abandoned("a collective call waited for a rank that has ended, or makes none") from None
        return pickle.loads(self._answer)

    def _complete(self) -> None:
        *_, answer = [self._collectives.add(*each) for each in self._contributions]
        if answer is None:
            names = sorted({type(each).__name__ for _, each in self._contributions})
            raise ExecutionError(
                f"ranks make different collective calls at the same time: {' and '.join(names)}",
                hint="Every rank makes the same calls of gather, allreduce and collective in the same order.",
            )
        self._contributions, self._answer = [], pickle.dumps(answer.value)

    def abort(self) -> None:
        """Let go who waits: a rank has failed."""
        self._barrier.abort()


def _results(ranks: Sequence[Future[Any]]) -> list[Any]:
    """Return what all ranks returned, or raise what the first of them raised that was not let down by another."""
    errors = [error for rank in ranks if (error := rank.exception()) is not None]
    for error in sorted(errors, key=lambda error: isinstance(error, _Abandoned)):
        raise error
    return [rank.result() for rank in ranks]
