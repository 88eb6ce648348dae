"""On Dask rows are put together where they are few, and moved where they are many, to the same result."""

import distributed
import narwhals as nw
import pyarrow as pa
import pytest
from eventually import until

from penstock.dataset.relations.relation import settled
from penstock.engines.dask import query
from penstock.engines.dask.engine import DaskEngine
from penstock.engines.dask.partitioned_rows import PartitionedRows
from penstock.engines.dask.query import Operations
from penstock.errors import UserCodeError
from penstock.io.sources.memory import MemorySource
from penstock.io.sources.parquet import ParquetSource

pytestmark = pytest.mark.dask

COUNT = 240
LINES = pa.table({"line": range(COUNT), "item": [None if line % 7 == 3 else line % 13 for line in range(COUNT)]})
ITEMS = pa.table({"item": [*range(13), None], "name": [f"item {item}" for item in range(14)]})


@pytest.fixture
def many(monkeypatch):
    """However few rows there are, they count as many."""
    monkeypatch.setattr(query, "WHOLE_BYTES", -1)


def tables(engine):
    return engine.from_arrow(LINES, fragment_bytes=2000), engine.from_arrow(ITEMS, fragment_bytes=200)


def joined(lines, items):
    return lines.join(items, "item", how="left")


def right_joined(lines, items):
    return lines.filter(nw.col("line") % 5 == 0).join(items, "item", how="right", null_equal=True)


def grouped(lines, items):
    return lines.group_by("item").agg(n="len", mean=nw.col("line").mean(), middle=nw.col("line").median())


def first_by_name(lines, items):
    rows = lines.join(items, "item").unique("name", keep="last")
    return rows.sort("item", descending=True, nulls="last").limit(5, offset=2)


@pytest.mark.parametrize(
    "made_of", [joined, pytest.param(right_joined, marks=pytest.mark.thorough), grouped, first_by_name]
)
def test_rows_that_are_moved_are_those_of_the_local_engine(engines, local, many, made_of):
    assert made_of(*tables(engines.get("dask"))).to_arrow().equals(made_of(*tables(local)).to_arrow())


def test_what_is_put_together_is_not_shuffled(engines, local, monkeypatch):
    monkeypatch.setattr(Operations, "_moved", None)
    for made_of in (joined, right_joined, first_by_name):
        assert made_of(*tables(engines.get("dask"))).to_arrow().equals(made_of(*tables(local)).to_arrow())


def test_rows_that_the_workers_would_not_hold_are_measured_by_the_first(engines, monkeypatch):
    dask = engines.get("dask")
    monkeypatch.setattr(DaskEngine, "task_memory", 0)
    with dask._tasks("measured", None) as tasks:
        lines = PartitionedRows.read(dask.from_arrow(LINES, fragment_bytes=100))
        measured = Operations(tasks, dask)._measured(lines)
        held = [isinstance(table, distributed.Future) for table in measured.tables("measured")]
        assert measured.size == pytest.approx(tasks.size(tasks.start(lines.tables("all"))), rel=0.1)
    first = 4 * dask.slots
    assert held == [True] * first + [False] * (len(lines.partitions) - first)
    assert len(lines.partitions) > first


@pytest.mark.thorough
def test_rows_that_are_measured_by_the_first_are_moved_too(engines, local, many, monkeypatch):
    monkeypatch.setattr(DaskEngine, "task_memory", 0)
    made = grouped(engines.get("dask").from_arrow(LINES, fragment_bytes=400), None).to_arrow()
    expected = grouped(local.from_arrow(LINES), None).to_arrow()
    assert made.equals(expected)


@pytest.mark.parametrize("most, source", [(2**20, MemorySource), (0, ParquetSource)])
def test_few_rows_come_here_and_many_are_staged(engines, monkeypatch, most, source):
    monkeypatch.setattr(query, "TABLE_BYTES", most)
    assert isinstance(settled(joined(*tables(engines.get("dask")))).reader.source, source)


def test_workers_hold_nothing_of_a_query_that_has_run_or_failed(engines, many):
    dask = engines.get("dask")
    assert grouped(*tables(dask)).count() == 14
    broken = dask.from_arrow(LINES, fragment_bytes=1000).map_partitions(refuse, LINES.schema)
    with pytest.raises(UserCodeError, match="no such item"):
        grouped(broken, None).count()
    until(lambda: not held_of(dask.client, "group_by"))


def refuse(frame):
    raise KeyError("no such item")


def held_of(client, label):
    return client.run_on_scheduler(lambda dask_scheduler: [k for k in map(str, dask_scheduler.tasks) if label in k])
