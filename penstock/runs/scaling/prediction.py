"""Predictions of a run and its spans: time, its parts, and efficiency of workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.runs.analysis.intervals import Floats

_KEPT = 64


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large a run is.

    Parameters
    ----------
    rows : int
    fragments : sequence of int
        Rows of each.
    workers : int
    speed : float
        Of a worker, relative to those of the records.
    """

    rows: int
    fragments: tuple[int, ...]
    workers: int
    speed: float = 1.0


@dataclass(frozen=True, kw_only=True)
class SpanParts:
    """What is predicted of one span.

    Attributes
    ----------
    phases : mapping of str to float
        Seconds, ``wait`` among them; their sum is the time of the span.
    serial, communicate : float
        Seconds of it that workers do not share out; that they wait for each other or for the network.
    deviation : float
        Standard deviation of the sum that follows from the coefficients, where times vary by the standard deviation 1.
    spread : float
        Standard deviation of the sum that follows from how tasks differ.
    """

    phases: Mapping[str, float]
    serial: float
    communicate: float
    deviation: float
    spread: float = 0.0

    @property
    def seconds(self) -> float:
        """The time of the span."""
        return sum(self.phases.values())


def quantiles(values: Floats) -> tuple[float, ...]:
    """Return the values in ascending order; of many, the means of 64 equal parts, so that their mean is the same."""
    ordered = np.sort(values)
    if len(ordered) <= _KEPT:
        return tuple(ordered.tolist())
    return tuple(float(part.mean()) for part in np.array_split(ordered, _KEPT))


BOUNDS = {"read": "reading", "communicate": "network", "train": "boosting", "wait": "waiting", "driver": "driver"}
"""What a span is bound by, where that is not called as its phase."""


@dataclass(frozen=True, kw_only=True)
class TimeEstimate:
    """Seconds, with an interval.

    Attributes
    ----------
    seconds : float
    interval : (float, float)
        Of the confidence that was asked for.
    """

    seconds: float
    interval: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class SpanPrediction(TimeEstimate):
    """A scan, a training, or ``driver``: what is neither.

    Attributes
    ----------
    name : str
    phases : mapping of str to TimeEstimate
        Their seconds add up to those of the span; ``wait`` is what workers have nothing to do.
    """

    name: str
    phases: Mapping[str, TimeEstimate]

    @property
    def bound(self) -> str:
        """What takes most of it: decode, compute, merge, boosting, network, reading, encode, write, waiting, driver."""
        longest = max(self.phases, key=lambda name: self.phases[name].seconds)
        return BOUNDS.get(longest, longest)


@dataclass(frozen=True, kw_only=True)
class Prediction(TimeEstimate):
    """A run that has not been.

    Attributes
    ----------
    rows, workers : int
    spans : tuple of SpanPrediction
        In the order of the runs that it is predicted from, ``driver`` last.
    serial, parallel, communication : float
        Seconds that workers do not share out; that they do, on so many workers; and that they wait for each other or
        for the network. They add up to the time.
    one_worker : float
        Seconds on one worker.
    memory : int
        Bytes of a worker.
    train : float
        The seconds of `parallel` that are of trainings.
    """

    rows: int
    workers: int
    spans: tuple[SpanPrediction, ...]
    serial: float
    communication: float
    one_worker: float
    memory: int
    train: float

    @property
    def parallel(self) -> float:
        """Seconds that workers share out."""
        return self.seconds - self.serial - self.communication

    @property
    def speedup(self) -> float:
        """How many times faster than one worker."""
        return self.one_worker / self.seconds if self.seconds else 1.0

    @property
    def efficiency(self) -> float:
        """The speed-up by worker."""
        return self.speedup / self.workers

    @property
    def phases(self) -> dict[str, TimeEstimate]:
        """The phases of all spans, the longest first; intervals as if all were wrong in the same direction."""
        total: dict[str, TimeEstimate] = {}
        for span in self.spans:
            for name, each in span.phases.items():
                total[name] = added(total.get(name), each)
        return dict(sorted(total.items(), key=lambda entry: -entry[1].seconds))

    @property
    def bound(self) -> str:
        """What takes most of the time."""
        longest = next(iter(self.phases))
        return BOUNDS.get(longest, longest)


def added(one: TimeEstimate | None, other: TimeEstimate) -> TimeEstimate:
    """Return the sum of two, of which both are wrong in the same direction."""
    if one is None:
        return other
    low, high = (left + right for left, right in zip(one.interval, other.interval, strict=True))
    return TimeEstimate(seconds=one.seconds + other.seconds, interval=(low, high))
