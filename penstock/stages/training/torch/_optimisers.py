"""Optimisers by name, and learning rates that follow a schedule: functions of the update's number, without a state."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

_WARM = 0.3
_LOWEST, _START = 1e-4, 25.0
_OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
}


def optimiser(
    name: str, parameters: Iterable[torch.Tensor], *, learning_rate: float, momentum: float, weight_decay: float
) -> torch.optim.Optimizer:
    """Return PyTorch's optimiser of this name; momentum is for ``sgd`` alone."""
    more = {"momentum": momentum} if name == "sgd" else {}
    return _OPTIMISERS[name](parameters, lr=learning_rate, weight_decay=weight_decay, **more)


@dataclass(frozen=True)
class Rates:
    """The learning rate of each update.

    Parameters
    ----------
    schedule : {"cosine", "step", "one_cycle"} or None
        As `CosineAnnealingLR` and `OneCycleLR` of PyTorch, stepped every update, and `StepLR`, stepped every epoch.
    peak : float
        The learning rate that is given: that of the first update, and for ``one_cycle`` the largest.
    updates : int
        Updates of an epoch.
    epochs : int
    step_size : int
        Epochs between two steps.
    gamma : float
        What a step multiplies the rate by.

    Examples
    --------
    >>> rates = Rates("cosine", 0.1, updates=2, epochs=2, step_size=1, gamma=0.1)
    >>> [round(rates.of(number), 4) for number in range(4)]
    [0.1, 0.0854, 0.05, 0.0146]
    """

    schedule: str | None
    peak: float
    updates: int
    epochs: int
    step_size: int
    gamma: float

    def of(self, number: int) -> float:
        """Return the rate of an update, counted from 0 over all epochs."""
        last = self.updates * self.epochs - 1
        if self.schedule == "cosine":
            return self.peak * _fall(number / (last + 1))
        if self.schedule == "step":
            return float(self.peak * self.gamma ** (number // self.updates // self.step_size))
        if self.schedule == "one_cycle":
            return self._one_cycle(number, last)
        return self.peak

    def _one_cycle(self, number: int, last: int) -> float:
        """Rise from a 25th of the peak, and fall to a 250,000th of it, each along half a cosine."""
        start, top = self.peak / _START, _WARM * (last + 1) - 1
        if number <= top:
            return self.peak + (start - self.peak) * _fall(number / top)
        end = start * _LOWEST
        return end + (self.peak - end) * _fall((number - top) / (last - top))


def _fall(share: float) -> float:
    return (1 + math.cos(math.pi * share)) / 2
