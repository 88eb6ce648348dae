"""What the statistics of two columns of lists share: their rules, and valid rows on the host, weights beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from penstock.frames import lists as frames_lists
from penstock.statistics.base import State, merge_fields
from penstock.statistics.evaluation.base import PredictionStatistic
from penstock.statistics.rules import ColumnRules, Rule, add_counts, refuse, rules_for, valid_rows

PREDICTION, LABEL, WEIGHT = "prediction", "label", "weight"
"""The columns of the frame that :meth:`ListPairs.valid` gives."""
_ELEMENTS = ("lists_with_nulls", "lists_with_nan")


@dataclass(frozen=True)
class ListPairs(PredictionStatistic):
    """A statistic of a column of predicted lists and one of true lists, and of weights if there are any."""

    @property
    def checks(self) -> ColumnRules:
        """The rules that the columns keep."""
        lists = [(name, Rule(test)) for name in self.columns[:2] for test in ("null", *_ELEMENTS)]
        return [*lists, *rules_for(self.columns[2:], "null", "infinite", "negative")]

    def valid(self, frame: nw.DataFrame[Any]) -> tuple[nw.DataFrame[Any], State]:
        """Return the valid rows of a weight above 0 on the host, and how many rows break which rule.

        The columns are `PREDICTION`, `LABEL` and `WEIGHT` (float64, 1 where there is none).
        """
        prediction, label, *weights = self.columns
        held = frames_lists.on_host(frame, (prediction, label), weights)
        rows, counts = self._kept(held, floating=held.schema[label] == nw.List(nw.Float64))
        weight = nw.col(weights[0]).cast(nw.Float64) if weights else nw.lit(1.0)
        named = rows.select(nw.col(prediction).alias(PREDICTION), nw.col(label).alias(LABEL), weight.alias(WEIGHT))
        weighed = named.filter(nw.col(WEIGHT) > 0) if weights else named
        return weighed, {"counts": counts}

    def _kept(self, held: nw.DataFrame[Any], floating: bool) -> tuple[nw.DataFrame[Any], list[int]]:
        """Return the rows that keep all rules; elements that are not floating are not asked whether they are NaN."""
        asked = [floating or rule.test != "lists_with_nan" for _, rule in self.checks]
        rows, found = valid_rows(held, [check for check, wanted in zip(self.checks, asked, strict=True) if wanted])
        counts = iter(found)
        return rows, [next(counts) if wanted else 0 for wanted in asked]

    def merge_invalid(self, states: Sequence[State]) -> State:
        """Add up what :meth:`valid` counted."""
        return merge_fields(states, counts=add_counts)

    def refuse_invalid(self, invalid: State) -> None:
        """Raise DataValueError for the first of the rules that some rows break."""
        refuse(self.checks, invalid["counts"])
