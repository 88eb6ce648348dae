"""Dense vectors: a stage that takes columns of numbers takes vectors of the same numbers, and gives the same."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import pyarrow as pa

from penstock.core.names import element_names
from penstock.core.selectors import is_numeric
from penstock.engines.base import Engine
from penstock.pipeline.row_scorer import RowScorer
from penstock.stages.base import Stage
from penstock.stages.capabilities import NumbersTaker
from penstock.testing.cases import table
from penstock.testing.compare import demand, demand_equal
from penstock.testing.datasets import cut, uneven
from penstock.testing.trials import attempt, demand_same_failure

_VECTOR = "vector"
_SCORED = 8


def check_vectors_are_their_elements(stage: Stage, engine: Engine) -> None:
    """Check that a dense vector among the columns gives what its elements give as columns, to the bit."""
    rows = table("ordinary")
    taken = cast(NumbersTaker, stage.bind(rows.schema)).number_columns
    numbers = [name for name in taken if is_numeric(rows.schema.field(name).type)]
    others = tuple(name for name in taken if name not in numbers)
    given = rows.select(numbers).cast(pa.schema([(name, pa.float64()) for name in numbers]))
    names = element_names(_VECTOR, len(numbers))
    sizes = uneven(rows.num_rows, few=True)
    of_columns, of_vector = (
        attempt(_over(stage, (*columns, *others)), cut(engine, with_columns, sizes))
        for columns, with_columns in (
            (names, pa.table([*rows.columns, *given.columns], names=[*rows.column_names, *names])),
            ((_VECTOR,), rows.append_column(_VECTOR, packed(given))),
        )
    )
    demand_same_failure(of_vector, of_columns)
    if of_columns.output is None:
        return
    model, made = of_vector.done()
    outputs = list(model.stages[0].outputs())
    expected = (
        of_columns.output if outputs != [_VECTOR] else pa.table({_VECTOR: packed(of_columns.output.select(names))})
    )
    demand_equal(made.select(outputs), expected.select(outputs), f"{stage.title} of a vector")
    scorer = RowScorer.of(model.steps, model.schema, outputs)
    found = [scorer.one(row) for row in of_vector.given.slice(0, _SCORED).to_pylist()]
    scored = made.select(outputs).slice(0, _SCORED).to_pylist()
    demand(repr(found) == repr(scored), f"{stage.title} of a vector, row by row: {found}, expected {scored}")


def _over(stage: Any, columns: tuple[str, ...]) -> Stage:
    own = {each.name for each in dataclasses.fields(stage)}
    given = {"features" if "features" in own else "columns": columns}
    return dataclasses.replace(stage, **given, **({"output_columns": None} if "output_columns" in own else {}))


def packed(columns: pa.Table) -> pa.Array:
    """Return a vector for each row, of the numbers in its columns; null where all of them are.

    Examples
    --------
    >>> packed(pa.table({"a": [1.0, None, None], "b": [2.0, 3.0, None]})).to_pylist()
    [[1.0, 2.0], [None, 3.0], None]
    """
    rows = [list(row.values()) for row in columns.to_pylist()]
    return pa.array([None if all(value is None for value in row) else row for row in rows], pa.list_(pa.float64()))
