"""`transform` on frames, without an engine: what it may change, what it may look at, and what it must declare."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial
from typing import Any, cast

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, InputError
from penstock.dataset.steps import RowLog
from penstock.engines.base import Engine
from penstock.frames import ROW
from penstock.frames.prepared_query import PreparedQuery
from penstock.pipeline.row_scorer import RowScorer
from penstock.stages.base import Fitted, Stage
from penstock.stages.preprocessing.columns import REFUSED
from penstock.stages.step import StageStep
from penstock.testing import tables
from penstock.testing.compare import demand, demand_equal
from penstock.testing.trials import retyped, whole

_KINDS = (pa.bool_(), pa.int8(), pa.int32(), pa.uint8(), pa.uint64(), pa.float32(), pa.float64(), pa.null())


def _learned(stage: Stage, engine: Engine) -> tuple[Stage, Fitted]:
    model = whole(stage, engine, "ordinary").fitted()
    return model.stages[0], model.fitted[0]


def _frame(table: pa.Table, engine: Engine) -> nw.DataFrame[Any]:
    return frames.from_arrow(table, engine.kind)


def _apply(stage: Stage, fitted: Fitted, table: pa.Table, engine: Engine) -> pa.Table:
    return frames.to_arrow(StageStep(stage, fitted, 0).apply(_frame(table, engine), RowLog()))


def check_schema(stage: Stage, engine: Engine) -> None:
    """Check that the declared schema is that of what comes out, of no rows too and whatever type numbers have."""
    for kind in (None, *_KINDS):
        for table, step, made in _applied(stage, kind, engine):
            declared = _held(step.output_schema(table.schema), engine)
            none = _apply(step.stage, step.fitted or {}, table.slice(0, 0), engine)
            for each in (made, none):
                demand(each.schema == declared, f"{_told(table)}: the frame has {_told(each)}, declared is {declared}")


def _held(schema: pa.Schema, engine: Engine) -> pa.Schema:
    """Return the types in which frames on the engine's device have these columns; a GPU has no dates."""
    return frames.to_arrow(_frame(schema.empty_table(), engine)).schema


def _applied(stage: Stage, kind: pa.DataType | None, engine: Engine) -> Iterator[tuple[pa.Table, StageStep, pa.Table]]:
    """Yield the ordinary table, its numbers in another type unless None, the stage fitted to it, and what it makes.

    Yield nothing where the stage refuses the types or the values.
    """
    table = tables.ordinary() if kind is None else tables.retyped(kind)
    try:
        stage.bind(table.schema)
    except (InputError, ConfigError):
        demand(kind is not None, f"{stage.title} does not take the ordinary table")
        return
    try:
        step = (whole(stage, engine, "ordinary") if kind is None else retyped(stage, engine, kind)).fitted().steps[0]
        made = _apply(step.stage, step.fitted or {}, table, engine)
    except InputError:
        return
    yield table, step, made


def _told(table: pa.Table) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in table.schema)


def check_other_columns_stay(stage: Stage, engine: Engine) -> None:
    """Check that columns that are not among the outputs come out as they went in, and in their order.

    A selector leaves out, of the columns that it names as doubtful, those that it tells a reason of; what the declared
    schema lacks is left out too.
    """
    bound, fitted = _learned(stage, engine)
    table = tables.ordinary()
    made = _apply(bound, fitted, table, engine)
    step = StageStep(bound, fitted, 0)
    left = step.left_out
    stray = [name for name in left if name in made.schema.names or name not in step.doubtful]
    demand(not stray, f"{stage.title} cannot have left out {', '.join(stray)}")
    kept = frames.to_arrow(_frame(table, engine)).filter(pa.compute.is_in(table["id"], made["id"]))
    stay = [name for name in step.output_schema(table.schema).names if name in table.schema.names]
    names = [name for name in stay if name not in bound.outputs()]
    absent = [name for name in (*names, *bound.outputs()) if name not in made.schema.names]
    demand(not absent, f"{stage.title} leaves out {', '.join(absent)}")
    demand_equal(made.select(names), kept.select(names), f"what {stage.title} leaves alone")
    order = [name for name in made.schema.names if name in table.schema.names]
    demand(order == stay, f"{stage.title} puts the columns in the order {order}")


