"""Training loop of a module on one rank: epochs, updates, checkpoints, early stopping.

The place of a row depends on its number among all rows of the dataset, the seed and the epoch, so a batch is the same
set of rows whatever the engine, the partitioning and the number of ranks, and takes no memory for rows of other ranks.
The permutation is a Feistel network over a square of at least as many numbers, walked until a number is inside: Black
and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002. SplitMix64 is the round function.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from safetensors.torch import save

from penstock.core.errors import DataValueError, EmptyInputError
from penstock.io.row_hashes import hash_rows
from penstock.spmd import Rank
from penstock.stages.base import Blob, Fitted
from penstock.stages.training._watched import Watched, check_stopping
from penstock.stages.training.torch._build import build, set_weights
from penstock.stages.training.torch._data import Rows, read
from penstock.stages.training.torch._group import device_of, process_group
from penstock.stages.training.torch._optimisers import Rates, optimiser
from penstock.stages.training.torch._state import pack, unpack
from penstock.stages.training.torch._strategy import Objective, row_losses, strategy_of

if TYPE_CHECKING:
    from penstock.stages.training.torch._learner import TorchLearner

KIND = "safetensors"
_DIGITS = 5
_EVALUATED = 8192


@dataclass
class _Course:
    """How the losses went, and the weights of the best epoch where early stopping may ask for them.

    Losses are not rounded here, so that a training that goes on from a checkpoint stops where it would have stopped.
    """

    loss: list[float] = field(default_factory=list)
    validation_loss: list[float] = field(default_factory=list)
    kept: Mapping[str, torch.Tensor] | None = None

    @property
    def best(self) -> int:
        """The first epoch, from 0, with the least loss on the validation data; the last where there is none."""
        watched = self.validation_loss
        return watched.index(min(watched)) if watched else len(self.loss) - 1

    def is_over(self, patience: int | None) -> bool:
        """Return whether so many epochs have passed without a smaller loss as patience allows."""
        return patience is not None and len(self.loss) - 1 - self.best >= patience and bool(self.loss)

    def history(self) -> dict[str, list[float]]:
        """Return the losses, rounded: further digits depend on the ranks that added them up."""
        told = {"loss": self.loss, "validation_loss": self.validation_loss}
        return {name: [float(f"{value:.{_DIGITS}g}") for value in values] for name, values in told.items() if values}

    def __str__(self) -> str:
        watched = f", validation {self.validation_loss[-1]:.{_DIGITS}g}" if self.validation_loss else ""
        return f"loss {self.loss[-1]:.{_DIGITS}g}{watched}"


def fit(stage: TorchLearner, rank: Rank, learned: Fitted) -> Fitted:
    """Train on every rank; each returns the same.

    Data is read before the ranks form their group, so that the time limit of collective calls covers computing and no
    reading.

    Raises
    ------
    ConfigError
        Early stopping without a "validation" dataset; a module that does not keep its contract, or that the
        strategy cannot spread over the ranks.
    EmptyInputError
        The validation data has no rows.
    DataValueError
        A loss is not finite.
    """
    check_stopping(rank, stage.early_stopping_rounds, Watched(f"the loss {stage.loss!r}", stage.label, stage.weight))
    device = device_of(rank.kind)
    with _own_settings(rank, device):
        convert = stage.to_rows(learned)
        everything = strategy_of(stage, rank).whole_batches
        rows = {name: read(rank, name, convert, device, everything=everything) for name in rank.datasets}
        counts = rank.gather({name: len(each) for name, each in rows.items()})
        if not sum(count.get("validation", 1) for count in counts):
            raise EmptyInputError("the validation data has no rows", hint="Leave it out, or pass rows to watch.")
        with process_group(rank, device):
            return _Training(stage, rank, learned, device, rows, counts).run()


@contextmanager
def _own_settings(rank: Rank, device: torch.device) -> Iterator[None]:
    """Let PyTorch use the threads of this rank, and leave them, and its random numbers, to others as they were."""
    threads = torch.get_num_threads()
    torch.set_num_threads(rank.threads)
    try:
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            yield
    finally:
        torch.set_num_threads(threads)


def _module(stage: TorchLearner, learned: Fitted) -> torch.nn.Module:
    """Return the module to train: with weights drawn at random, or those that it goes on from."""
    module = build(stage, learned)
    if "weights" in learned:
        set_weights(module, learned["weights"])
    return module


class _Training:
    """One training under way on one rank, inside the group."""

    def __init__(
        self,
        stage: TorchLearner,
        rank: Rank,
        learned: Fitted,
        device: torch.device,
        rows: Mapping[str, Rows],
        counts: list[dict[str, int]],
    ) -> None:
        self.stage, self.rank, self.rows, self.device = stage, rank, rows, device
        kind = strategy_of(stage, rank)
        held = [count["train"] for count in counts]
        total, begin = (held[0], 0) if kind.whole_batches else (sum(held), sum(held[: rank.index]))
        self.order = Order(stage.seed, total, begin, begin + held[rank.index], stage.batch_size)
        self.most_watched = max(count.get("validation", 0) for count in counts)
        self.updates = -(-self.order.count // stage.accumulate)
        self.rates = Rates(
            stage.schedule, stage.learning_rate, self.updates, stage.epochs, stage.step_size, stage.gamma
        )
        self.scaler = torch.amp.GradScaler(device.type, enabled=stage.precision == "float16")
        self.objective = Objective(row_losses(stage.loss, stage.loss_options), stage.precision, self.scaler)
        torch.manual_seed(stage.seed)
        self.strategy = kind(_module(stage, learned), stage, rank, device)
        self.optimiser = optimiser(
            stage.optimizer,
            self.strategy.parameters(),
            learning_rate=stage.learning_rate,
            momentum=stage.momentum,
            weight_decay=stage.weight_decay,
        )
        self.course = self._resumed()

    def _resumed(self) -> _Course:
        if self.rank.checkpoint is None:
            return _Course()
        saved = unpack(self.rank.checkpoint.data)
        self.strategy.load(saved["module"])
        self.strategy.load_optimiser(self.optimiser, saved["optimiser"])
        self.scaler.load_state_dict(saved["scaler"])
        return _Course(**saved["course"])

    def run(self) -> Fitted:
        """Train the epochs that are left."""
        stage, course = self.stage, self.course
        for epoch in range(len(course.loss), stage.epochs):
            if course.is_over(stage.early_stopping_rounds):
                break
            course.loss.append(self._epoch(epoch))
            if "validation" in self.rows:
                course.validation_loss.append(self._watch())
            if stage.early_stopping_rounds is not None and course.best == epoch:
                course.kept = self.strategy.state()
            self.rank.report(epoch + 1, str(course))
            if (epoch + 1) % self.rank.checkpoint_interval == 0 and epoch + 1 < stage.epochs:
                self._save(epoch + 1)
        return self._fitted()

    def _epoch(self, epoch: int) -> float:
        """Train on all rows once, and return the mean loss, each batch's before its update.

        Random numbers start anew from the seed, the epoch and the rank, so that a checkpoint need not hold them.
        """
        (key, *_) = round_keys(self.stage.seed, epoch)
        torch.manual_seed(key + self.rank.index)
        self.strategy.train(True)
        rows = self.rows["train"]
        batches = [torch.from_numpy(places).to(self.device) for places in self.order.batches(epoch)]
        own = [rows.weight[places].sum(dtype=torch.float64) for places in batches]
        weights = self.strategy.total(torch.stack(own)).tolist()
        losses: list[torch.Tensor] = []
        for update in range(self.updates):
            part = slice(update * self.stage.accumulate, (update + 1) * self.stage.accumulate)
            losses += self._update(batches[part], sum(weights[part]), self.rates.of(epoch * self.updates + update))
        told = self.strategy.total(torch.stack(losses)).tolist()
        self._check_losses(told, weights, epoch)
        return math.fsum(told) / math.fsum(weights)

    def _update(self, batches: list[torch.Tensor], weight: float, rate: float) -> list[torch.Tensor]:
        """Change the parameters once, by the gradient of the mean loss of some batches; return the loss of each."""
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.zero_grad()
        losses = [
            self.strategy.backward(
                self.objective,
                self.rows["train"].take(places),
                1 / weight if weight else 0.0,
                last=number == len(batches),
            )
            for number, places in enumerate(batches, start=1)
        ]
        if self.stage.clip_norm is not None:
            self.scaler.unscale_(self.optimiser)
            self.strategy.clip(self.stage.clip_norm)
        self.scaler.step(self.optimiser)
        self.scaler.update()
        return losses

    def _watch(self) -> float:
        """Return the mean loss on the validation data; all ranks take as many steps."""
        self.strategy.train(False)
        rows = self.rows["validation"]
        places = torch.arange(len(rows), device=self.device)
        parts = places.tensor_split(-(-self.most_watched // _EVALUATED))
        losses = [self.strategy.evaluate(self.objective, rows.take(part)) for part in parts]
        sums = torch.stack([torch.stack(losses).sum(), rows.weight.sum(dtype=torch.float64)])
        loss, weight = self.strategy.total(sums).tolist()
        if not weight:
            raise DataValueError("the weights of the validation data are all 0", column=self.stage.weight)
        mean = float(loss / weight)
        if not math.isfinite(mean):
            raise self._diverged(mean, f"on the validation data after epoch {len(self.course.loss)}", self.rates.peak)
        return mean

    def _check_losses(self, losses: list[float], weights: list[float], epoch: int) -> None:
        for batch, (loss, weight) in enumerate(zip(losses, weights, strict=True)):
            if not math.isfinite(loss):
                rate = self.rates.of(epoch * self.updates + batch // self.stage.accumulate)
                place = f"in epoch {epoch + 1}, batch {batch + 1} of {len(losses)}"
                raise self._diverged(loss / (weight or 1.0), place, rate)

    def _diverged(self, loss: float, place: str, rate: float) -> DataValueError:
        reduced = " Or use precision='bfloat16'." if self.stage.precision == "float16" else ""
        return DataValueError(
            f"the loss of {self.stage.label!r} is {loss} {place}, at a learning rate of {rate:.3g}",
            hint=f"Standardise the features, lower learning_rate, or set clip_norm.{reduced}",
            column=self.stage.label,
        )

    def _save(self, epochs: int) -> None:
        state = {
            "module": self.strategy.state(),
            "optimiser": self.strategy.optimiser_state(self.optimiser),
            "scaler": self.scaler.state_dict(),
            "course": vars(self.course),
        }
        if self.rank.index == 0:
            self.rank.save(epochs, pack(state))

    def _fitted(self) -> Fitted:
        course = self.course
        weights = course.kept or self.strategy.state()
        if not all(bool(value.isfinite().all()) for value in weights.values()):
            raise self._diverged(course.loss[-1], f"in epoch {len(course.loss)}, and weights are not finite then", 0)
        epochs = {"epochs": len(course.loss), "best_epoch": course.best + 1}
        return {"weights": Blob(KIND, save(dict(weights))), **epochs, "history": course.history()}


_ROUNDS = 6


@dataclass(frozen=True)
class Order:
    """Batches of the rows of one rank.

    Parameters
    ----------
    seed : int
    total : int
        Rows of all ranks.
    begin, end : int
        Numbers of the rows of this rank.
    size : int
        Rows of a batch, over all ranks.

    Examples
    --------
    >>> halves = [Order(0, 6, begin, begin + 3, 4).batches(epoch=0) for begin in (0, 3)]
    >>> [len(one) + len(other) for one, other in zip(*halves)]
    [4, 2]
    """

    seed: int
    total: int
    begin: int
    end: int
    size: int

    @property
    def count(self) -> int:
        """How many batches an epoch has; the last may be smaller."""
        return -(-self.total // self.size)

    def batches(self, epoch: int) -> list[np.ndarray]:
        """Return, for each batch, which of this rank's rows are in it, counted from 0; some may be empty."""
        numbers = np.arange(self.begin, self.end, dtype=np.uint64)
        places = shuffled(numbers, self.total, round_keys(self.seed, epoch))
        order = np.argsort(places)
        return np.split(order, np.searchsorted(places[order], np.arange(self.size, self.total, self.size)))


