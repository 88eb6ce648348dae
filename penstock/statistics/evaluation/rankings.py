"""How well ranked lists put the relevant items first: every measure of it, at every cut-off up to k, from one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.frames import lists
from penstock.statistics.base import State, merge_fields
from penstock.statistics.evaluation.lists import LABEL, PREDICTION, WEIGHT, ListPairs
from penstock.statistics.moments import total
from penstock.statistics.places import places

_COUNTS = ("count", "unlabelled")
_SUMS = ("weight", "unlabelled_weight", "average_precisions", "average_precisions_at_k")


@dataclass(frozen=True, eq=False)
class Ranking:
    """Sums over documents and places; every property is None when no document has a positive weight.

    Parameters
    ----------
    k : int
        The cut-off.
    count, unlabelled : int
        Documents of a weight above 0, and those of them without labels: they count, as 0, in every mean.
    weight, unlabelled_weight : float
        Sums of their weights.
    average_precisions, average_precisions_at_k : float
        Weighted sums over the documents.
    hits : pyarrow.Table
        ``weight`` of the documents with so many distinct ``labels`` and with one of them at ``place`` (0 to k - 1).
    first_hits : pyarrow.Table
        ``weight`` of the documents whose first hit is at ``place`` (from 0, also beyond k).

    Notes
    -----
    The definitions are those of MLlib's ``RankingMetrics`` with binary relevance; an item that is ranked twice hits
    twice, so that a recall may exceed 1.

    Examples
    --------
    >>> statistic = Rankings(("prediction", "label"), k=2)
    >>> frame = frames.from_arrow(pa.table({"prediction": [[1, 2, 3], [4]], "label": [[2, 3], []]}))
    >>> ranking = statistic.finish(statistic.summarise(frame))
    >>> ranking.precision, ranking.recall, ranking.hit_rate, ranking.unlabelled
    (0.25, 0.25, 0.5, 1)
    """

    k: int
    count: int
    unlabelled: int
    weight: float
    unlabelled_weight: float
    average_precisions: float
    average_precisions_at_k: float
    hits: pa.Table
    first_hits: pa.Table

    @property
    def mean_average_precision(self) -> float | None:
        """Mean over documents of the precision at each hit, summed over the whole list, per label."""
        return self._mean(self.average_precisions)

    @property
    def mean_average_precision_at_k(self) -> float | None:
        """The same of the first k places, per label or per place, whichever are fewer."""
        return self._mean(self.average_precisions_at_k)

    @property
    def precision(self) -> float | None:
        """Mean share of the first k places that are hits; places beyond the end of a list are not."""
        return self._last("precision")

    @property
    def recall(self) -> float | None:
        """Mean of the hits in the first k places, per label."""
        return self._last("recall")

    @property
    def ndcg(self) -> float | None:
        """Mean discounted gain ``1 / log2(place + 2)`` of the hits in the first k places, over the best possible."""
        return self._last("ndcg")

    @property
    def mean_reciprocal_rank(self) -> float | None:
        """Mean of ``1 / (place + 1)`` of the first hit, anywhere in the list; 0 without one."""
        return self._mean(float(np.sum(_of(self.first_hits, "weight") / (_of(self.first_hits, "place") + 1))))

    @property
    def hit_rate(self) -> float | None:
        """Share of the documents with a hit in the first k places."""
        return self._mean(float(np.sum(_of(self.first_hits, "weight")[_of(self.first_hits, "place") < self.k])))

    @cached_property
    def curves(self) -> dict[str, np.ndarray]:
        """``precision``, ``recall`` and ``ndcg`` at each cut-off from 1 to k, of shape (k,); NaN without weight."""
        ranks = np.arange(1, self.k + 1)
        gains = 1 / np.log2(ranks + 1)
        hit, found, gained = np.zeros((3, self.k))
        for labels, at in self._hits_by_labels():
            hit += np.cumsum(at)
            found += np.cumsum(at) / labels
            gained += np.cumsum(at * gains) / np.cumsum(gains)[np.minimum(ranks, labels) - 1]
        weight = self.weight or np.nan
        return {"precision": hit / ranks / weight, "recall": found / weight, "ndcg": gained / weight}

    def at_k(self, most: int) -> pa.Table:
        """Return ``k`` from 1, thinned to at most `most` rows, and the curves there; no rows without weight."""
        shown = np.unique(np.linspace(1, self.k, min(self.k, most) if self.weight else 0).astype(np.int64))
        return pa.table({"k": shown, **{name: curve[shown - 1] for name, curve in self.curves.items()}})

    def _hits_by_labels(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield each number of labels and the weight of the hits at each place, of shape (k,)."""
        labels, places, weights = (_of(self.hits, name) for name in ("labels", "place", "weight"))
        for count in np.unique(labels):
            chosen = labels == count
            yield int(count), np.bincount(places[chosen], weights[chosen], minlength=self.k)

    def _last(self, name: str) -> float | None:
        return float(self.curves[name][-1]) if self.weight else None

    def _mean(self, summed: float) -> float | None:
        return summed / self.weight if self.weight else None


