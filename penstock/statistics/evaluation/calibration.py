"""How good probabilities of the positive class are: log loss, Brier score, and calibration in bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.frames import matrices
from penstock.statistics.base import State, merge_fields
from penstock.statistics.evaluation.base import PredictionStatistic
from penstock.statistics.moments import total
from penstock.statistics.rules import ColumnRules, Rule, add_counts, rules_for, valid_rows
from penstock.statistics.vectors import positive_class, refuse_elements, vector_kind

_MOST_BINS = 500
_OF_WEIGHTS = ("null", "infinite", "too_large", "negative")
_TOTALS = ("log_losses", "squares")
_BY_BIN = ("weight", "predicted", "observed")


@dataclass(frozen=True, eq=False)
class Calibration:
    """Sums over rows with probabilities; every property is None, with a :attr:`reason`, when no row has weight.

    Parameters
    ----------
    weight, predicted, observed : numpy.ndarray of shape (n_bins,)
        For each of the bins of equal width that [0, 1] is cut into, sums over its rows: of the weights, of weight times
        probability, and of the weights of positives. A bin holds its upper edge, and the first one 0 also, as those of
        scikit-learn's ``calibration_curve``.
    log_losses, squares : float
        Weighted sums over all rows of the log loss and of the squared distance of probability and label.

    Examples
    --------
    >>> found = Calibration(np.array([2.0, 2.0]), np.array([0.5, 1.5]), np.array([0.0, 2.0]), 1.2, 0.25)
    >>> found.log_loss, found.brier_score, found.expected_calibration_error
    (0.3, 0.0625, 0.25)
    """

    weight: np.ndarray
    predicted: np.ndarray
    observed: np.ndarray
    log_losses: float
    squares: float

    @property
    def reason(self) -> str | None:
        """Why everything is undefined, or None when it is not."""
        return None if np.any(self.weight) else "no row has a positive weight"

    @property
    def log_loss(self) -> float | None:
        """Mean of ``-log(p)`` over positive and ``-log(1 - p)`` over negative rows."""
        return self._mean(self.log_losses)

    @property
    def brier_score(self) -> float | None:
        """Mean squared distance of the probability from the label."""
        return self._mean(self.squares)

    @property
    def expected_calibration_error(self) -> float | None:
        """Mean over rows of the distance, in the row's bin, of the mean probability from the share of positives."""
        return self._mean(total(np.abs(self.predicted - self.observed).tolist()))

    def table(self) -> pa.Table:
        """Return the bins that hold any weight, ascending.

        Columns, all float64: ``lower`` and ``upper``, the edges; ``weight``; ``predicted``, the mean probability;
        ``observed``, the share of positives.
        """
        filled, edges = np.flatnonzero(self.weight), np.linspace(0, 1, len(self.weight) + 1)
        weight = self.weight[filled]
        means = {name: getattr(self, name)[filled] / weight for name in ("predicted", "observed")}
        return pa.table({"lower": edges[filled], "upper": edges[filled + 1], "weight": weight, **means})

    def _mean(self, summed: float) -> float | None:
        return None if self.reason else summed / total(self.weight.tolist())


