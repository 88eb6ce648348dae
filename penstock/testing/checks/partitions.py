"""How rows are cut to fragments, in which order they come and who works on them: none of it may show in a result.

A trainer is held to less. Its boosters are grown by several ranks that add up histograms among themselves; how many
there are, and which rows each has, decides the last digits of those sums, and now and then between two splits that are
as good as each other. So their predictions are compared, and not the trees.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.engines.base import Engine
from penstock.stages.base import Stage
from penstock.testing.cases import read_by, trains
from penstock.testing.compare import RTOL, demand_alike, demand_equal, without_models
from penstock.testing.trials import StageRun, by_id, demand_same_failure, home, scattered, whole


def check_engines_agree(stage: Stage, engine: Engine, name: str) -> None:
    """Check that the same fragments give the same on this engine as in this process: states and outputs, to the bit."""
    found, expected = (scattered(stage, each, name) for each in (engine, home(engine.kind)))
    demand_same_failure(found, expected)
    _demand_same(stage, found, expected, rtol=0.0, atol=0.0)


def check_any_partitioning(stage: Stage, engine: Engine, name: str) -> None:
    """Check that rows shuffled into uneven fragments, some empty, give what they give in order and in one."""
    found, expected = scattered(stage, engine, name), whole(stage, home(engine.kind), name)
    demand_same_failure(found, expected)
    _demand_same(stage, found, expected, rtol=RTOL, atol=rounding(stage, expected.given))


def _demand_same(stage: Stage, found: StageRun, expected: StageRun, *, rtol: float, atol: float) -> None:
    if found.model is not None and expected.model is not None:
        states = [dict(trial.model.fitted[0]) for trial in (found, expected) if trial.model is not None]
        states = [without_models(state) for state in states] if trains(stage) else states
        demand_equal(states[0], states[1], f"what {stage.title} learns", rtol=rtol, atol=atol)
    if found.output is not None and expected.output is not None:
        made, wanted = by_id(found.output), by_id(expected.output)
        if trains(stage):
            outputs = list(stage.outputs())
            demand_alike(made.select(outputs), wanted.select(outputs), f"the output of {stage.title}")
        else:
            demand_equal(made, wanted, f"the output of {stage.title}", rtol=rtol, atol=atol)


def rounding(stage: Stage, given: pa.Table) -> float:
    """Return what a rounded statistic may change: a few units in the last place of the largest number that is read."""
    columns = [given[name] for name in read_by(stage) if pa.types.is_floating(given.schema.field(name).type)]
    numbers = np.concatenate([np.zeros(1), *(column.drop_null().to_numpy() for column in columns)])
    return float(4 * np.finfo(np.float64).eps * np.max(np.abs(numbers[np.isfinite(numbers)])))
