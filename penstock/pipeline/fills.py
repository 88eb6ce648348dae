"""Columns that are known but for what a stage, which is not fitted yet, will put in place of null.

The mean that an imputer finds stands for so many nulls: what a scaler behind it learns can be read off the values that
are there, that mean, and how many nulls there are. So both learn from one pass, and a refit, in which the mean moves,
needs no old rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pyarrow as pa

from penstock.core.selectors import is_numeric
from penstock.stages.base import Fitted, Stage
from penstock.stages.capabilities import FillsNulls
from penstock.stages.step import StageStep, capability
from penstock.stages.vectors import over
from penstock.statistics.counts import Count

UNFILLED: Fitted = {}
"""What a stage that fills nulls has learned before it has learned anything: it leaves them."""


class ValueWise(Protocol):
    """A stage that makes one column of each of its columns, value by value; see `ColumnStage`."""

    def pairs(self) -> Sequence[tuple[str, str]]:
        """Return (column, output) names."""

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Return what it does to one value of a column."""


@dataclass(frozen=True)
class Fill:
    """Where nulls of a column are filled, and what becomes of the value that is put in.

    Attributes
    ----------
    position : int
        Of the stage that fills them.
    source, filled : str
        The column before and after it.
    level : int
        The pass in which the column can be gathered, but for what is filled in.
    through : tuple of (int, str)
        Stages that make another value of each, which learn nothing, and the column that each does it to.
    """

    position: int
    source: str
    filled: str
    level: int
    through: tuple[tuple[int, str], ...] = ()

    @property
    def nulls(self) -> str:
        """The name of the statistic that counts the nulls."""
        return f"nulls filled by stage {self.position}"

    def value(self, stages: Sequence[Any], schemas: Sequence[pa.Schema], fitted: Sequence[Fitted | None]) -> Any:
        """Return what stands in place of null in the end; all stages on the way are fitted."""
        value = None
        for position, name in ((self.position, self.source), *self.through):
            kind = schemas[position].field(name).type
            value = stages[position].value_function(name, kind, fitted[position] or {})(value)
        return value


def fills_after(step: StageStep, schema: pa.Schema, before: Mapping[str, Fill], level: int | None) -> dict[str, Fill]:
    """Return the columns after a stage that are known but for what is filled in, by name.

    Parameters
    ----------
    step : StageStep
        Fitted where it is so already.
    schema : pyarrow.Schema
        Before it.
    before : mapping of str to Fill
        Those before it.
    level : int or None
        From which on the columns of a stage that still learns are known; None for another.
    """
    made = _carried(step, schema, before) if level is None else _filled(step, schema, level)
    if not before:
        return made
    ended = {*step.stage.outputs(), *step.doubtful}
    kept = before if step.keeps_rows else {}
    return {name: fill for name, fill in kept.items() if name not in ended} | made


def _filled(step: StageStep, schema: pa.Schema, level: int) -> dict[str, Fill]:
    """Return the columns that a stage fills; none of a stage that has vectors among its columns."""
    filler = capability(step.stage, FillsNulls)
    pairs = () if filler is None else filler.fills()
    if not all(is_numeric(schema.field(name).type) for name, _ in pairs):
        return {}
    return {made: Fill(step.position, name, made, level) for name, made in pairs}


def _carried(step: StageStep, schema: pa.Schema, fills: Mapping[str, Fill]) -> dict[str, Fill]:
    """Return the columns that a stage, which is fitted or need not be, makes of filled ones and leaves null there."""
    stage = capability(step.stage, ValueWise)
    return {
        made: replace(fills[name], through=(*fills[name].through, (step.position, name)))
        for name, made in (stage.pairs() if stage is not None else ())
        if name in fills and _keeps_null(step, name, schema)
    }


def _keeps_null(step: StageStep, name: str, schema: pa.Schema) -> bool:
    stage: Any = step.stage
    kind = schema.field(name).type
    learned = over.finish(stage, {}) if step.fitted is None else step.fitted
    function = stage.value_function(name, kind, learned) if is_numeric(kind) else None
    return function is not None and function(None) is None


def unfilled_state(stage: Stage) -> Fitted | None:
    """Return what lets a stage that is not fitted leave nulls as they are; None for one that fills none."""
    filler = capability(stage, FillsNulls)
    return None if filler is None or not filler.fills() else UNFILLED


def copies(
    fills: Iterable[tuple[str, Fill]], counts: Mapping[str, Mapping[str, Count]], values: Mapping[str, Any]
) -> dict[str, tuple[Any, int]]:
    """Return by column the value that is put in, and how often, if ever; `counts` are by the name of the statistic."""
    nulls = {name: counts[fill.nulls][fill.filled].nulls for name, fill in fills}
    return {name: (values[name], count) for name, count in nulls.items() if count}