def _of(table: pa.Table, name: str) -> np.ndarray:
    return table[name].to_numpy()


@dataclass(frozen=True)
class Rankings(ListPairs):
    """The :class:`Ranking` of a column of ranked lists.

    The state grows with the lengths that lists have, not with rows or items. Lists of frames on a GPU are matched on
    the host.

    Parameters
    ----------
    columns : tuple of str
        The prediction (a list of items, best first) and the labels (a list of the relevant ones, in any order, repeats
        ignored), both of numbers or of strings, and the weight (finite, 0 or more) if there is one; without it every
        document weighs 1. A document of weight 0 is as if absent.
    k : int
        The cut-off, at least 1.

    Raises
    ------
    ConfigError
        `columns` has not two or three names, or `k` is below 1 or no integer.

    Examples
    --------
    >>> statistic = Rankings(("prediction", "label"), k=1)
    >>> frame = frames.from_arrow(pa.table({"prediction": [["a", "b"]], "label": [["b"]]}))
    >>> statistic.finish(statistic.summarise(frame)).mean_reciprocal_rank
    0.5
    """

    k: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_k(self.k)

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return sums over the documents, the weight of the hits by place, and how many rows break which rule."""
        valid, invalid = self.valid(frame)
        labels, weight = lists.distinct(valid, LABEL), valid[WEIGHT].to_numpy()
        unlabelled = labels == 0
        counts = {"count": len(valid), "unlabelled": int(unlabelled.sum())}
        weights = {"weight": float(weight.sum()), "unlabelled_weight": float(weight[unlabelled].sum())}
        return {"invalid": invalid, **counts, **weights, **self._walked(valid, labels, weight)}

    def merge(self, states: Sequence[State]) -> State:
        """Add up the sums, and the weights at equal places."""
        numbers = dict.fromkeys(_COUNTS, sum) | dict.fromkeys(_SUMS, total)
        hits, first = (partial(frames.sum_by_key, keys=keys) for keys in (["labels", "place"], ["place"]))
        return merge_fields(states, invalid=self.merge_invalid, **numbers, hits=hits, first_hits=first)

    def finish(self, state: State) -> Ranking:
        """Return the ranking's measures.

        Raises
        ------
        DataValueError
            A list is null or has a null or NaN element, or a weight is null, negative or infinite; names the column
            and the count, and its ``predicate`` is true for the bad rows (None on a GPU).
        """
        self.refuse_invalid(state["invalid"])
        held = {field.name: state[field.name] for field in fields(Ranking) if field.name != "k"}
        return Ranking(self.k, **held)

    def _walked(self, valid: nw.DataFrame[Any], labels: np.ndarray, weight: np.ndarray) -> dict[str, Any]:
        """Return what one walk down the places gives: average precisions, and tables of hits and of first hits."""
        lengths, group = places(labels)
        seen, precisions, precisions_at_k = np.zeros((3, len(labels)))
        by_place, first = [], []
        for place, rows in enumerate(lists.hits(valid, PREDICTION, LABEL)):
            seen[rows] += 1
            precisions[rows] += seen[rows] / (place + 1)
            if place < self.k:
                precisions_at_k[rows] += seen[rows] / (place + 1)
                by_place.append(np.bincount(group[rows], weight[rows], minlength=len(lengths)))
            first.append(float(weight[rows][seen[rows] == 1].sum()))
        # NumPy counts in integers where there is nothing to count.
        hits = np.array(by_place, dtype=np.float64).reshape(len(by_place), len(lengths))
        return {
            "average_precisions": _weighted(weight, precisions, labels),
            "average_precisions_at_k": _weighted(weight, precisions_at_k, np.minimum(labels, self.k)),
            "hits": _hits(hits, lengths),
            "first_hits": _first_hits(np.array(first)),
        }


def check_k(k: int, stage: str | None = None) -> None:
    """Raise ConfigError unless `k` is an integer of at least 1."""
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise ConfigError(f"k is {k!r}, expected an integer of at least 1", stage=stage)


def _weighted(weight: np.ndarray, precisions: np.ndarray, labels: np.ndarray) -> float:
    return float((weight * precisions / np.maximum(labels, 1)).sum())


def _hits(weights: np.ndarray, lengths: np.ndarray) -> pa.Table:
    """Return the cells that hold a weight, of a matrix with a row a place and a column a number of labels."""
    places, columns = np.nonzero(weights)
    return pa.table({"labels": lengths[columns], "place": places, "weight": weights[places, columns]})


def _first_hits(weights: np.ndarray) -> pa.Table:
    places = np.flatnonzero(weights)
    return pa.table({"place": places, "weight": weights[places]})
