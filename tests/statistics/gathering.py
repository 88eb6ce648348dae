"""Statistics gathered over partitions, for tests."""

import functools
import importlib
import inspect
import itertools
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

import penstock.statistics
from penstock import frames
from penstock.errors import DataValueError
from penstock.statistics import State, Statistic

Part = pa.Table | Mapping[str, Any]
"""The rows of a partition: a table, or columns by name."""


@dataclass(frozen=True)
class Value:
    """The integers of a column, as statistics of keys take them."""

    columns: tuple[str, ...] = ("key",)

    def values(self, frame: nw.DataFrame[Any]) -> np.ndarray:
        return frame["key"].to_numpy()


@functools.cache
def discovered() -> frozenset[type[Statistic]]:
    """Return all statistics of the library."""
    package = penstock.statistics
    names = [each.name for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    kinds = {kind for name in names for kind in vars(importlib.import_module(name)).values() if inspect.isclass(kind)}
    return frozenset(kind for kind in kinds if issubclass(kind, Statistic) and not inspect.isabstract(kind))


def by_name() -> Any:
    """Return all statistics of the library as the attributes of one object."""
    return SimpleNamespace(**{kind.__name__: kind for kind in discovered()})


def states_of(statistic: Statistic, *parts: Part) -> list[State]:
    tables = [part if isinstance(part, pa.Table) else pa.table(part) for part in parts]
    return [statistic.summarise(frames.from_arrow(table)) for table in tables]


def gathered(statistic: Statistic, *parts: Part) -> Any:
    """Return the result of a statistic of the rows of all partitions."""
    return statistic.finish(statistic.merge(states_of(statistic, *parts)))


def cut(rows: Part, *places: int) -> list[pa.Table]:
    """Return the rows in partitions cut at these row numbers; a repeated number makes an empty one."""
    table = rows if isinstance(rows, pa.Table) else pa.table(rows)
    return [table.slice(low, high - low) for low, high in itertools.pairwise([0, *places, table.num_rows])]


def named(columns: Sequence[str], part: Sequence[Any]) -> pa.Table:
    """Return the columns of a partition under these names, of which it may have fewer."""
    return pa.table(dict(zip(columns, part, strict=False)))


def demand_refused(statistic: Statistic, message: str, *parts: Part) -> DataValueError:
    """Return the error whose message matches; its predicate selects as many rows as the message counts."""
    tables = [part if isinstance(part, pa.Table) else pa.table(part) for part in parts]
    with pytest.raises(DataValueError, match=message) as caught:
        gathered(statistic, *tables)
    bad = sum(len(frames.from_arrow(table).filter(caught.value.predicate)) for table in tables)
    assert f" has {bad} " in caught.value.message
    return caught.value
