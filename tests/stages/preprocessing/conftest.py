"""What the tests of preprocessing stages share: fitting on frames without a pipeline, and an engine."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock import frames
from penstock.stages.base import Stage

Learn = Callable[..., tuple[Stage, Any]]


@pytest.fixture
def local() -> ps.LocalEngine:
    return ps.LocalEngine(device="cpu")


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers of a test's own, which do not depend on the tests before it."""
    return np.random.default_rng(5)


@pytest.fixture
def learn() -> Learn:
    """Fit a stage on tables, one a partition, with nothing but its own methods; return it bound and what it learned."""

    def run(stage: Stage, *tables: pa.Table) -> tuple[Stage, Any]:
        bound = stage.bind(tables[0].schema)
        results = {}
        for name, statistic in bound.statistics(tables[0].schema).items():
            given = numbered(tables) if frames.ROW in statistic.columns else tables
            states = [statistic.summarise(frames.from_arrow(table)) for table in given]
            results[name] = statistic.finish(statistic.merge(states))
        return bound, bound.finish(results)

    return run


def numbered(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """Return the tables with row numbers, which go on from one to the next."""
    ends = np.cumsum([len(table) for table in tables])
    numbers = [np.arange(end - len(table), end) for table, end in zip(tables, ends, strict=True)]
    return [table.append_column(frames.ROW, [rows]) for table, rows in zip(tables, numbers, strict=True)]


@pytest.fixture
def apply(learn: Learn) -> Callable[..., pa.Table]:
    """Fit a stage on tables, one a partition, and return the first of them transformed; its schema is checked."""

    def run(stage: Stage, *tables: pa.Table) -> pa.Table:
        bound, fitted = learn(stage, *tables)
        made = frames.to_arrow(bound.transform(frames.from_arrow(tables[0]), fitted))
        assert made.schema == bound.output_schema(tables[0].schema)
        return made

    return run
