"""How good predicted probabilities of several classes are: log loss and top-k accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.core.errors import ConfigError, DataValueError
from penstock.frames import matrices
from penstock.statistics.aggregates import device_numbers
from penstock.statistics.base import State, merge_fields
from penstock.statistics.evaluation.base import PredictionStatistic
from penstock.statistics.moments import total
from penstock.statistics.rules import ColumnRules, Rule, add_counts, refuse, rules_for, valid_rows
from penstock.statistics.vectors import elements, is_vector

_SUMS = ("weight", "losses", "hits")


@dataclass(frozen=True)
class ProbabilityScores:
    """Sums over rows with probabilities; what is undefined is None, with a :attr:`reason`.

    Parameters
    ----------
    weight : float
        Sum of the weights.
    losses : float
        Weighted sum of ``-log(p)``, where p is the probability given to the true class.
    hits : float
        Weight of the rows whose true class is among the k most probable.
    doubt : str, optional
        Why labels may be no places among the probabilities; everything is undefined then.

    Examples
    --------
    >>> scores = ProbabilityScores(weight=4.0, losses=2.0, hits=3.0)
    >>> scores.log_loss, scores.top_k_accuracy
    (0.5, 0.75)
    """

    weight: float
    losses: float
    hits: float
    doubt: str | None = None

    @property
    def reason(self) -> str | None:
        """Why everything is undefined, or None when it is not."""
        return self.doubt if self.weight else "no row has a positive weight"

    @property
    def log_loss(self) -> float | None:
        """Mean of ``-log(p)``."""
        return None if self.reason else self.losses / self.weight

    @property
    def top_k_accuracy(self) -> float | None:
        """Share of the rows whose true class is among the k most probable."""
        return None if self.reason else self.hits / self.weight


@dataclass(frozen=True)
class ClassProbabilities(PredictionStatistic):
    """The :class:`ProbabilityScores` of a column of probabilities, one a class; the state is a few numbers.

    Parameters
    ----------
    columns : tuple of str
        The probabilities, the label, and the weight (0 or more) if there is one; without it every row weighs 1. The
        probabilities are lists of one length, an element from 0 to 1 for each class, or numbers: those of class 1 of
        two. They need not sum to 1. The label is the true class: one of `classes`, or any other value, of which the
        probability is 0; without them its place in the list, 0, 1, and so on, of any numeric type, or a boolean. Where
        no row is then of place 0, labels may be counted from 1, and nothing is defined.
    eps : float, default 1e-15
        For the log loss, probabilities are clipped to ``[eps, 1 - eps]``, as MLlib does.
    k : int, default 2
        A label is among the k most probable when fewer than k classes are more probable than it. So all classes that
        tie with the k-th one count, where scikit-learn's ``top_k_accuracy_score`` counts those of a higher place.

    Raises
    ------
    ConfigError
        `columns` has not two or three names, or `eps` or `k` is out of range.

    Examples
    --------
    >>> statistic = ClassProbabilities(("probability", "label"), k=1)
    >>> table = pa.table({"probability": [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]], "label": [0, 2]})
    >>> statistic.finish(statistic.summarise(frames.from_arrow(table))).top_k_accuracy
    0.5
    """

    predicted = "probability"
    eps: float = 1e-15
    k: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.eps < 0.5:
            raise ConfigError(f"eps is {self.eps}, expected a number above 0 and below 0.5, such as 1e-15")
        if self.k < 1:
            raise ConfigError(f"k is {self.k}, expected at least 1")

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the sums of the valid rows of one partition, and how many rows break which rule."""
        vector = is_vector(frame, self.columns[0])
        valid, invalid = valid_rows(frame, self._checks(vector))
        values, lengths = _elements(valid, self.columns[0])
        proper = _are_proper(values, lengths)
        found = _lengths(lengths[proper])
        classes = self._width(found)
        kept = proper & (lengths == classes)
        matrix = (values if kept.all() else values[kept[_rows_of(values, lengths)]]).reshape(-1, classes)
        label = self.label(valid)
        outside, sums = self._scored(matrix, label[kept], self.weight(valid, label)[kept])
        certain = self.classes is not None or valid.schema[self.columns[1]] == nw.Boolean or bool((label == 0).any())
        counts = {"invalid": invalid, "improper": int(np.count_nonzero(~proper)), "outside": outside}
        counts["certain"] = certain
        return {"vector": vector, "lengths": found, **counts, **dict(zip(_SUMS, sums, strict=True))}

    def merge(self, states: Sequence[State]) -> State:
        """Add up the sums and counts."""
        sums = dict.fromkeys(("improper", "outside"), sum) | dict.fromkeys(_SUMS, total)
        by_length = partial(frames.sum_by_key, keys=["length"])
        return merge_fields(states, invalid=add_counts, vector=itemgetter(0), lengths=by_length, certain=any, **sums)

    def finish(self, state: State) -> ProbabilityScores:
        """Return the scores.

        Raises
        ------
        DataValueError
            A value is null; a probability is not between 0 and 1, or a list has null or NaN elements, or not the length
            of most, or of the classes; a label is not the place of an element; a weight is infinite, negative or too
            large. Names the column and the count, and its ``predicate`` is true for the bad rows.
        """
        refuse(self._checks(state["vector"]), state["invalid"])
        classes = self._width(state["lengths"])
        others = pc.sum(state["lengths"].filter(pc.field("length") != classes)["rows"]).as_py() or 0
        if state["improper"] + others:
            raise self._improper(classes, state["improper"] + others)
        if state["outside"]:
            raise self._outside(classes, state["outside"])
        guessed = f"no row of {self.columns[1]!r} is 0, and labels may be counted from 1: name the classes"
        doubt = None if state["certain"] else guessed
        return ProbabilityScores(**{name: state[name] for name in _SUMS}, doubt=doubt)

    def _width(self, lengths: pa.Table) -> int:
        return _most_common(lengths) if self.classes is None else len(self.classes)

    def _checks(self, vector: bool) -> ColumnRules:
        probability, label, *weights = self.columns
        checks = [(probability, Rule("null"))] + ([] if vector else [(probability, Rule("not_between", (0, 1)))])
        places = ("infinite", "negative", "not_whole") if self.classes is None else ()
        of_label = rules_for([label], "null", *places)
        return [*checks, *of_label, *rules_for(weights, "null", "infinite", "negative", "too_large")]

    def _scored(self, matrix: Any, label: Any, weight: Any) -> tuple[int, tuple[float, ...]]:
        """Return how many labels have no element, and the sums over other rows; over all where classes are known."""
        inside = label < matrix.shape[1]
        outside = 0 if self.classes is not None else int(np.count_nonzero(~inside))
        if outside:
            matrix, label, weight = matrix[inside], label[inside], weight[inside]
        near = label if self.classes is None else label.clip(max=matrix.shape[1] - 1)
        places = np.arange(len(label), like=label) * matrix.shape[1] + near.astype(np.int64)
        true = matrix.ravel()[places]
        if self.classes is not None:
            true = np.where(inside, true, 0.0)
        losses = -weight * np.log(np.clip(true, self.eps, 1 - self.eps))
        hits = weight[np.count_nonzero(matrix > true[:, None], axis=1) < self.k]
        return outside, (float(weight.sum()), float(losses.sum()), float(hits.sum()))

    def _improper(self, classes: int, count: int) -> DataValueError:
        name = self.columns[0]
        return DataValueError(
            f"column {name!r} has {count} values that are not lists of {classes} numbers between 0 and 1",
            hint="Give every class a probability in every row; margins are no probabilities.",
            column=name,
            predicate=_improper_lists(name, classes),
        )

    def _outside(self, classes: int, count: int) -> DataValueError:
        name = self.columns[1]
        return DataValueError(
            f"column {name!r} has {count} values that are no place in {classes} probabilities, counted from 0",
            hint="Index the labels from 0 in the order of the probabilities, or evaluate without probabilities.",
            column=name,
            predicate=Rule("not_between", (0, classes - 1)).broken(name),
        )


