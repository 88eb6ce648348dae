"""ROC, precision-recall and gains curves from the weights of two classes at each threshold, and what they enclose."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

_DRAWN = 500
_FRACTIONS = np.arange(1, 11) / 10


@dataclass(frozen=True, eq=False)
class Curve:
    """Weights of the positive and negative rows at each distinct score, and the curves they give.

    Parameters
    ----------
    thresholds : numpy.ndarray of shape (n_thresholds,)
        The distinct scores, descending; or the lower edges of the cells that the scores were put in. A row is predicted
        positive when its score is at least the threshold.
    positives, negatives : numpy.ndarray of shape (n_thresholds,)
        Weight of the rows of each class that have exactly that score, or are in that cell.
    binned : bool, default False
        Whether scores were put in cells. Then every property is exact for rows that tie within their cell, and the
        bounds say how far it can be from the same property of the scores themselves.

    Notes
    -----
    The definitions are those of MLlib's ``BinaryClassificationMetrics`` without down-sampling (``numBins=0``). The
    area under the precision-recall curve is a trapezoid, not scikit-learn's ``average_precision_score``.

    Examples
    --------
    >>> curve = Curve(np.array([0.9, 0.4, 0.1]), np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0]))
    >>> curve.area_under_roc, curve.area_under_pr, curve.ks
    (0.5, 0.7916666666666666, 0.5)
    """

    thresholds: np.ndarray
    positives: np.ndarray
    negatives: np.ndarray
    binned: bool = False

    @property
    def reason(self) -> str | None:
        """Why the areas are undefined, or None when they are defined."""
        absent = [name for name in ("positive", "negative") if not np.any(getattr(self, f"{name}s"))]
        return f"no row has a {' or a '.join(absent)} label of any weight" if absent else None

    def roc(self) -> tuple[np.ndarray, np.ndarray]:
        """Return false and true positive rates from (0, 0) through each threshold to (1, 1), ascending.

        Each is of shape (n_thresholds + 2,). The rate of a class that does not occur is 0.
        """
        false, true = (np.append(each, 1.0) for each in self._rates())
        return false, true

    def pr(self) -> tuple[np.ndarray, np.ndarray]:
        """Return recall and precision at each threshold, after the point (0, precision of the first).

        Each is of shape (n_thresholds + 1,), or empty when there are no rows. A precision of no weight at all is 1.
        """
        true, false = self._cumulative()
        precision = _ratio(true, true + false)
        precision[:1] = precision[1:2] if len(self.thresholds) else 1.0
        first = 0 if len(self.thresholds) else 1
        return _share(true)[first:], precision[first:]

    @cached_property
    def area_under_roc(self) -> float | None:
        """Area under :meth:`roc`; None, with a :attr:`reason`, when only one class occurs."""
        return None if self.reason else _area(*self._rates())

    @cached_property
    def area_under_pr(self) -> float | None:
        """Area under :meth:`pr`; None, with a :attr:`reason`, when only one class occurs."""
        return None if self.reason else _area(*self.pr())

    @cached_property
    def ks(self) -> float | None:
        """Kolmogorov-Smirnov distance: the largest ``|true - false positive rate|``; None when one class occurs."""
        return None if self.reason else _distance(*self._rates())

    @property
    def area_under_roc_bound(self) -> float | None:
        """How far the area under the ROC curve of the scores themselves can be: 0 unless `binned`, None when undefined.

        The area is the mean, over pairs of a positive and a negative row, of 1 where the positive has the larger score,
        0 where it has the smaller one, and 1/2 where they tie. Cells keep the order of scores, so a pair from two cells
        counts the same; one from a single cell counts 1/2 in place of anything from 0 to 1. Hence the error is at most
        half the share of such pairs, ``sum(p_i * n_i) / (2 * P * N)`` with p_i and n_i the weights of the classes in a
        cell and P and N their totals. It is reached when in every cell all positives are above all negatives.
        """
        if self.reason or not self.binned:
            return None if self.reason else 0.0
        true, false = self._cumulative()
        return float(np.sum((self.positives / true[-1]) * (self.negatives / false[-1])) / 2)

    @property
    def area_under_pr_bound(self) -> float | None:
        """How far the area under the PR curve of the scores themselves can be: 0 unless `binned`, None when undefined.

        Take a cell of weights p and n, after cells of weights T and F. Once weight t of its positives is found, between
        none and all of its negatives are: the precision is at most ``high(t) = (T + t) / (T + t + F)`` and at least
        ``low(t) = (T + t) / (T + t + F + n)``. Both are concave, so that chords between points below `high` stay below
        it, and the chord from ``low(0)`` to ``low(p)`` stays below all others between points above `low`. Times P, the
        cell's part of the area is then at most the integral of `high`, ``p - F * log(1 + p / (T + F))``, approached by
        positives one by one before the negatives, and at least ``p * (low(0) + low(p)) / 2``, reached by all negatives
        at one score and then all positives at another. The bound is the larger distance to the sums over cells.
        """
        if self.reason or not self.binned:
            return None if self.reason else 0.0
        true, false = self._cumulative()
        low = _ratio(true[:-1], true[:-1] + false[1:]) + _ratio(true[1:], true[1:] + false[1:])
        lost = false[:-1] * np.log1p(_ratio(self.positives, true[:-1] + false[:-1], empty=0.0))
        lowest = float(np.sum(self.positives * low) / (2 * true[-1]))
        highest = float(np.sum(self.positives - lost) / true[-1])
        area = _area(*self.pr())
        return max(highest - area, area - lowest, 0.0)

    @property
    def ks_bound(self) -> float | None:
        """How far :attr:`ks` of the scores themselves can be, always above: 0 unless `binned`, None when undefined.

        Within a cell the distance grows most while one class is found and none of the other.
        """
        if self.reason or not self.binned:
            return None if self.reason else 0.0
        false, true = self._rates()
        highest = float(max(np.max(true[1:] - false[:-1]), np.max(false[1:] - true[:-1])))
        return highest - _distance(false, true)

    def roc_table(self) -> pa.Table:
        """Return at most 500 points of :meth:`roc` that draw its shape; none when only one class occurs.

        Columns ``falsePositiveRate``, ``truePositiveRate`` and ``threshold`` (float64; null at the first point, where
        nothing is predicted positive).
        """
        false, true = self._rates()
        return self._drawn({"falsePositiveRate": false, "truePositiveRate": true})

    def pr_table(self) -> pa.Table:
        """Return at most 500 points of :meth:`pr` that draw its shape; none when only one class occurs.

        Columns ``recall``, ``precision`` and ``threshold``, as those of :meth:`roc_table`.
        """
        recall, precision = self.pr()
        return self._drawn({"recall": recall, "precision": precision})

    def gains_table(self) -> pa.Table:
        """Return the share of positives among the highest scores; no rows when no row is positive.

        Columns (float64) ``fraction``, 0.1 to 1 of all weight by descending score; ``gain``, the share of the positive
        weight that is in it; ``lift``, gain / fraction. Of rows that tie it takes either class alike.
        """
        true, false = self._cumulative()
        fraction = _FRACTIONS if true[-1] else _FRACTIONS[:0]
        gain = np.interp(fraction, _share(true + false), _share(true))
        return pa.table({"fraction": fraction, "gain": gain, "lift": gain / fraction})

    def _cumulative(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of true and false positives: none, and then those at each threshold.

        Not kept: of millions of thresholds that would be most of the memory.
        """
        return _accumulated(self.positives), _accumulated(self.negatives)

    def _rates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return false and true positive rates: 0, and then those at each threshold, the last 1 where defined."""
        return _share(_accumulated(self.negatives)), _share(_accumulated(self.positives))

    def _drawn(self, points: dict[str, np.ndarray]) -> pa.Table:
        chosen = _spread(*points.values()) if not self.reason else np.empty(0, np.int64)
        threshold = self.thresholds[np.maximum(chosen - 1, 0)].astype(np.float64)
        columns = {name: each[chosen] for name, each in points.items()}
        return pa.table({**columns, "threshold": pa.array(threshold, mask=chosen == 0)})


def _accumulated(weights: np.ndarray) -> np.ndarray:
    found = np.zeros(len(weights) + 1)
    np.cumsum(weights, dtype=np.float64, out=found[1:])
    return found


def _ratio(part: np.ndarray, whole: np.ndarray, empty: float = 1.0) -> np.ndarray:
    found = np.full(len(whole), empty)
    np.divide(part, whole, out=found, where=whole > 0)
    return found


def _share(cumulative: np.ndarray) -> np.ndarray:
    return cumulative / cumulative[-1] if cumulative[-1] else np.zeros_like(cumulative)


def _area(x: np.ndarray, y: np.ndarray) -> float:
    doubled = y[1:] + y[:-1]
    doubled *= np.diff(x)
    return float(doubled.sum() / 2)


def _distance(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.max(np.abs(y - x)))


def _spread(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the places of at most 500 points, the first and last among them.

    Half are even along `x`, which ascends; half along the line, for its steep parts. Either alone would leave a gap: a
    precision that goes up and down at the smallest recalls is most of its line's length.
    """
    if len(x) <= _DRAWN:
        return np.arange(len(x))
    length = np.hypot(np.diff(x), np.diff(y))
    np.cumsum(length, out=length)
    even = [np.searchsorted(way, np.linspace(way[0], way[-1], _DRAWN // 2 - 1)) for way in (x, length)]
    return np.unique(np.concatenate([even[0], even[1] + 1, [0, len(x) - 1]]))
