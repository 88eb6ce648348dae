"""An axis for the values of one parameter: numbers, perhaps by their logarithm, or labels side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.report.rows import label_order
from penstock.report.scales import is_drawable, nice_domain, tick_labels, ticks
from penstock.report.text import show_compact, show_label

_LOGARITHMIC = 20.0
_FEW = 6
LABEL_EMS = 9.0

Tick = tuple[float, str]


class ParameterAxis(Protocol):
    """Where the values of a parameter are on an axis from 0 to 1."""

    @property
    def marks(self) -> list[Tick]:
        """Places with what stands there."""

    def place(self, value: Any) -> float | None:
        """Return where a value is; None for one that is not on the axis."""


@dataclass(frozen=True)
class NumberAxis:
    """Numbers from the least to the greatest."""

    low: float
    high: float

    @property
    def marks(self) -> list[Tick]:
        places = ticks(self.low, self.high, 4)
        return [(self.place(tick) or 0.0, label) for tick, label in zip(places, tick_labels(places), strict=True)]

    def place(self, value: Any) -> float | None:
        return (value - self.low) / (self.high - self.low) if _is_number(value) else None


@dataclass(frozen=True)
class LogAxis:
    """Positive numbers by their logarithm."""

    low: float
    high: float

    @property
    def marks(self) -> list[Tick]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        for factors in ((1, 2, 5), (1, 3), (1,)):
            every = [factor * 10.0**power for power in range(first, last + 1) for factor in factors]
            inside = [tick for tick in every if self.low * 0.999 <= tick <= self.high * 1.001]
            if len(inside) <= 5:
                break
        step = math.ceil(len(inside) / 5)
        return [(self.place(tick) or 0.0, _show(tick)) for tick in inside[::step]]

    def place(self, value: Any) -> float | None:
        if not _is_number(value) or value <= 0:
            return None
        return math.log(value / self.low) / math.log(self.high / self.low)


@dataclass(frozen=True)
class LabelAxis:
    """Labels side by side, each in the middle of its part."""

    labels: Sequence[str]

    @property
    def marks(self) -> list[Tick]:
        return [((place + 0.5) / len(self.labels), label) for place, label in enumerate(self.labels)]

    def place(self, value: Any) -> float | None:
        label = show_label(value, LABEL_EMS)
        return (self.labels.index(label) + 0.5) / len(self.labels) if label in self.labels else None


def axis_of(values: Sequence[Any]) -> ParameterAxis:
    """Return the axis for the values of a parameter.

    Examples
    --------
    >>> [text for place, text in axis_of([0.001, 0.1, 0.05, 0.02, 0.03, 0.04]).marks]
    ['0.001', '0.003', '0.01', '0.03', '0.1']
    >>> axis_of(["mean", "median", None]).labels
    ['(null)', 'mean', 'median']
    """
    numbers = [value for value in values if _is_number(value)]
    if len(numbers) < len(values) or len(set(numbers)) < _FEW:
        ordered = sorted(values, key=_order)
        return LabelAxis(list(dict.fromkeys(show_label(each, LABEL_EMS) for each in ordered)))
    low, high = min(numbers), max(numbers)
    if low > 0 and high / low >= _LOGARITHMIC:
        return LogAxis(low, high)
    return NumberAxis(*nice_domain(numbers))


def _order(value: Any) -> tuple[str, Any]:
    return label_order(show_label(value) if isinstance(value, bool) else value)


def _is_number(value: Any) -> bool:
    return is_drawable(value) and not isinstance(value, bool)


def _show(tick: float) -> str:
    return show_compact(tick) if tick >= 1 else f"{tick:.10f}".rstrip("0") if tick >= 1e-4 else f"{tick:.0e}"
