"""How a rank talks to the others: the collective calls, its checkpoints, its progress."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, Protocol

import numpy as np

from penstock.spmd.checkpoints import Checkpoint, CheckpointStore


class Communicator(Protocol):
    """What a `Rank` needs of whatever connects it with the others.

    `penstock.spmd.worker.Channel` is the one over an authenticated connection to the coordinator;
    `penstock.testing.LocalGang` has one for ranks that are threads of a test. Collective calls (`rendezvous`, `gather`,
    `allreduce`) are made by every rank, in the same order; each waits for all others.
    """

    @property
    def index(self) -> int:
        """The place of this rank, from 0."""

    @property
    def size(self) -> int:
        """How many ranks there are."""

    @property
    def host(self) -> str:
        """The address at which the other ranks reach this one."""

    @property
    def timeout(self) -> float:
        """Seconds that a collective call of XGBoost or PyTorch may wait for another rank."""

    @property
    def keeps_checkpoints(self) -> bool:
        """Whether a checkpoint that is saved can be gone on from."""

    def rendezvous(self) -> dict[str, Any]:
        """Return, when every rank has called it, the arguments of XGBoost's own communicator; none for one rank."""

    def gather(self, value: Any) -> list[Any]:
        """Return the small value of every rank, in the order of the ranks."""

    def allreduce(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the arrays of all ranks as a new array, the same to the bit on each."""

    def save(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint, in place of the one before."""

    def report(self, rounds: int, detail: str) -> None:
        """Tell that this many rounds are complete."""


class SoloCommunicator:
    """That of the only rank, in the process of its driver: nobody else to wait for.

    Parameters
    ----------
    store : CheckpointStore
    advance : callable
        Told of the rounds that are new, and their detail.
    """

    index, size, host, timeout = 0, 1, "127.0.0.1", inf

    def __init__(self, store: CheckpointStore, advance: Callable[[int, str], None]) -> None:
        self._store, self._advance, self._rounds = store, advance, 0
        # The only rank ends with its driver, and nobody starts it again from what is removed then.
        self.keeps_checkpoints = not store.is_private

    def rendezvous(self) -> dict[str, Any]:
        """Return no arguments."""
        return {}

    def gather(self, value: Any) -> list[Any]:
        """Return the value alone."""
        return [value]

    def allreduce(self, values: np.ndarray) -> np.ndarray:
        """Return a copy."""
        return values.copy()

    def save(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint in the store, where it can be gone on from."""
        if self.keeps_checkpoints:
            self._store.save(checkpoint)

    def report(self, rounds: int, detail: str) -> None:
        """Advance the progress by the rounds that are new."""
        self._advance(rounds - self._rounds, detail)
        self._rounds = rounds
