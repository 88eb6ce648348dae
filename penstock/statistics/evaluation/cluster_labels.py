"""How well clusters agree with labels that are known: pairs of rows, and entropies, from one table of weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np

from penstock.statistics.base import State
from penstock.statistics.evaluation.confusion import Confusion, texts_among
from penstock.statistics.groups import sums


@dataclass(frozen=True, eq=False)
class ClusterAgreement:
    """Weights of the pairs of label and cluster that occur; metrics are None, with a :attr:`reason`, without any.

    Parameters
    ----------
    label, cluster : numpy.ndarray of shape (n_pairs,)
        Each pair once.
    weight : numpy.ndarray of shape (n_pairs,)
        Weight of the rows with that pair, above 0; a row of weight 2 is as two rows.

    Examples
    --------
    >>> pairs = ClusterAgreement(np.array([0, 0, 1]), np.array([5, 6, 7]), np.array([1.0, 1.0, 2.0]))
    >>> pairs.homogeneity, round(pairs.completeness, 4), round(pairs.adjusted_rand, 4)
    (1.0, 0.6667, 0.5714)
    """

    label: np.ndarray
    cluster: np.ndarray
    weight: np.ndarray

    @property
    def reason(self) -> str | None:
        """Why everything is undefined, or None."""
        return None if len(self.weight) else "no row has a positive weight"

    @property
    def adjusted_rand(self) -> float | None:
        """Share of the pairs of rows that are together, or apart, by both; 0 by chance.

        Hubert and Arabie, "Comparing partitions", Journal of Classification 2, 1985.
        """
        if self.reason:
            return None
        total, together = float(self.weight.sum()), float((self.weight**2).sum())
        of_labels, of_clusters = (float((each**2).sum()) for each in self._margins)
        both = together - total
        split, joined = of_labels - together, of_clusters - together
        apart = total**2 - split - joined - together
        if not split and not joined:
            return 1.0
        below = (both + split) * (split + apart) + (both + joined) * (joined + apart)
        return 2 * (both * apart - split * joined) / below

    @property
    def homogeneity(self) -> float | None:
        """Which share of the entropy of the labels the clusters tell; 1 where each has rows of one label."""
        return None if self.reason else self._told(self._entropies[0])

    @property
    def completeness(self) -> float | None:
        """Which share of the entropy of the clusters the labels tell; 1 where rows of a label are in one cluster."""
        return None if self.reason else self._told(self._entropies[1])

    @property
    def v_measure(self) -> float | None:
        """Harmonic mean of homogeneity and completeness.

        Rosenberg and Hirschberg, "V-Measure: a conditional entropy-based external cluster evaluation measure", EMNLP
        2007. It is the mutual information over the mean of both entropies.
        """
        one, other = self.homogeneity, self.completeness
        if one is None or other is None:
            return None
        return 2 * one * other / (one + other) if one + other else 0.0

    @cached_property
    def _margins(self) -> tuple[np.ndarray, np.ndarray]:
        """The weight of each label, and that of each cluster."""
        one, other = (sums(place, self.weight, place.max() + 1) for place in self._places)
        return one, other

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        one, other = (np.unique(side, return_inverse=True)[1] for side in (self.label, self.cluster))
        return one, other

    @cached_property
    def _entropies(self) -> tuple[float, float]:
        shares = (each / each.sum() for each in self._margins)
        one, other = (-float((each * np.log(each)).sum()) for each in shares)
        return one, other

    @cached_property
    def _information(self) -> float:
        """The mutual information of both, in nats."""
        total = self.weight.sum()
        by_chance = [margin[place] / total for margin, place in zip(self._margins, self._places, strict=True)]
        shares = self.weight / total
        return max(float((shares * np.log(shares / by_chance[0] / by_chance[1])).sum()), 0.0)

    def _told(self, entropy: float) -> float:
        return min(self._information / entropy, 1.0) if entropy > 0 else 1.0


@dataclass(frozen=True)
class ClusterLabels(Confusion):
    """The :class:`ClusterAgreement` of clusters and labels; the state grows with the pairs that occur.

    Parameters
    ----------
    columns : tuple of str
        The cluster, the label, and the weight (0 or more) if there is one; without it every row weighs 1. Either side
        holds numbers or booleans, or strings. A row of weight 0 is as if absent.
    limit : int, default 10_000
        The most distinct labels, and the most distinct clusters.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> statistic = ClusterLabels(("cluster", "label"))
    >>> frame = frames.from_arrow(pa.table({"cluster": [3, 3, 8], "label": ["a", "a", "b"]}))
    >>> statistic.finish(statistic.summarise(frame)).v_measure
    1.0
    """

    def finish(self, state: State) -> ClusterAgreement:  # type: ignore[override]
        """Return the weights of the pairs.

        Raises
        ------
        DataValueError
            As :meth:`Confusion.finish`.
        """
        matrix = super().finish(state)
        return ClusterAgreement(matrix.label, matrix.prediction, matrix.weight)

    def _texts(self, frame: nw.DataFrame[Any]) -> Sequence[str]:
        return texts_among(frame, self.columns[:2])