@dataclass(frozen=True)
class Probabilities(PredictionStatistic):
    """The :class:`Calibration` of probabilities and labels; the state is three numbers a bin, and two.

    Parameters
    ----------
    columns : tuple of str
        The probability of the positive class (from 0 to 1, or lists of two whose element 1 it is), the label (0 and 1,
        booleans, or one of two `classes`), and the weight (from 0 to 1e150) if there is one; without it every row
        weighs 1.
    bins : int, default 10
        Bins of equal width over [0, 1], from 1 to 500.
    eps : float, default 1e-15
        For the log loss alone, probabilities are clipped to ``[eps, 1 - eps]``, as MLlib does.

    Raises
    ------
    ConfigError
        `columns` has not two or three names, or `bins` or `eps` is out of range.

    Examples
    --------
    >>> from penstock import frames
    >>> statistic = Probabilities(("probability", "label"))
    >>> frame = frames.from_arrow(pa.table({"probability": [0.25, 0.75], "label": [0, 1]}))
    >>> statistic.finish(statistic.summarise(frame)).brier_score
    0.0625
    """

    predicted = "probability"
    bins: int = 10
    eps: float = 1e-15

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.bins <= _MOST_BINS:
            raise ConfigError(f"bins is {self.bins}, expected 1 to {_MOST_BINS}")
        if not 0 < self.eps < 0.5:
            raise ConfigError(f"eps is {self.eps}, expected a number above 0 and below 0.5, such as 1e-15")

    @property
    def _checks(self) -> ColumnRules:
        probability, label, *weight = self.columns
        of_probability = [(probability, Rule("null")), (probability, Rule("not_between", (0, 1)))]
        return [*of_probability, *self.of_two(label), *rules_for(weight, *_OF_WEIGHTS)]

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the sums of the valid rows of one partition, and how many rows break which rule."""
        valid, invalid = valid_rows(positive_class(frame, self.columns[0]), self._checks)
        probability, label, weight = self.arrays(valid)
        *terms, losses, squares = _terms(probability, label, weight, self.eps)
        sums = self._sums(probability, [weight, *terms], losses, squares)
        return {"invalid": invalid, "vectors": vector_kind(frame, self.columns[0]), **sums}

    def merge(self, states: Sequence[State]) -> State:
        """Add up the sums."""
        totals, by_bin = dict.fromkeys(_TOTALS, total), dict.fromkeys(_BY_BIN, _totals)
        return merge_fields(states, invalid=add_counts, vectors=itemgetter(0), **totals, **by_bin)

    def finish(self, state: State) -> Calibration:
        """Return the sums with what they give.

        Raises
        ------
        DataValueError
            A probability, label or weight is null, a probability is not between 0 and 1, a label not 0 or 1, a weight
            negative or too large; names the column and the count, and its ``predicate`` is true for
            the bad rows; it has none for lists on a GPU.
        """
        refuse_elements(self._checks, state["invalid"], self.columns[0], state["vectors"])
        weight, predicted, observed = (np.array(state[name]) for name in _BY_BIN)
        return Calibration(weight, predicted, observed, *(state[name] for name in _TOTALS))

    def _sums(self, probability: Any, terms: Sequence[Any], losses: Any, squares: Any) -> State:
        """Return the sums, those of terms in each bin; pairwise on a CPU, so that long partitions lose no digits."""
        inner = np.linspace(0, 1, self.bins + 1)[1:-1]
        if not isinstance(probability, np.ndarray):
            bins = np.searchsorted(matrices.to_device(inner, "gpu"), probability)
            counted = [np.bincount(bins, each, self.bins) for each in terms]
            sums = matrices.to_host(np.concatenate([losses.sum(), squares.sum(), *counted], axis=None)).tolist()
            of_bins = (sums[start : start + self.bins] for start in range(2, len(sums), self.bins))
            return dict(zip((*_TOTALS, *_BY_BIN), (*sums[:2], *of_bins), strict=True))
        bins = np.searchsorted(inner, probability).astype(np.uint16)  # NumPy sorts these by radix
        order = np.argsort(bins, kind="stable")
        ends = np.cumsum(np.bincount(bins, minlength=self.bins))[:-1]
        by_bin = [[float(part.sum()) for part in np.split(each[order], ends)] for each in terms]
        return dict(zip((*_TOTALS, *_BY_BIN), (float(losses.sum()), float(squares.sum()), *by_bin), strict=True))


@matrices.fused
def _terms(xp: Any, probability: Any, label: Any, weight: Any, eps: float) -> tuple[Any, ...]:
    """Return weighted probabilities, labels, log losses and squared errors."""
    clipped = xp.minimum(xp.maximum(probability, eps), 1 - eps)
    losses = -weight * xp.where(label == 1, xp.log(clipped), xp.log1p(-clipped))
    return weight * probability, weight * label, losses, weight * (probability - label) ** 2


def _totals(by_bin: Sequence[Sequence[float]]) -> list[float]:
    return [total(each) for each in zip(*by_bin, strict=True)]
