"""Hostile data: a stage does what it documents, or refuses it with an error that names the column; it never guesses."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from penstock.core.errors import ConfigError, DataValueError, EmptyInputError, InputError
from penstock.engines.base import Engine
from penstock.stages.base import Stage
from penstock.testing import tables
from penstock.testing.cases import read_by, table
from penstock.testing.checks.states import demand_plain
from penstock.testing.compare import demand, demand_equal
from penstock.testing.datasets import cut
from penstock.testing.trials import StageRun, attempt, scattered, whole

_LONGEST = 5000
"""Characters of an error: enough for any, and too few for a value of `tables.long_strings`."""


def check_survives(stage: Stage, engine: Engine, name: str) -> None:
    """Check that a stage learns plain data and makes no NaN or new infinities, or tells an error to act on."""
    demand_survives(stage, scattered(stage, engine, name))


def demand_survives(stage: Stage, trial: StageRun) -> None:
    """Raise AssertionError unless a trial gave plain states and numbers, or a short error that names a column."""
    if trial.error is not None:
        _demand_helpful(stage, trial.error)
    if trial.model is not None:
        demand_plain(stage, trial.model.fitted[0])
    if trial.output is not None:
        _demand_numbers(stage, trial, trial.output)


def _demand_helpful(stage: Stage, error: Exception) -> None:
    told = f"{type(error).__name__}: {error!s:.500}"
    demand(isinstance(error, InputError | ConfigError), f"{stage.title} fails, and does not refuse the data: {told}")
    demand(len(str(error)) <= _LONGEST, f"an error of {len(str(error))} characters: {told}")
    if not isinstance(error, EmptyInputError):
        named = any(re.search(rf"\b{re.escape(name)}\b", str(error)) for name in read_by(stage))
        demand(named, f"the error names none of the columns {', '.join(read_by(stage))}: {told}")


def _demand_numbers(stage: Stage, trial: StageRun, output: pa.Table) -> None:
    read = [name for name in read_by(stage) if name in trial.given.schema.names]
    allowed = any(_count(trial.given[name], pc.is_inf) for name in read)
    for name in stage.bind(trial.given.schema).outputs():
        demand(not _count(output[name], pc.is_nan), f"column {name!r} of {stage.title} has NaN; missing is null")
        demand(allowed or not _count(output[name], pc.is_inf), f"column {name!r} of {stage.title} has infinities")


def _count(column: pa.ChunkedArray, test: object) -> int:
    while pa.types.is_list(column.type):
        column = pc.list_flatten(column)
    return (pc.sum(test(column)).as_py() or 0) if pa.types.is_floating(column.type) else 0  # type: ignore[operator]


def check_ordinary_works(stage: Stage, engine: Engine) -> None:
    """Check that the ordinary table is refused by no stage."""
    scattered(stage, engine, "ordinary").done()


def check_no_rows(stage: Stage, engine: Engine) -> None:
    """Check that learning from no rows is refused, and that a stage which learns nothing makes no rows of them."""
    trial = scattered(stage, engine, "no_rows")
    if stage.bind(tables.no_rows().schema).statistics(tables.no_rows().schema):
        demand(isinstance(trial.error, EmptyInputError), f"expected EmptyInputError, found {trial.error!r}")
    else:
        _, output = trial.done()
        demand(output.num_rows == 0, f"{stage.title} makes {output.num_rows} rows of none")


def check_nan_is_missing(stage: Stage, engine: Engine) -> None:
    """Check that a NaN that is read is a missing value: the same comes of it as of null, to the bit."""
    found = whole(stage, engine, "not_a_number")
    expected = attempt(stage, cut(engine, table("missing_numbers")))
    demand(type(found.error) is type(expected.error), f"NaN gives {found.error!r}, null gives {expected.error!r}")
    if found.output is not None and expected.output is not None:
        outputs = list(stage.bind(found.given.schema).outputs())
        demand_equal(found.output.select(outputs), expected.output.select(outputs), f"{stage.title} of NaN")


def check_infinity_is_found(stage: Stage, engine: Engine, name: str) -> None:
    """Check that an error about infinities names the row, in the dataset, of the first one in its column."""
    trial = scattered(stage, engine, name)
    error = trial.error
    if isinstance(error, DataValueError) and error.column in read_by(stage):
        first = min(pc.indices_nonzero(pc.is_inf(trial.given[error.column])).to_pylist(), default=None)
        demand(error.row == first, f"the error tells row {error.row}, expected {first}: {error}")
