"""Consecutive steps as one query that is planned once: planning them takes most of the time of a thousand rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import groupby
from typing import Any

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import SchemaError, did_you_mean
from penstock.dataset.steps import RowLog, output_schema, prune, run
from penstock.frames.prepared_query import PreparedQuery
from penstock.stages.preprocessing.columns import REFUSED
from penstock.stages.step import StageStep

Applied = Callable[[nw.DataFrame, RowLog], nw.DataFrame]


def steps_for(
    columns: Sequence[str], steps: Sequence[StageStep], schema: pa.Schema
) -> tuple[list[StageStep], pa.Schema]:
    """Return the fitted steps of a model that `columns` depend on, and what these need of its schema.

    Raises
    ------
    SchemaError
        A column is neither in the data nor made by a stage.
    """
    names = output_schema(steps, schema).names
    for name in columns:
        if name not in names:
            raise SchemaError(f"the model gives no column {name!r}.{did_you_mean(name, names)}", column=name)
    kept, need = prune(steps, columns)
    given = pa.schema([field for field in schema if field.name in need])
    return [step for step in kept if isinstance(step, StageStep)], given


def planned(steps: Sequence[StageStep], schema: pa.Schema) -> Iterator[Applied]:
    """Yield what applies fitted steps to frames of a schema on a CPU, group by group, as `run` does step by step."""
    for is_lazy, group in groupby(steps, key=lambda step: step.is_lazy):
        together = tuple(group)
        yield PlannedSteps(together, schema) if is_lazy else partial(run, together)
        schema = output_schema(together, schema)


class PlannedSteps:
    """Steps whose stages take lazy frames. Where they refuse a row, they are run one by one, to say what and why."""

    def __init__(self, steps: Sequence[StageStep], schema: pa.Schema) -> None:
        self._steps, self._schema = steps, schema

    @cached_property
    def _query(self) -> PreparedQuery:
        return PreparedQuery(self._planned, self._schema)

    def _planned(self, frame: Any) -> Any:
        for step in self._steps:
            assert step.fitted is not None
            frame = step.stage.transform(frame, step.fitted)
        return frame

    def __call__(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        """Return a new frame."""
        try:
            made = self._query(frame)
        except frames.ERRORS:
            return run(self._steps, frame, log)
        if REFUSED not in made.columns:
            return made
        return run(self._steps, frame, log) if made[REFUSED].any() else made.drop(REFUSED)
