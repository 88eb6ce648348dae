"""Ranks that are threads of the test's own process."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from penstock.dataset import Dataset
from penstock.pipeline import Pipeline
from penstock.spmd.rank import Rank, Work
from penstock.stages.base import Stage, Trainer


class Gang:
    """Ranks that add up arrays when all have come, in an order that differs from array to array."""

    def __init__(self, size: int) -> None:
        self.size, self._barrier = size, threading.Barrier(size, timeout=30)
        self._given: dict[int, np.ndarray] = {}

    def allreduce(self, index: int, values: np.ndarray) -> np.ndarray:
        self._given[index] = values
        self._barrier.wait()
        order = np.random.default_rng(values.size).permutation(self.size)
        total = sum(self._given[place] for place in order)
        self._barrier.wait()
        return np.asarray(total)

    def run(self, stage: Stage, data: Dataset) -> list[Any]:
        """Return what each rank makes of the training of `stage` alone."""
        bound = Pipeline(stage).plan(data).stages[0]
        assert isinstance(bound, Trainer)
        learned: list[Any] = []
        train = type(bound).train
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(bound), "train", lambda *given: learned.append(given[-1]) or train(*given))
            Pipeline(stage).fit(data)
        ranks = [self._rank(index, data) for index in range(self.size)]
        with ThreadPoolExecutor(self.size) as pool:
            return list(pool.map(lambda rank: bound.train(rank, learned[0]), ranks))

    def _rank(self, index: int, data: Dataset) -> Rank:
        work = Work.of(lambda rank: None, {"train": data}, self.size, "cpu", 1)
        rank = Rank(index, self.size, work, None, 10, Quiet())  # type: ignore[arg-type]
        rank.allreduce = lambda values: self.allreduce(index, values)  # type: ignore[method-assign]
        return rank


class Quiet:
    """The channel of a rank that nobody listens to."""

    def save(self, checkpoint: Any) -> None:
        """Keep nothing."""

    def round(self, rounds: int, detail: str) -> None:
        """Tell nobody."""
