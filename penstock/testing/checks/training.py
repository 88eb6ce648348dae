"""Labels and weights: what is learned from is checked before training starts, and is not needed to predict."""

from __future__ import annotations

import pyarrow as pa

from penstock.core.errors import DataValueError
from penstock.engines.base import Engine
from penstock.stages.base import Stage
from penstock.testing import tables
from penstock.testing.cases import aside
from penstock.testing.compare import demand, demand_equal
from penstock.testing.datasets import cut, shuffled, uneven
from penstock.testing.trials import attempt, whole


def check_predicts_without_label(stage: Stage, engine: Engine) -> None:
    """Check that the label and the weight are not needed to predict, and change nothing when they are there."""
    model, output = whole(stage, engine, "ordinary").done()
    table = tables.ordinary().drop_columns(list(aside(stage)))
    made = model.transform(cut(engine, table)).to_arrow()
    outputs = list(stage.outputs())
    demand_equal(made.select(outputs), output.select(outputs), f"the output of {stage.title} without a label")


def check_missing_label_is_refused(stage: Stage, engine: Engine) -> None:
    """Check that a null, or an infinity, in the label or the weight is refused with its column and its first row."""
    for name in aside(stage):
        floating = pa.types.is_floating(tables.ordinary(1).schema.field(name).type)
        for bad in [None, float("inf"), float("nan")] if floating else [None]:
            _demand_refused(stage, engine, name, bad)


def _demand_refused(stage: Stage, engine: Engine, name: str, bad: float | None) -> None:
    table = shuffled(tables.ordinary())
    rows = (60, 90)
    values = [bad if row in rows else value for row, value in enumerate(table[name].to_pylist())]
    dataset = cut(engine, tables.replaced(table, **{name: values}), uneven(table.num_rows, few=True))
    error = attempt(stage, dataset).error
    demand(isinstance(error, DataValueError), f"{bad} in {name!r} gives {error!r}, expected DataValueError")
    assert isinstance(error, DataValueError)
    place = (error.column, error.row)
    demand(place == (name, rows[0]), f"{bad} in {name!r} at row {rows[0]} is told at {place}: {error}")
