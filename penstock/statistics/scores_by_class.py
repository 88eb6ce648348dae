"""The weight of each class at each score: what probabilities are calibrated with, and thresholds are chosen by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, DataValueError
from penstock.frames import matrices
from penstock.statistics.aggregates import numbers
from penstock.statistics.base import State, Statistic, merge_fields
from penstock.statistics.rules import ColumnRules, add_counts, refuse, rules_for, valid_rows
from penstock.statistics.tied_sums import Tied, TiedSums
from penstock.statistics.vectors import is_vector

MOST_CLASSES = 100
"""There is a table for each pair of a class and a score."""
_OF_WEIGHTS = ("null", "infinite", "too_large", "negative")
_SIDES = ("positive", "negative")


@dataclass(frozen=True, eq=False)
class ClassScores:
    """What the rows of each class have at each score.

    Parameters
    ----------
    adding : TiedSums
        How it was added up.
    widths : tuple of int
        How many elements lists of scores have; none where scores are numbers.
    of_class : mapping of label to sequence of states
        Those of each score; of two classes there is one, that of the second.
    known : tuple, optional
        The classes that scores are of.
    """

    adding: TiedSums
    widths: tuple[int, ...]
    of_class: Mapping[Any, Sequence[State]]
    known: tuple[Any, ...] | None = None

    def check_classes(self, classes: Sequence[Any], label: str) -> None:
        """Raise DataValueError unless labels have the classes that scores are of, and every row a score for each."""
        if self.known and list(self.known) != list(classes):
            of_scores, of_label = (", ".join(map(repr, each[:10])) for each in (self.known, classes))
            raise DataValueError(
                f"column {self.adding.column!r} has scores of the classes {of_scores}; label {label!r} has {of_label}",
                hint="Take rows of all classes that the scores are of, and of no others.",
                column=label,
            )
        if set(self.widths) <= {len(classes)} and (self.widths or len(classes) == 2):
            return
        found = " or ".join(map(str, self.widths)) or "1"
        raise DataValueError(
            f"column {self.adding.column!r} has {found} score(s) a row, and label {label!r} has {len(classes)} classes:"
            f" {', '.join(map(repr, classes[:10]))}",
            hint="Lists have a score for each class in ascending order; of two classes, numbers are of the second.",
            column=self.adding.column,
        )

    def one_against_rest(self, place: int, positive: Any) -> Tied:
        """Return the weights of ``positive`` and ``negative`` rows at each value of one of the scores.

        Parameters
        ----------
        place : int
            Of the score.
        positive : label
            The class that is positive.
        """
        states = [_on_side(state[place], value == positive) for value, state in self.of_class.items()]
        return self.adding.finish(self.adding.merge(states))


def _on_side(state: State, positive: bool) -> State:
    """Return a state whose weights are those of one side too, and of the other 0."""
    table = state["table"] if isinstance(state, Mapping) else state
    weight = table["weight"].to_numpy()
    for side in _SIDES:
        table = table.append_column(side, pa.array(weight if (side == "positive") == positive else 0 * weight))
    return {**state, "table": table} if isinstance(state, Mapping) else table


@dataclass(frozen=True)
class ScoresByClass(Statistic):
    """The :class:`ClassScores` of scores and labels: of every distinct score, or of cells of them.

    Computed on the host. The state has 12 bytes for each distinct score of a class, and 16 with weights; of K classes,
    which have lists of K scores, as much for each of the K.

    Parameters
    ----------
    columns : tuple of str
        The score, the label, and the weight (0 or more) if there is one; without it every row weighs 1. A row of weight
        0 is as if absent. Scores are finite numbers, or lists of them, one for each class in ascending order; of two,
        the second is taken.
    num_bins : int
        As of :class:`TiedSums`.
    limit_bytes : int
        The same, for each pair of a class and a score.
    known : tuple, optional
        The classes that scores are of, in their order.

    Raises
    ------
    ConfigError
        `columns` has not two or three names, or a number is out of range.

    Examples
    --------
    >>> statistic = ScoresByClass(("score", "label"))
    >>> frame = frames.from_arrow(pa.table({"score": [0.5, 0.25, 0.5], "label": ["yes", "no", "no"]}))
    >>> tied = statistic.finish(statistic.summarise(frame)).one_against_rest(0, "yes")
    >>> tied.values.tolist(), tied.sums["positive"].tolist(), tied.sums["negative"].tolist()
    ([0.25, 0.5], [0.0, 1.0], [1.0, 1.0])
    """

    num_bins: int = 0
    limit_bytes: int = 2**29
    known: tuple[Any, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if len(self.columns) not in (2, 3):
            raise ConfigError(f"columns are {self.columns!r}, expected (score, label) or (score, label, weight)")
        _ = self._adding  # which refuses numbers that are out of range

    @property
    def _adding(self) -> TiedSums:
        return TiedSums(self.columns[0], self.num_bins, self.limit_bytes)

    def _checks(self, vectors: bool) -> ColumnRules:
        of_scores = ("lists_with_nulls", "lists_with_nan") if vectors else ("infinite", "too_large")
        score, _, *weight = self.columns
        checks = (*rules_for(self.columns[:2], "null"), *rules_for((score,), *of_scores))
        return (*checks, *rules_for(weight, *_OF_WEIGHTS))

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return what the valid rows of one partition have, and how many rows break which rule.

        Raises
        ------
        ExecutionError
            A table would be larger than `limit_bytes`.
        """
        vectors = is_vector(frame, self.columns[0])
        rows = frames.from_arrow(frames.to_arrow(frame.select(self.columns)))
        valid, invalid = valid_rows(rows, self._checks(vectors))
        widths = np.unique(matrices.list_lengths(valid, self.columns[0])).tolist() if vectors else []
        classes = self._classes(valid, *widths) if len(widths) == vectors else []
        return {"invalid": invalid, "vectors": vectors, "widths": widths, "classes": classes}

    def _classes(self, valid: nw.DataFrame[Any], width: int = 0) -> list[list[Any]]:
        labels = frames.to_arrow(valid.select(self.columns[1]))[self.columns[1]].combine_chunks().dictionary_encode()
        if len(labels.dictionary) > MOST_CLASSES:
            return []
        scores, codes = self._scores(valid, width), labels.indices.to_numpy()
        weighted = len(self.columns) == 3
        weight = numbers(valid, self.columns[2]) if weighted else np.ones(len(valid), dtype=bool)
        return [
            [value, [self._adding.summarise(score[codes == code], weight[codes == code], {}) for score in scores]]
            for code, value in sorted(enumerate(labels.dictionary.to_pylist()), key=itemgetter(1))
        ]

    def _scores(self, valid: nw.DataFrame[Any], width: int) -> np.ndarray:
        """Return the scores, of shape (n_scores, n_rows)."""
        name = self.columns[0]
        if not is_vector(valid, name):
            return numbers(valid, name)[None]
        scores = matrices.lists_to_matrix(valid, name, width, "float64").T
        if not np.isfinite(scores).all():
            raise DataValueError(f"column {name!r} has lists with infinite elements", column=name)
        return scores[1:] if width == 2 else scores

    def merge(self, states: Sequence[State]) -> State:
        """Add up class by class; raises as `summarise` does."""
        widths = sorted({width for state in states for width in state["widths"]})
        of_class: dict[Any, list[Any]] = {}
        for value, scores in (each for state in states for each in state["classes"]):
            of_class.setdefault(value, []).append(scores)
        some = len(widths) <= 1 and len(of_class) <= MOST_CLASSES
        merged = [[value, self._merged(of_class[value])] for value in sorted(of_class)] if some else []
        found = merge_fields(states, invalid=add_counts, vectors=itemgetter(0))
        return {**found, "widths": widths, "classes": merged}

    def _merged(self, parts: Sequence[Sequence[State]]) -> list[State]:
        return [self._adding.merge(of_score) for of_score in zip(*parts, strict=True)]

    def finish(self, state: State) -> ClassScores:
        """Return what each class has.

        Raises
        ------
        DataValueError
            A score, label or weight is null, a score or weight infinite or beyond 1e150, a weight negative, or a list
            has a null element; names the column and the count, and its ``predicate`` is true for the bad rows.
        """
        refuse(self._checks(state["vectors"]), state["invalid"])
        return ClassScores(self._adding, tuple(state["widths"]), dict(state["classes"]), self.known)
