"""What models of spans are given and give, and how they keep what varies."""

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
