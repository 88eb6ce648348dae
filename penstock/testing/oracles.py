"""Oracles: what should come out, from a closed form or another library, given by whoever runs the suite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from penstock.core.errors import DataValueError, InputError
from penstock.engines.base import Engine
from penstock.stages.base import Stage
from penstock.stages.step import StageStep
from penstock.testing.cases import CASES, table, trains
from penstock.testing.checks.partitions import rounding
from penstock.testing.compare import RTOL, demand, demand_alike, demand_equal
from penstock.testing.trials import by_id, scattered

Columns = dict[str, Sequence[Any]]
"""Python values by column, null for missing."""

Oracle = Callable[[Stage, Columns, Columns], Columns]
"""Takes the bound stage, the columns learned from and those given; returns ``id`` and the outputs, or raises `Refused`.
Of a selector it returns ``id`` and the candidates that stay.

NaN was turned to null in what it takes, as it is when data is read.
"""


class Refused(Exception):
    """What an oracle raises where the stage documents an error; ``column`` is the one that the error names."""

    def __init__(self, column: str) -> None:
        super().__init__(f"column {column!r} is refused")
        self.column = column


def check_oracle(stage: Stage, engine: Engine, name: str, oracle: Oracle) -> None:
    """Check that what comes out of a case, or is refused in it, is what the oracle says, up to rounding."""
    trial = scattered(stage, engine, name)
    bound = stage.bind(trial.given.schema)
    try:
        expected = oracle(bound, columns(table(CASES[name].learned)), columns(table(CASES[name].given)))
    except Refused as refused:
        _demand_refused(trial.error, refused.column)
        return
    _, output = trial.done()
    doubtful = StageStep(bound, None, 0).doubtful
    stay = [name for name in doubtful if name in output.schema.names]
    should = [name for name in doubtful if name in expected]
    demand(stay == should, f"{stage.title} keeps {', '.join(stay)}, expected {', '.join(should)}")
    made = by_id(output).select(["id", *bound.outputs(), *stay])
    wanted = by_id(pa.table({field.name: pa.array(expected[field.name], field.type) for field in made.schema}))
    if trains(stage):
        demand_alike(made, wanted, f"the output of {stage.title}")
    else:
        demand_equal(made, wanted, f"the output of {stage.title}", rtol=RTOL, atol=rounding(stage, trial.given))


def _demand_refused(error: Exception | None, column: str) -> None:
    demand(isinstance(error, InputError), f"column {column!r} should be refused, found {error!r}")
    if isinstance(error, DataValueError):
        demand(error.column == column, f"column {column!r} should be refused, and {error.column!r} is: {error}")


def columns(table: pa.Table) -> Columns:
    """Return the columns of a table as Python values, null for NaN.

    Examples
    --------
    >>> columns(pa.table({"x": [1.0, float("nan")]}))
    {'x': [1.0, None]}
    """
    return {name: [None if value != value else value for value in values] for name, values in table.to_pydict().items()}
