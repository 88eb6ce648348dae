"""How many values of a column lie in which range: bars of equal width, read off a distribution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from penstock.statistics import Distribution

MOST_BINS = 30
_EPOCH = datetime(1970, 1, 1)
_DAY, _HOUR = 86_400e6, 3_600e6
_TAIL, _FAR = 0.01, 2.0
"""Where ends lie further off than so many times the range of all values but this share at each, they get no bars."""


@dataclass(frozen=True)
class Histogram:
    """Counts of values between edges of equal distance; the last edge is in the last bar, the others in the next.

    Attributes
    ----------
    edges : tuple of float, or of datetime
        One more than there are bars.
    counts : tuple of int
        Where quantiles of the column are not exact, each is off by at most twice their error.
    below, above : int
        Values before the first edge and after the last: infinite ones, and those of a tail that is so long that bars
        over all of it would show nothing.
    """

    edges: tuple[Any, ...]
    counts: tuple[int, ...]
    below: int = 0
    above: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; dates and times as ISO text."""
        edges = [each.isoformat() if isinstance(each, date) else each for each in self.edges]
        return {"edges": edges, "counts": list(self.counts), "below": self.below, "above": self.above}


def histogram(distribution: Distribution, *, whole: bool = False, bins: int = MOST_BINS) -> Histogram | None:
    """Return the bars of a distribution, None where no value is finite.

    Parameters
    ----------
    whole : bool, default False
        Values are whole numbers, so that every bar stands for as many of them.
    bins : int, default 30
        How many bars there are, at most.

    Examples
    --------
    >>> found = histogram(Distribution(np.array([1.0, 2.0, 3.0]), np.array([1, 5, 1]), error=0), whole=True)
    >>> found.edges, found.counts
    ((0.5, 1.5, 2.5, 3.5), (1, 5, 1))
    """
    finite = np.isfinite(distribution.values)
    values = distribution.values[finite]
    if not len(values):
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers that are further apart than any number says
        low, high = _ends(values, distribution.weights[finite])
        edges = _steps(low, high, 1.0, bins, before=0.5) if whole else _edges(low, high, bins)
    return _counted(distribution, edges)


def time_histogram(distribution: Distribution, *, days: bool, bins: int = MOST_BINS) -> Histogram | None:
    """Return the bars of microseconds since 1970, their edges as times in UTC; None where there are no values.

    Parameters
    ----------
    days : bool
        Values are dates, so that every bar stands for as many days.
    bins : int, default 30

    Examples
    --------
    >>> found = time_histogram(Distribution(np.array([0.0, 8.64e10]), np.array([2, 1]), error=0), days=True)
    >>> found.to_dict()["edges"], found.counts
    (['1970-01-01T00:00:00', '1970-01-02T00:00:00', '1970-01-03T00:00:00'], (2, 1))
    """
    if not len(distribution.values):
        return None
    low, high = _ends(distribution.values, distribution.weights)
    edges = _steps(low, high, _DAY, bins) if days else _edges(low, high, bins, half=_HOUR)
    counted = _counted(distribution, edges)
    try:
        times: tuple[Any, ...] = tuple(_EPOCH + timedelta(microseconds=edge) for edge in counted.edges)
    except OverflowError:  # a year that Python has not
        return None
    return replace(counted, edges=times)


def _ends(values: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Return the ends of the bars: those of the values, or of most of them where the others are far off."""
    ranks = np.cumsum(weights)
    inner = values[np.searchsorted(ranks, np.array([_TAIL, 1 - _TAIL]) * ranks[-1])]
    reach = _FAR * (inner[1] - inner[0])
    if not reach:
        return float(values[0]), float(values[-1])
    low = values[0] if values[0] >= inner[0] - reach else inner[0]
    high = values[-1] if values[-1] <= inner[1] + reach else inner[1]
    return float(low), float(high)


def _edges(low: float, high: float, bins: int, half: float | None = None) -> np.ndarray:
    """Return edges from the lowest value to the highest; around a single one, half of it to each side unless given."""
    if low == high:
        half = half or abs(low) / 2 or 0.5
        return np.array([low - half, low + half])
    edges = np.linspace(low, high, bins + 1)
    return edges if _ascend(edges) else np.array([low, high])


def _steps(low: float, high: float, unit: float, bins: int, before: float = 0.0) -> np.ndarray:
    """Return edges from `before` the lowest value on, as many units apart as it takes to be few."""
    width = unit * max(1.0, np.ceil(((high - low) / unit + 1) / bins))
    edges = low - before + width * np.arange(np.floor((high - low) / width) + 2)
    return edges if _ascend(edges) else _edges(low, high, bins)


def _ascend(edges: np.ndarray) -> bool:
    """Return whether all edges differ: those of numbers that are very large may not."""
    return bool(np.isfinite(edges).all() and (np.diff(edges) > 0).all())


def _counted(distribution: Distribution, edges: np.ndarray) -> Histogram:
    ranks = np.concatenate([[0], np.cumsum(distribution.weights)])
    places = np.searchsorted(distribution.values, edges, side="left")
    places[-1] = np.searchsorted(distribution.values, edges[-1], side="right")
    below, *counts, above = np.diff(ranks[places], prepend=0, append=ranks[-1]).tolist()
    return Histogram(tuple(edges.tolist()), tuple(counts), below, above)