def round_keys(seed: int, epoch: int) -> list[int]:
    """Return the keys of the rounds of one epoch."""
    counters = np.arange(epoch * _ROUNDS, (epoch + 1) * _ROUNDS, dtype=np.uint64)
    return [int(unit * 2.0**53) for unit in hash_rows(counters, seed)]


def shuffled(numbers: np.ndarray, total: int, keys: list[int]) -> np.ndarray:
    """Return the place of each number (uint64, below `total`) in a permutation of all numbers below `total`.

    Examples
    --------
    >>> sorted(shuffled(np.arange(5, dtype=np.uint64), 5, round_keys(7, epoch=0)).tolist())
    [0, 1, 2, 3, 4]
    """
    width = math.isqrt(max(total - 1, 0)) + 1
    places = _scrambled(numbers, width, keys)
    while len(outside := np.flatnonzero(places >= total)):
        places[outside] = _scrambled(places[outside], width, keys)
    return places


def _scrambled(numbers: np.ndarray, width: int, keys: list[int]) -> np.ndarray:
    """Return a permutation of the numbers below the square of `width`."""
    left, right = np.divmod(numbers, np.uint64(width))
    for key in keys:
        mixed = (hash_rows(right, key) * width).astype(np.uint64)
        left, right = right, (left + mixed) % np.uint64(width)
    return left * np.uint64(width) + right
