"""A dataset is a plan: what is read when, in which columns, and what comes out."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock import frames
from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import BadRowsError, ConfigError, SchemaError, UserCodeError
from penstock.io.fragments import Piece
from penstock.pipeline import Pipeline
from penstock.statistics import Counts, Moments

ROWS = 30
TABLE = pa.table({"a": range(ROWS), "b": [float(i) for i in range(ROWS)], "s": [f"s{i % 3}" for i in range(ROWS)]})


@dataclass
class Spy:
    """A source that notes what is read: for each piece its first row and the columns."""

    source: Any
    reads: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)

    @property
    def schema(self) -> pa.Schema:
        return self.source.schema

    def read(self, piece: Piece, columns: Sequence[str], kind: frames.Kind) -> nw.DataFrame:
        self.reads.append((piece.first, tuple(columns)))
        return self.source.read(piece, columns, kind)

    @property
    def columns(self) -> set[tuple[str, ...]]:
        return {columns for _, columns in self.reads}


@pytest.fixture
def data(local: Engine) -> Dataset:
    """Thirty rows in six fragments."""
    return local.from_arrow(TABLE, fragment_bytes=5 * (8 + 8 + 28))


@pytest.fixture
def spied(data: Dataset) -> tuple[Dataset, Spy]:
    spy = Spy(data.reader.source)
    return replace(data, reader=replace(data.reader, source=spy)), spy


# Lazy, and no more than is needed


def test_nothing_is_read_until_something_is_asked_for(spied: tuple[Dataset, Spy]) -> None:
    data, spy = spied
    made = data.filter(nw.col("a") > 3).select("a", "s").map_partitions(lambda frame: frame, {"a": "int64"})
    assert made.split([1, 1], seed=1)[0].schema.names == made.columns == ["a"]
    assert spy.reads == []


def test_only_the_columns_that_matter_are_read(spied: tuple[Dataset, Spy]) -> None:
    data, spy = spied
    data.filter(nw.col("b") > 3).select("a").to_arrow()
    assert spy.columns == {("a", "b")}
    spy.reads.clear()
    assert data.filter(nw.all_horizontal(~nw.all().is_null(), ignore_nulls=True)).select("a").count() == ROWS
    assert spy.columns == {("a", "b", "s")}


def test_count_reads_what_filters_need_and_nothing_where_no_step_can_drop_rows(spied: tuple[Dataset, Spy]) -> None:
    data, spy = spied
    halves = data.select("a").split([1, 1], seed=1)
    assert sum(half.count() for half in halves) == data.count() == ROWS
    assert spy.reads == []
    assert data.filter(nw.col("b") >= 10).count() == 20
    assert data.filter(nw.col("b") >= 10).filter(nw.col("b") < 15).count() == 5
    assert spy.columns == {("b",)}


def test_head_reads_no_more_fragments_than_it_takes(spied: tuple[Dataset, Spy]) -> None:
    data, spy = spied
    assert data.select("a").head(7)["a"].to_list() == list(range(7))
    assert [first for first, _ in spy.reads] == [0, 5]
    assert data.filter(nw.col("a") >= 12).head(1)["a"].to_list() == [12]
    assert [first for first, _ in spy.reads[2:]] == [0, 5, 10]
    assert len(data.head(1000)) == ROWS


def test_one_scan_reads_each_fragment_once_for_all_statistics(spied: tuple[Dataset, Spy]) -> None:
    data, spy = spied
    states, log = data.gather([Moments(("b",)), Counts(("s",))])
    assert (states[0]["b"]["count"], states[1]["s"]["rows"], log.read, log.kept) == (ROWS, ROWS, ROWS, ROWS)
    assert spy.reads == [(5 * place, ("b", "s")) for place in range(6)]


# What it gives


def test_select_keeps_the_order_given_and_filter_that_of_rows(data: Dataset) -> None:
    assert data.select("s", "a").to_arrow().equals(TABLE.select(["s", "a"]))
    assert data.filter(nw.col("s") == "s1").to_arrow()["a"].to_pylist() == list(range(1, ROWS, 3))


def test_select_refuses_no_column_one_twice_and_one_that_is_not_there(data: Dataset) -> None:
    for columns in ((), ("a", "a")):
        with pytest.raises(ConfigError, match=r"select (selects no|names) column"):
            data.select(*columns)
    with pytest.raises(SchemaError, match="Did you mean 'a'"):
        data.select("A")


def test_a_filter_is_refused_before_anything_is_read(spied: tuple[Dataset, Spy]) -> None:
    data, spy = spied
    with pytest.raises(SchemaError, match="does not fit the data"):
        data.filter(nw.col("absent") > 1)
    assert spy.reads == []


def add_one(frame: Any) -> Any:
    """Add one to the column a, in whatever library the frame is of."""
    if isinstance(frame, nw.DataFrame):
        return frame.with_columns(nw.col("a") + 1)
    if isinstance(frame, pl.DataFrame):
        return frame.with_columns(pl.col("a") + 1)
    if isinstance(frame, pd.DataFrame):
        return frame.assign(a=frame["a"] + 1)
    return frame.set_column(0, "a", pa.array([value + 1 for value in frame["a"].to_pylist()]))


def test_map_partitions_calls_the_function_in_each_library(data: Dataset) -> None:
    for form in ("narwhals", "polars", "pandas", "arrow"):
        made = data.map_partitions(add_one, {"a": "int64", "s": "string"}, frame=form).to_arrow()
        assert made.schema == pa.schema({"a": pa.int64(), "s": pa.string()})
        assert made["a"].to_pylist() == list(range(1, ROWS + 1)), form
    with pytest.raises(ConfigError, match="frame is 'spark', expected one of arrow, cudf, narwhals, pandas, polars"):
        data.map_partitions(add_one, {"a": "int64"}, frame="spark")


def test_map_partitions_sees_the_columns_that_were_selected(data: Dataset) -> None:
    made = data.select("s").map_partitions(lambda rows: rows.with_columns(n=nw.lit(len(rows.columns))), {"n": "int32"})
    assert set(made.to_arrow()["n"].to_pylist()) == {1}


def test_an_error_of_the_user_names_file_and_partition(local: Engine, tmp_path: Path) -> None:
    for name in ("one", "two"):
        pq.write_table(pa.table({"x": [name]}), tmp_path / f"{name}.parquet")
    data = local.read_parquet(str(tmp_path / "*.parquet"), fragment_bytes=1)

    def fails_on_two(frame: nw.DataFrame) -> nw.DataFrame:
        if frame["x"][0] == "two":
            raise KeyError("no such thing")
        return frame

    with pytest.raises(UserCodeError, match=r"map_partitions\(fails_on_two\) raised KeyError") as caught:
        data.map_partitions(fails_on_two, {"x": "string"}).to_arrow()
    assert caught.value.path == str(tmp_path / "two.parquet")
    assert caught.value.partition == 1
    assert isinstance(caught.value.__cause__, KeyError)


def test_bad_rows_are_told_with_the_file_and_the_row_in_it(local: Engine, tmp_path: Path) -> None:
    for name, start in (("a", 0), ("b", 20)):
        pq.write_table(pa.table({"x": range(start, start + 20)}), tmp_path / f"{name}.parquet", row_group_size=6)
    data = local.read_parquet(str(tmp_path / "*.parquet"), fragment_bytes=8 * 7)
    model = Pipeline(st.Expect("x < 33")).fit(data)
    with pytest.raises(BadRowsError) as caught:
        model.transform(data).to_arrow()
    assert (caught.value.path, caught.value.row) == (str(tmp_path / "b.parquet"), 13)


def test_rows_are_found_by_file_unless_a_function_made_them(local: Engine, tmp_path: Path) -> None:
    for name, start in (("a", 0), ("b", 20)):
        table = pa.table({"x": range(start, start + 20), "y": [0, 25] * 10, "z": [0] * 20})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    data = local.read_parquet(str(tmp_path / "*.parquet")).filter(nw.col("x") > 4)
    assert data.first_where(nw.col("x") % 9 == 4, ["x"]) == (str(tmp_path / "a.parquet"), 13)
    assert data.first_where(nw.col("x") == nw.col("y"), ["x"]) == (str(tmp_path / "b.parquet"), 5)  # reads y, too
    assert data.first_where(nw.col("x") > 99, ["x"]) is None
    made = data.map_partitions(lambda frame: frame.tail(1), {"x": "int64"})  # rows of a function are in no file
    assert made.first_where(nw.col("x") > 0, ["x"]) is None


def test_the_same_rows_come_out_in_every_library(data: Dataset) -> None:
    assert data.to_arrow().equals(TABLE)
    assert data.to_polars().equals(pl.from_arrow(TABLE))
    pd.testing.assert_frame_equal(data.to_pandas(), TABLE.to_pandas().astype({"a": "Int64"}))


def test_a_dataset_is_not_iterable(data: Dataset) -> None:
    with pytest.raises(TypeError, match="use head, to_polars or map_partitions"):
        list(data)


def test_a_table_without_rows_keeps_its_schema(local: Engine) -> None:
    empty = local.from_arrow(TABLE.slice(0, 0))
    assert empty.count() == 0
    assert empty.to_arrow().equals(TABLE.slice(0, 0))
    assert empty.head().columns == TABLE.column_names
