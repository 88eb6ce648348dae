"""How well scores tell two classes apart: exact ROC and precision-recall curves, and the areas under them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np

from penstock import frames
from penstock.errors import ConfigError
from penstock.statistics.base import State, Statistic
from penstock.statistics.rules import Checks, Rule, add_counts, refuse, valid_rows


@dataclass(frozen=True, eq=False)
class Curve:
    """Weights of the positive and negative rows at each distinct score, and the curves they give.

    Parameters
    ----------
    thresholds : numpy.ndarray of shape (n_thresholds,)
        The distinct scores, descending. A row is predicted positive when its score is at least the threshold.
    positives, negatives : numpy.ndarray of shape (n_thresholds,)
        Weight of the rows of each class that have exactly that score.

    Notes
    -----
    The definitions are those of MLlib's ``BinaryClassificationMetrics`` without down-sampling (``numBins=0``). The
    area under the precision-recall curve is a trapezoid, not scikit-learn's ``average_precision_score``.

    Examples
    --------
    >>> curve = Curve(np.array([0.9, 0.4, 0.1]), np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0]))
    >>> curve.area_under_roc, curve.area_under_pr
    (0.5, 0.7916666666666666)
    """

    thresholds: np.ndarray
    positives: np.ndarray
    negatives: np.ndarray

    @cached_property
    def _cumulative(self) -> tuple[np.ndarray, np.ndarray]:
        return np.cumsum(self.positives), np.cumsum(self.negatives)

    @property
    def reason(self) -> str | None:
        """Why the areas are undefined, or None when they are defined."""
        totals = {"positive": self.positives.sum(), "negative": self.negatives.sum()}
        absent = [name for name, total in totals.items() if not total]
        return f"no row has a {' or a '.join(absent)} label of any weight" if absent else None

    def roc(self) -> tuple[np.ndarray, np.ndarray]:
        """Return false and true positive rates from (0, 0) through each threshold to (1, 1), ascending.

        Each is of shape (n_thresholds + 2,). The rate of a class that does not occur is 0.
        """
        true, false = (np.concatenate([[0.0], _share(part), [1.0]]) for part in self._cumulative)
        return false, true

    def pr(self) -> tuple[np.ndarray, np.ndarray]:
        """Return recall and precision at each threshold, after the point (0, precision of the first).

        Each is of shape (n_thresholds + 1,), or empty when there are no rows. A precision of no weight at all is 1.
        """
        true, false = self._cumulative
        predicted = true + false
        precision = np.divide(true, predicted, out=np.ones_like(true), where=predicted > 0)
        return np.concatenate([np.zeros(min(len(true), 1)), _share(true)]), np.concatenate([precision[:1], precision])

    @property
    def area_under_roc(self) -> float | None:
        """Area under :meth:`roc`; None, with a :attr:`reason`, when only one class occurs."""
        return None if self.reason else _area(*self.roc())

    @property
    def area_under_pr(self) -> float | None:
        """Area under :meth:`pr`; None, with a :attr:`reason`, when only one class occurs."""
        return None if self.reason else _area(*self.pr())


def _share(cumulative: np.ndarray) -> np.ndarray:
    total = cumulative[-1] if len(cumulative) else 0.0
    return cumulative / total if total else np.zeros_like(cumulative)


def _area(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1])) / 2)


@dataclass(frozen=True)
class BinaryCurve(Statistic):
    """The :class:`Curve` of scores and labels; exact, so the state grows with the number of distinct scores.

    Parameters
    ----------
    columns : tuple of str
        The score (any number, also infinite), the label (0 and 1, or booleans), and the weight (finite, 0 or more) if
        there is one; without it every row weighs 1.

    Raises
    ------
    ConfigError
        `columns` has not two or three names.

    Examples
    --------
    >>> import pyarrow as pa
    >>> statistic = BinaryCurve(("score", "label"))
    >>> frame = frames.from_arrow(pa.table({"score": [0.9, 0.8, 0.3], "label": [True, False, False]}))
    >>> statistic.finish(statistic.summarise(frame)).area_under_roc
    1.0
    """

    def __post_init__(self) -> None:
        if len(self.columns) not in (2, 3):
            raise ConfigError(f"columns are {self.columns!r}, expected (score, label) or (score, label, weight)")

    @property
    def _checks(self) -> Checks:
        score, label, *weight = self.columns
        checks = [(score, Rule("null")), (label, Rule("null")), (label, Rule("not_binary"))]
        return checks + [(name, Rule(test)) for name in weight for test in ("null", "infinite", "negative")]

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the weight of each class at each distinct score, and how many rows break which rule."""
        valid, invalid = valid_rows(frame, self._checks)
        score, label, *weights = (nw.col(name).cast(nw.Float64) for name in self.columns)
        weight = weights[0] if weights else nw.lit(1.0)
        parts = valid.select(
            (score + 0.0).alias("score"), (weight * label).alias("positive"), (weight * (1 - label)).alias("negative")
        )
        table = frames.to_arrow(parts.group_by("score").agg(nw.col("positive", "negative").sum()))
        return {"table": table, "invalid": invalid}

    def merge(self, states: Sequence[State]) -> State:
        """Add up the weights of equal scores."""
        table = frames.sum_by_key([state["table"] for state in states], ["score"])
        return {"table": table, "invalid": add_counts([state["invalid"] for state in states])}

    def finish(self, state: State) -> Curve:
        """Return the curve.

        Raises
        ------
        DataValueError
            A score, label or weight is null, a label is not 0 or 1, a weight is negative or infinite; names the
            column and the count, and its ``predicate`` is true for the bad rows.
        """
        refuse(self._checks, state["invalid"])
        ordered = state["table"].sort_by([("score", "descending")])
        return Curve(*(ordered[name].to_numpy() for name in ("score", "positive", "negative")))