def _elements(frame: nw.DataFrame[Any], name: str) -> tuple[Any, Any]:
    """Return the probabilities of all rows, one row after another, NaN for null, and how many each row has."""
    if is_vector(frame, name):
        return elements(frame, name)
    positive = device_numbers(frame, name)
    return np.stack([1 - positive, positive], axis=1).ravel(), np.full_like(positive, 2, dtype=np.int64)


def _are_proper(values: Any, lengths: Any) -> Any:
    """Return, for each row, whether it has elements and all of them are probabilities."""
    proper = lengths > 0
    if len(values) and not (values.min() >= 0 and values.max() <= 1):  # neither holds where there is NaN
        proper[_rows_of(values, lengths)[~((values >= 0) & (values <= 1))]] = False
    return proper


def _rows_of(values: Any, lengths: Any) -> Any:
    """Return the row of each element."""
    return np.searchsorted(np.cumsum(lengths), np.arange(len(values), like=lengths), side="right")


def _lengths(lengths: Any) -> pa.Table:
    length, rows = map(matrices.to_host, np.unique(lengths, return_counts=True))
    return pa.table({"length": length.astype(np.int64), "rows": rows.astype(np.int64)})


def _most_common(lengths: pa.Table) -> int:
    """Return the length that most rows have, of several the least; 1 if there are no rows."""
    ordered = lengths.sort_by([("rows", "descending"), ("length", "ascending")])
    return ordered["length"][0].as_py() if len(ordered) else 1


def _improper_lists(name: str, classes: int) -> nw.Expr:
    elements = nw.col(name).cast(nw.List(nw.Float64)).list
    outside = ((elements.min() < 0) | (elements.max() > 1)).fill_null(True)
    missing = elements.contains(None) | elements.contains(float("nan"))
    return (elements.len() != classes) | outside | missing
