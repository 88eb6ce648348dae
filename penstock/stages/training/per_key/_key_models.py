"""What a stage has learned of each key, and which of it scores a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.stages.base import Fitted, RowFunction, Stage
from penstock.stages.capabilities import ScoresByState
from penstock.stages.preprocessing._groups import group_place, group_places
from penstock.stages.step import capability
from penstock.stages.vectors import over


@dataclass(frozen=True, eq=False)
class KeyModels:
    """A bound stage, and what it has learned of each key.

    Parameters
    ----------
    stage : Stage
    keys : pyarrow.Table
    models : sequence of mapping
        What was learned of the keys, in their order; and at the end, if there is one more, for rows of no such key.
    """

    stage: Stage
    keys: pa.Table
    models: Sequence[Fitted]

    def transform(self, frame: nw.DataFrame) -> nw.DataFrame:
        """Return what the stage makes of each row by the model of its key, null where there is none."""
        place = group_places(frame, self.keys).to_numpy()
        together = None if any(map(over.sizes, self.models)) else capability(self.stage, ScoresByState)
        made = None if together is None else together.transform_by(frame, self.models, place)
        return self._by_key(frame, place) if made is None else made

    def _by_key(self, frame: nw.DataFrame, place: np.ndarray) -> nw.DataFrame:
        """Return what `transform` does, key by key."""
        order = np.argsort(place, kind="stable")
        rows = frame.select(*self.keys.column_names, *self.stage.inputs())[order]
        found, starts = np.unique(place[order], return_index=True)
        parts = pairwise([*starts.tolist(), len(place)])
        made = [self._made(rows[start:end], at) for at, (start, end) in zip(found.tolist(), parts, strict=True)]
        joined = frames.concat(made or [self._made(rows, 0)])
        inverse = np.empty(len(order), dtype=np.int64)
        inverse[order] = np.arange(len(order))
        return frame.with_columns(*joined[inverse].iter_columns())

    def _made(self, rows: nw.DataFrame, place: int) -> nw.DataFrame:
        outputs = self.stage.outputs()
        if place < len(self.models):
            return over.transform(self.stage, rows, self.models[place]).select(*outputs)
        types = frames.to_arrow(self._made(rows[:0], 0)).schema
        return frames.conform(rows.drop(*outputs, strict=False), types)

    def row_function(self, schema: pa.Schema) -> RowFunction | None:
        """Return what `transform` does as a function of one row; None where some model has none."""
        functions = [over.row_function(self.stage, schema, each) for each in self.models]
        known = [each for each in functions if each is not None]
        if len(known) < len(functions):
            return None
        place, nothing = group_place(self.keys), dict.fromkeys(self.stage.outputs())

        def call(row: dict[str, Any]) -> None:
            at = place(row)
            if at < len(known):
                known[at](row)
            else:
                row.update(nothing)

        return call
