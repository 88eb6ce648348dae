"""What a training takes with any number of rows and workers, fitted to that of recorded runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Self

import numpy as np

from penstock.runs.scaling.least_squares import LeastSquares
from penstock.runs.scaling.observation import RunObservation, TrainObservation
from penstock.runs.scaling.prediction import Size, SpanParts, quantiles

_MEASURED = 0.01
"""A smaller share of communication is none: the trainer exchanges within a library, where nothing measures it."""


@dataclass(frozen=True, kw_only=True)
class TrainModel:
    """A training: ranks that have equal shares of the rows, the slowest of which the others wait for.

    Attributes
    ----------
    ranks : float
        How many there are for a worker.
    phases : mapping of str to LeastSquares
        Seconds of a rank by its rows, 1, and the other ranks; without the phase ``communicate``.
    factors : tuple of float
        Quantiles of what a rank computes as a multiple of the mean.
    communicate : LeastSquares
        Seconds besides those that it waits for the slowest, by the other ranks, by how far the last of so many is from
        the mean times what a rank computes, and by the share of the other ranks.
    launch : LeastSquares
        Seconds until ranks begin and after they end, by 1 and the other ranks.
    """

    ranks: float
    phases: Mapping[str, LeastSquares]
    factors: tuple[float, ...]
    communicate: LeastSquares
    launch: LeastSquares

    @classmethod
    def fit(cls, observed: Sequence[tuple[RunObservation, TrainObservation]]) -> Self:
        """Return the model of a training of several runs."""
        trains = [train for _, train in observed]
        ranks = [len(train.ranks) for train in trains]
        waits = [max(0.0, float(train.ranks.mean() - train.own.max())) for train in trains]
        measured = sum(waits) > _MEASURED * sum(train.seconds for train in trains)
        points = [(run.rows / len(train.ranks), 1, 0 if measured else len(train.ranks) - 1) for run, train in observed]
        several = [train for train in trains if len(train.ranks) > 1] or trains
        launches = [max(0.0, train.seconds - float(train.ranks.max())) for train in trains]
        exchanges = [_exchange(len(train.ranks), float(train.own.mean())) for train in trains]
        return cls(
            ranks=float(np.mean([len(train.ranks) / run.workers for run, train in observed])),
            phases={name: LeastSquares.fit(points, each) for name, each in _means(trains).items()},
            factors=quantiles(np.concatenate([train.own / (train.own.mean() or 1.0) for train in several])),
            communicate=LeastSquares.fit(exchanges, waits),
            launch=LeastSquares.fit([(1, each - 1) for each in ranks], launches),
        )

    def predict(self, size: Size) -> SpanParts:
        """Return what the training takes of a run of some size."""
        ranks = max(1, round(self.ranks * size.workers))
        point, others = (size.rows / ranks, 1.0, ranks - 1.0), (1.0, ranks - 1.0)
        computed = {name: each.value((*point[:2], 0.0)) / size.speed for name, each in self.phases.items()}
        phases, own = defaultdict(float, computed), sum(computed.values())
        exchange = _exchange(ranks, own)
        within = others[1] * sum(each.coefficients[2] for each in self.phases.values())
        between, launch = self.communicate.value(exchange), self.launch.value(others)
        uneven = own * (slowest(self.factors, ranks) - 1)
        phases["train"] += within
        # Ranks wait for the slowest within what they exchange, where that is measured.
        phases["communicate" if between else "wait"] += between + uneven
        phases["wait"] += launch
        fits = [(self.communicate, exchange), (self.launch, others), *((each, point) for each in self.phases.values())]
        return SpanParts(
            phases={name: seconds for name, seconds in phases.items() if seconds},
            serial=sum(each.coefficients[1] for each in self.phases.values()) / size.speed + launch,
            communicate=between + within,
            deviation=sum(each.deviation(at) for each, at in fits),
        )


def _means(trains: Sequence[TrainObservation]) -> dict[str, list[float]]:
    """Return by phase what a rank of each training takes, without the phase ``communicate``."""
    names = {name for train in trains for name, each in train.phases.items() if each and name != "communicate"}
    return {name: [train.phases[name] / len(train.ranks) for train in trains] for name in sorted(names)}


def _exchange(ranks: int, own: float) -> tuple[float, float, float]:
    """Return what communication grows with.

    Ranks that take a round a little longer now and then wait for the last of them in each round: of normal deviates by
    Blom, "Statistical estimates and transformed beta-variables", Wiley 1958.
    """
    last = NormalDist().inv_cdf((ranks - 0.375) / (ranks + 0.25))
    return ranks - 1.0, own * last, (ranks - 1.0) / ranks


def slowest(factors: Sequence[float], ranks: int) -> float:
    """Return what the slowest of some ranks takes, on average, where each is as one of the factors by chance.

    Examples
    --------
    >>> slowest([0.5, 1.5], 1), slowest([0.5, 1.5], 2)  # three of four pairs have a 1.5
    (1.0, 1.25)
    """
    below = (np.arange(len(factors) + 1) / len(factors)) ** ranks
    return float(np.sort(np.asarray(factors)) @ np.diff(below))
