"""How often each label is predicted as each: the statistic behind every metric of a classifier's labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.core.errors import ConfigError, SchemaError
from penstock.frames import matrices
from penstock.statistics.aggregates import device_numbers
from penstock.statistics.base import State, merge_fields
from penstock.statistics.evaluation.base import PredictionStatistic
from penstock.statistics.evaluation.confusion_matrix import ConfusionMatrix
from penstock.statistics.evaluation.ties import add_ties
from penstock.statistics.labels import coded_there, refuse_more, without_minus_zero
from penstock.statistics.rules import ColumnRules, Rule, add_counts, refuse, rules_for, valid_rows

_SIDES = ("label", "prediction")
_NAMES = (*_SIDES, "weight")


def texts_among(frame: nw.DataFrame[Any], columns: Sequence[str]) -> list[str]:
    """Return the columns that hold strings."""
    return [name for name in columns if frame.schema[name] == nw.String]


@dataclass(frozen=True)
class Confusion(PredictionStatistic):
    """The :class:`ConfusionMatrix` of predicted and true labels; the state grows with the pairs that occur.

    Computed where the frame is. On a CPU weights are added in the order of the rows, so that the result does not depend
    on threads.

    Parameters
    ----------
    columns : tuple of str
        The prediction, the label, and the weight (0 or more) if there is one; without it every row weighs 1. Labels and
        predictions are both numbers or booleans, compared as float64, or both strings. A row of weight 0 is as if
        absent.
    limit : int, default 10_000
        The most distinct labels, and the most distinct predictions.

    Raises
    ------
    ConfigError
        `columns` has not two or three names, or `limit` is below 1.

    Examples
    --------
    >>> statistic = Confusion(("prediction", "label"))
    >>> frame = frames.from_arrow(pa.table({"prediction": ["a", "b", "a"], "label": ["a", "b", "b"]}))
    >>> statistic.finish(statistic.summarise(frame)).recall("b")
    0.5
    """

    limit: int = 10_000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.limit < 1:
            raise ConfigError(f"limit is {self.limit}, expected at least 1")

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the weight of each pair of label and prediction, and how many rows break which rule.

        Raises
        ------
        SchemaError
            Of label and prediction one holds strings and the other does not.
        DataValueError
            There are more distinct labels, or predictions, than the limit.
        """
        texts = self._texts(frame)
        valid, invalid = valid_rows(frame, self._checks(texts))
        sides = [nw.col(name) if name in texts else nw.col(name).cast(nw.Float64) for name in self.columns[1::-1]]
        weight = nw.col(self.columns[2]).cast(nw.Float64) if len(self.columns) == 3 else nw.lit(1.0)
        rows = valid.select(*[each.alias(name) for name, each in zip(_NAMES, (*sides, weight), strict=True)])
        on_device = frames.is_gpu(rows) and len(rows)
        cells = self._of_device(rows) if on_device else self._added(frames.to_arrow(rows))
        return {"cells": cells, "invalid": invalid}

    def merge(self, states: Sequence[State]) -> State:
        """Add up the weights of equal pairs; raises DataValueError as `summarise` does."""
        return merge_fields(states, cells=lambda cells: self._added(pa.concat_tables(cells)), invalid=add_counts)

    def finish(self, state: State) -> ConfusionMatrix:
        """Return the matrix.

        Raises
        ------
        DataValueError
            A prediction or label is null or infinite, a weight is null, infinite, negative or too large; names the
            column and the count, and its ``predicate`` is true for the bad rows.
        """
        cells = state["cells"]
        sides = zip(self.columns[1::-1], _SIDES, strict=True)
        texts = [name for name, side in sides if pa.types.is_string(cells.schema.field(side).type)]
        refuse(self._checks(texts), state["invalid"])
        ordered = cells.filter(pc.field("weight") > 0).sort_by([(name, "ascending") for name in _SIDES])
        return ConfusionMatrix(*(ordered[name].to_numpy() for name in _NAMES))

    def _checks(self, texts: Sequence[str]) -> ColumnRules:
        of_side = {name: ("null",) if name in texts else ("null", "infinite") for name in self.columns[:2]}
        checks = [(name, Rule(test)) for name, tests in of_side.items() for test in tests]
        return [*checks, *rules_for(self.columns[2:], "null", "infinite", "negative", "too_large")]

    def _texts(self, frame: nw.DataFrame[Any]) -> Sequence[str]:
        """Return which of prediction and label hold strings: both or none."""
        prediction, label = self.columns[:2]
        texts = texts_among(frame, self.columns[:2])
        if len(texts) == 1:
            raise SchemaError(
                f"column {prediction!r} is {frame.schema[prediction]} but column {label!r} is {frame.schema[label]}, "
                "expected numbers or booleans in both, or strings in both",
                hint="Predict the labels as they are, or index the labels as they were for training.",
                column=prediction,
            )
        return texts

    def _added(self, table: pa.Table) -> pa.Table:
        """Return the distinct pairs, by first occurrence of their label and then of their prediction."""
        coded = [without_minus_zero(table[side].combine_chunks()).dictionary_encode() for side in _SIDES]
        for name, each in zip(self.columns[1::-1], coded, strict=True):
            self._refuse_more(name, len(each.dictionary))
        return self._cells([(each.dictionary, each.indices.to_numpy()) for each in coded], table["weight"].to_numpy())

    def _of_device(self, rows: nw.DataFrame[Any]) -> pa.Table:
        checks = [partial(self._refuse_more, name) for name in self.columns[1::-1]]
        coded = [coded_there(rows, side, check) for side, check in zip(_SIDES, checks, strict=True)]
        pairs = [(counts["value"].combine_chunks(), place) for counts, place in coded]
        return self._cells(pairs, device_numbers(rows, "weight"))

    def _cells(self, coded: Sequence[tuple[pa.Array, Any]], weight: Any) -> pa.Table:
        """Return the pairs that occur, of the distinct values of either side and the place of each row's among them."""
        (labels, label), (predictions, prediction) = coded
        width = max(len(predictions), 1)
        pairs = label.astype(np.int64) * width + prediction
        small = pairs.astype(np.min_scalar_type(len(labels) * width))  # NumPy sorts short ones by radix
        cells, added = map(matrices.to_host, add_ties([small, weight]))
        found = (labels.take(pa.array(cells // width)), predictions.take(pa.array(cells % width)), added)
        return pa.table(dict(zip(_NAMES, found, strict=True)))

    def _refuse_more(self, name: str, number: int) -> None:
        hint = "Evaluate predicted quantities as a regression; join classes that are too many."
        refuse_more(name, number, self.limit, "distinct values", " classes", hint)
