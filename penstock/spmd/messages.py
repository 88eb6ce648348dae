"""What ranks and their coordinator tell each other, over an authenticated connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.core.errors import PenstockError
from penstock.spmd.checkpoints import Checkpoint


@dataclass(frozen=True)
class Joined:
    """Rank to coordinator: here I am; ``name`` says which process on which host."""

    index: int
    name: str


@dataclass(frozen=True)
class Start:
    """Coordinator to rank: all have joined; go on from the checkpoint, if there is one."""

    checkpoint: Checkpoint | None


@dataclass(frozen=True)
class Ready:
    """Rank to coordinator: my data is in memory, I can take part in collective calls of XGBoost.

    The answer are the arguments of its communicator.
    """


@dataclass(frozen=True)
class Gather:
    """Rank to coordinator: a small value; the answer are those of all ranks, in their order."""

    value: Any


@dataclass(frozen=True)
class Reduce:
    """Rank to coordinator: an array; the answer is the sum of those of all ranks."""

    values: np.ndarray


@dataclass(frozen=True)
class Answer:
    """Coordinator to rank: what a collective call gives, the same to all."""

    value: Any


@dataclass(frozen=True)
class Alive:
    """Rank to coordinator, once a second: I am not frozen."""


@dataclass(frozen=True)
class Round:
    """Rank to coordinator: this many rounds are complete."""

    rounds: int
    detail: str


@dataclass(frozen=True)
class Saved:
    """Rank 0 to coordinator: a checkpoint."""

    checkpoint: Checkpoint


@dataclass(frozen=True)
class Done:
    """Rank to coordinator: my body returned; rank 0 tells what."""

    result: Any


@dataclass(frozen=True)
class Failed:
    """Rank to coordinator: my body raised. ``lost_peer`` says that it is only what a lost peer looks like from here."""

    error: PenstockError
    lost_peer: bool
