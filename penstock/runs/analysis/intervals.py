"""Stretches of time that may overlap, as their union."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.core.recording import Span

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Intervals:
    """The union of intervals: those that overlap or touch are one.

    Attributes
    ----------
    starts, ends : array of float, in ascending order

    Examples
    --------
    >>> both = Intervals.of([0.0, 1.0, 5.0], [2.0, 3.0, 6.0])
    >>> both.ends.tolist(), both.length
    ([3.0, 6.0], 4.0)
    """

    starts: Floats
    ends: Floats

    @classmethod
    def of(cls, starts: Any, ends: Any) -> Intervals:
        """Return the union of the intervals from `starts` to `ends`, in any order."""
        start, end = np.asarray(starts, dtype=float), np.asarray(ends, dtype=float)
        if not start.size:
            return cls(start, end)
        order = np.argsort(start, kind="stable")
        start, reached = start[order], np.maximum.accumulate(end[order])
        is_first = np.concatenate([[True], start[1:] > reached[:-1]])
        return cls(start[is_first], reached[np.concatenate([is_first[1:], [True]])])

    @classmethod
    def of_spans(cls, spans: Iterable[Span], origin: float, kinds: Collection[str] | None = None) -> Intervals:
        """Return when any of the spans, of some kinds or of all, was under way, in seconds since `origin`."""
        known = [span for span in spans if kinds is None or span.kind in kinds]
        starts = [span.start - origin for span in known]
        ends = [span.start - origin + (span.seconds or 0.0) for span in known]
        return cls.of(starts, ends)

    @property
    def length(self) -> float:
        """All of it."""
        return float(np.sum(self.ends - self.starts))

    def until(self, times: Any) -> Floats:
        """Return how much of the union lies before each time.

        Examples
        --------
        >>> Intervals.of([0.0, 5.0], [2.0, 6.0]).until([1.0, 4.0, 5.5]).tolist()
        [1.0, 2.0, 2.5]
        """
        moments = np.asarray(times, dtype=float)
        if not self.starts.size:
            return np.zeros_like(moments)
        edges = np.column_stack([self.starts, self.ends]).ravel()
        lengths = np.cumsum(self.ends - self.starts)
        reached = np.column_stack([np.concatenate([[0.0], lengths[:-1]]), lengths]).ravel()
        return np.interp(moments, edges, reached)

    def within(self, starts: Any, ends: Any) -> Floats:
        """Return how much of the union lies in each of other intervals."""
        return self.until(ends) - self.until(starts)