def check_nothing_changes_in_place(stage: Stage, engine: Engine) -> None:
    """Check that the frame and the learned state that `transform` is given are the same afterwards."""
    bound, fitted = _learned(stage, engine)
    frame, state = _frame(tables.ordinary(), engine), copy.deepcopy(dict(fitted))
    before = frames.to_arrow(frame.clone())
    bound.transform(frame, fitted)
    demand_equal(frames.to_arrow(frame), before, f"the frame given to {stage.title}")
    demand_equal(dict(fitted), state, f"the state given to {stage.title}")


def check_rows_are_kept(stage: Stage, engine: Engine) -> None:
    """Check that a stage that keeps rows gives each of them, in order; any other gives some of them, in order."""
    bound, fitted = _learned(stage, engine)
    made = _apply(bound, fitted, tables.ordinary(), engine)["id"].to_pylist()
    given = tables.ordinary()["id"].to_pylist()
    expected = given if bound.tags.keeps_rows else [row for row in given if row in set(made)]
    demand(made == expected, f"{stage.title} gives the rows {made}, expected {expected}")


def check_only_inputs_are_read(stage: Stage, engine: Engine) -> None:
    """Check that `transform` needs no column but its inputs, and the row number where the tags say so."""
    bound, fitted = _learned(stage, engine)
    table = tables.ordinary()
    expected = _apply(bound, fitted, table, engine).select(list(bound.outputs()))
    needed = table.select([*bound.inputs(), "id"])
    numbered = needed.append_column(ROW, table["id"]) if bound.tags.numbers_rows else needed
    made = _apply(bound, fitted, numbered, engine).select(list(bound.outputs()))
    demand_equal(made, expected, f"{stage.title} without the columns that it does not name as inputs")


def check_every_row_for_itself(stage: Stage, engine: Engine) -> None:
    """Check that what becomes of a row does not depend on the rows around it: not even on there being any."""
    bound, fitted = _learned(stage, engine)
    table = tables.ordinary()
    together = _apply(bound, fitted, table, engine)
    starts, sizes = (0, 0, 1, 50, 119), (0, 1, 49, 69, 1)
    parts = [_apply(bound, fitted, table.slice(*place), engine) for place in zip(starts, sizes, strict=True)]
    demand_equal(pa.concat_tables(parts), together, f"{stage.title} slice by slice")


def check_lazy_frames(stage: Stage, engine: Engine) -> None:
    """Check that a stage whose tags say so makes the same of lazy frames, which have no rows to be looked at."""
    bound, fitted = _learned(stage, engine)
    given, transform = frames.from_arrow(tables.ordinary()), cast(Any, partial(bound.transform, fitted=fitted))
    planned = PreparedQuery(transform, tables.ordinary().schema)(given).drop(REFUSED, strict=False)
    expected = frames.to_arrow(transform(given))
    demand_equal(frames.to_arrow(planned), expected, f"what {stage.title} makes of a lazy frame")


def check_one_row_is_scored_the_same(stage: Stage, engine: Engine) -> None:
    """Check that a row scored by itself, from Python values, gets what it gets among others, to the bit."""
    if not stage.tags.keeps_rows:
        return
    for kind, count in ((None, 20), (pa.float32(), 10), (pa.int32(), 10)):
        for table, step, made in _applied(stage, kind, engine):
            outputs = list(step.stage.outputs())
            together = made.select(outputs).slice(0, count)
            scorer = RowScorer.of([step], table.schema, outputs)
            rows = table.select(list(step.stage.inputs())).slice(0, count).to_pylist()
            single = pa.Table.from_pylist([scorer.one(row) for row in rows], together.schema)
            demand_equal(single, together, f"{stage.title} row by row")
            demand_equal(pa.Table.from_pylist(scorer.many(rows), together.schema), together, f"{stage.title} of a list")
