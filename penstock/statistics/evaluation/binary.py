"""How well scores tell two classes apart: the weights of the classes at each distinct score, or in cells of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError, ExecutionError
from penstock.statistics.base import State, merge_fields
from penstock.statistics.cells import finish_cells, merge_cells, summarise_cells
from penstock.statistics.evaluation.base import PredictionStatistic
from penstock.statistics.evaluation.curves import Curve
from penstock.statistics.evaluation.ties import add_ties, merge_ties
from penstock.statistics.rules import ColumnRules, Rule, add_counts, rules_for, valid_rows
from penstock.statistics.vectors import positive_class, refuse_elements, vector_kind

_OF_WEIGHTS = ("null", "infinite", "too_large", "negative")
_COLUMNS = ("score", "positive", "negative")


@dataclass(frozen=True)
class BinaryCurve(PredictionStatistic):
    """The :class:`Curve` of scores and labels: exact, or of scores put in cells.

    Exact, the state grows with the number of distinct scores: 16 bytes each for float64 scores without weights, 12 for
    float32, and 24 and 20 with weights. With `num_bins` it has at most that many entries.

    Parameters
    ----------
    columns : tuple of str
        The score, the label (0 and 1, booleans, or one of two `classes`), and the weight (from 0 to 1e150) if there is
        one; without it every row weighs 1. Scores are numbers, compared as float32 if they are that and otherwise as
        float64, or lists of two, of which the second is taken. They may be infinite only when the curve is exact.
    num_bins : int, default 0
        0 for every distinct score; otherwise, at least 2, the most cells of equal width to put the scores in. The cells
        do not depend on how the rows are partitioned.
    limit_bytes : int, default 2**30
        The largest state of an exact curve; up to nine of them may be in memory while they are merged.

    Raises
    ------
    ConfigError
        `columns` has not two or three names, `num_bins` is 1 or negative, or `limit_bytes` is not positive.

    Notes
    -----
    The score of a row of weight 0 is a threshold of an exact curve, as in MLlib, but fills no cell. That matters where
    no row with the largest score has any weight: the exact precision-recall curve then begins with a precision of 1.

    Examples
    --------
    >>> from penstock import frames
    >>> statistic = BinaryCurve(("score", "label"))
    >>> frame = frames.from_arrow(pa.table({"score": [0.9, 0.8, 0.3], "label": [True, False, False]}))
    >>> statistic.finish(statistic.summarise(frame)).area_under_roc
    1.0
    """

    predicted = "score"
    num_bins: int = 0
    limit_bytes: int = 2**30

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_bins < 0 or self.num_bins == 1:
            raise ConfigError(f"num_bins is {self.num_bins}, expected 0 for an exact curve, or at least 2")
        if self.limit_bytes < 1:
            raise ConfigError(f"limit_bytes is {self.limit_bytes}, expected at least 1")

    @property
    def _checks(self) -> ColumnRules:
        score, label, *weight = self.columns
        checks = [(score, Rule("null")), *self.of_two(label)]
        checks += [(score, Rule("infinite"))] if self.num_bins else []
        return [*checks, *rules_for(weight, *_OF_WEIGHTS)]

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the weight of each class at each distinct score or in each cell, and how many rows break which rule.

        Raises
        ------
        ExecutionError
            The state would be larger than `limit_bytes`.
        """
        valid, invalid = valid_rows(positive_class(frame, self.columns[0]), self._checks)
        found = {"invalid": invalid, "vectors": vector_kind(frame, self.columns[0])}
        score, positive, negative = self._arrays(valid)
        if self.num_bins:
            return {**found, "cells": self._in_cells(score, positive, negative)}
        run = add_ties([score, positive, negative])
        self._check_size(len(run[0]), sum(column.itemsize for column in run))
        return {**found, "table": pa.table(dict(zip(_COLUMNS, run, strict=True)))}

    def merge(self, states: Sequence[State]) -> State:
        """Add up the weights of equal scores or cells; raises as `summarise` does."""
        found = merge_fields(states, invalid=add_counts, vectors=itemgetter(0))
        if self.num_bins:
            return {**found, "cells": merge_cells([state["cells"] for state in states], self.num_bins)}
        if len(states) == 1:
            return states[0]
        runs = [tuple(state["table"][name].to_numpy() for name in _COLUMNS) for state in states]
        return {**found, "table": pa.table(dict(zip(_COLUMNS, merge_ties(runs, self._check_size), strict=True)))}

    def finish(self, state: State) -> Curve:
        """Return the curve.

        Raises
        ------
        DataValueError
            A score, label or weight is null, a label is not 0 or 1, a weight is negative or too large, or a score to be
            put in a cell is infinite; names the column and the count, and its ``predicate`` is true for bad rows, and
            None for lists on a GPU.
        """
        refuse_elements(self._checks, state["invalid"], self.columns[0], state["vectors"])
        if self.num_bins:
            cells = finish_cells(state["cells"])
            return Curve(cells.lower[::-1], cells.sums["positive"][::-1], cells.sums["negative"][::-1], binned=True)
        score, positive, negative = (state["table"][name].to_numpy()[::-1] for name in _COLUMNS)
        return Curve(score, positive, negative)

    def _arrays(self, valid: nw.DataFrame[Any]) -> tuple[Any, Any, Any]:
        """Return the scores, and the weight that each row gives to either class, where the rows are."""
        scores, label, *weights = self.numbers(valid)
        if valid.schema[self.columns[0]] == nw.Float32:
            scores = scores.astype(np.float32)
        scores = scores + 0.0  # of minus zero it makes zero
        positive = label.astype(bool)
        if not weights:
            return scores, positive, ~positive
        return scores, np.where(positive, weights[0], 0.0), np.where(positive, 0.0, weights[0])

    def _in_cells(self, score: Any, positive: Any, negative: Any) -> State:
        filled = (positive > 0) | (negative > 0)
        weights = {"positive": positive[filled], "negative": negative[filled]}
        return summarise_cells(score[filled].astype(np.float64), weights, self.num_bins)

    def _check_size(self, distinct: int, each: int) -> None:
        if distinct * each > self.limit_bytes:
            raise ExecutionError(
                f"column {self.columns[0]!r} has {distinct:,} or more distinct scores; at {each} bytes each that is"
                f" {distinct * each:,} bytes, expected at most limit_bytes={self.limit_bytes:,}",
                hint="Set num_bins, 10000 say: the areas are then approximate, with bounds.",
                column=self.columns[0],
            )
