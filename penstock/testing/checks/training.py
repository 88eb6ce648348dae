"""Labels and weights: what is learned from is checked before training starts, and is not needed to predict."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.core.errors import DataValueError, InputError
from penstock.dataset.dataset import Dataset
from penstock.engines.base import Engine
from penstock.stages.base import Stage
from penstock.stages.step import StageStep
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


def check_training_rows_do_not_tell_their_label(stage: Stage, engine: Engine) -> None:
    """Check that where each row has a value of its own, what later stages learn from does not tell the row's label.

    Labels are drawn apart from all else, so that only a row's own can come with what is made of it.
    """
    draw = np.random.default_rng(4)
    labels = {name: tables.ids()[name].take(draw.permutation(tables.ROWS)) for name in aside(stage)}
    table = tables.replaced(tables.ids(), **labels)
    try:
        made = _training_rows(stage, cut(engine, table))
    except InputError:
        return  # it takes no ids
    for label in labels:
        for name in made.schema.names:
            told = _correlation(made[name], table[label])
            demand(
                told < _TELLING, f"{name!r} of {stage.title}, in rows learned from, tells their {label!r}: {told:.2f}"
            )


def _training_rows(stage: Stage, dataset: Dataset) -> pa.Table:
    """Return the outputs for rows that the stage has learned from, as later stages of the same fit get them."""
    bound = stage.bind(dataset.schema)
    asked = bound.statistics(dataset.schema)
    states, _ = dataset.gather(list(asked.values()))
    results = {name: each.finish(state) for (name, each), state in zip(asked.items(), states, strict=True)}
    step = StageStep(bound, bound.finish(results), 0, training=True)
    return dataset.with_step(step).select(*bound.outputs()).to_arrow()


_TELLING = 0.5
"""Far above what chance gives with so many rows, 0.1; an encoder that tells a label gives 1."""


def _correlation(one: pa.ChunkedArray, other: pa.ChunkedArray) -> float:
    """Return the largest absolute correlation between two columns; of texts and lists, between any of their values."""
    found, wanted = (_standardised(each.to_pylist()) for each in (one, other))
    return float(np.abs(found.T @ wanted).max(initial=0.0))


def _standardised(values: list[Any]) -> np.ndarray:
    """Return columns of length one and mean zero, those that vary."""
    columns = np.column_stack(list(_columns(values)))
    columns -= columns.mean(axis=0)
    lengths = np.linalg.norm(columns, axis=0)
    varied = lengths > 1e-9
    return columns[:, varied] / lengths[varied]


def _columns(values: Sequence[Any]) -> Iterator[np.ndarray]:
    """Yield which are null, and the numbers, null as their mean; of lists by place; of texts who has each."""
    yield np.array([value is None for value in values], np.float64)
    known = [value for value in values if value is not None]
    if any(isinstance(value, list) for value in known):
        for place in itertools.zip_longest(*(value or [] for value in values)):
            yield from _columns(place)
    elif all(isinstance(value, bool | int | float) for value in known):
        mean = float(np.mean(known)) if known else 0.0
        yield np.array([mean if value is None else value for value in values], np.float64)
    else:
        texts = [repr(value) for value in values]
        yield from (np.array([text == each for text in texts], np.float64) for each in sorted(set(texts)))


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
