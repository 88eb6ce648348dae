"""Queries give what pandas gives, on every engine, and leave nothing behind."""

import datetime
import gc
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from eventually import until

import penstock as ps
from penstock import stages as st
from penstock.core.progress import Progress
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.engines.local import results
from penstock.engines.local.query import PolarsQueries
from penstock.errors import BadRowsError, ConfigError, ExecutionError, OutputError, SchemaError, UserCodeError
from penstock.io.sinks.part_folder import LocalPartFolder

ROWS = 40
SMALL = 400
"""Bytes of a fragment in these tests, so that there are a few."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Folders of sales in three files and shops in one; clusters need not stage them."""
    folder = tmp_path_factory.mktemp("tables")
    made = folder / "sales", folder / "shops"
    for path, table, files in zip(made, (SALES, SHOPS), (3, 1), strict=True):
        path.mkdir()
        rows = -(-table.num_rows // files)
        for file in range(files):
            pq.write_table(table.slice(file * rows, rows), path / f"{file}.parquet")
    return made


@pytest.fixture
def tables(engine: Engine, folders: tuple[Path, Path]) -> tuple[Dataset, Dataset]:
    """Forty sales in some fragments, with keys and amounts that are null, and three of their four shops."""
    sales, shops = (engine.read_parquet(folder, allow_unmanifested=True) for folder in folders)
    return sales, shops


SALES = pa.table(
    {
        "row": range(ROWS),
        "shop": [None if row % 7 == 3 else row % 4 for row in range(ROWS)],
        "amount": [None if row % 5 == 2 else row / 8 for row in range(ROWS)],
    }
)
SHOPS = pa.table({"shop": [0, 1, 2, None], "town": ["Aa", "Bé", None, "nowhere"]})
LEFT, RIGHT = SALES.to_pandas(types_mapper=pd.ArrowDtype), SHOPS.to_pandas(types_mapper=pd.ArrowDtype)


def joined(how: str) -> Any:
    return lambda sales, shops: sales.join(shops, on="shop", how=how)


def merged(how: str) -> pd.DataFrame:
    """What pandas makes of the rows that have a key: it alone takes null for a key like any other."""
    made = LEFT.merge(RIGHT.dropna(subset="shop"), on="shop", how=how)
    return made.sort_values("row").reset_index(drop=True)


def as_pandas(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def staged(folder: Path) -> list[Path]:
    return list(folder.glob("penstock-*"))


# What comes out


def test_a_join_is_that_of_pandas_where_there_is_a_key(engine, tables):
    made = engine.query(joined("left"), *tables, order_by="row").to_arrow()
    pd.testing.assert_frame_equal(as_pandas(made), merged("left"))
    if engine.name == "local":
        kept = [row for row, shop in enumerate(SALES["shop"].to_pylist()) if shop in (0, 1, 2)]
        assert engine.query(joined("semi"), *tables, order_by="row").to_arrow()["row"].to_pylist() == kept


def test_a_group_by_is_that_of_pandas_null_key_included(engine, tables):
    def totals(sales):
        return sales.group_by("shop").agg(
            nw.len().alias("n"), nw.col("amount").sum().alias("total"), nw.col("amount").mean().alias("mean")
        )

    schema = {"shop": "int64", "n": "int64", "total": "float64", "mean": "float64"}
    made = engine.query(totals, tables[0], order_by="shop", schema=schema).to_arrow()
    groups = SALES.to_pandas().groupby("shop", dropna=False)["amount"]
    oracle = groups.agg(["size", "sum", "mean"]).reset_index().sort_values("shop", na_position="first")
    assert made.schema == pa.schema({"shop": pa.int64(), "n": pa.int64(), "total": pa.float64(), "mean": pa.float64()})
    np.testing.assert_allclose(made.to_pandas().to_numpy(), oracle.to_numpy(), rtol=1e-12)


def test_a_window_is_that_of_pandas_null_first_in_its_order_or_over_all_rows(engine, tables):
    count, before = nw.col("row").cum_count(), nw.col("row").shift(1)

    def windows(sales):
        made = engine.window(sales, {"n": count, "before": before}, partition_by="shop", order_by="row")
        made = engine.window(made, {"after nulls": count}, partition_by="shop", order_by=("amount", "row"))
        return engine.window(made, {"of all": before}, partition_by=(), order_by="row")

    made = engine.query(windows, tables[0], order_by="row").to_arrow()
    groups = LEFT.groupby("shop", dropna=False)["row"]
    assert made["n"].to_pylist() == (groups.cumcount() + 1).tolist()
    assert made["before"].to_pandas().fillna(-1).tolist() == groups.shift(1).fillna(-1).tolist()
    ordered = LEFT.sort_values(["amount", "row"], na_position="first").groupby("shop", dropna=False)
    assert made["after nulls"].to_pylist() == (ordered.cumcount() + 1).sort_index().tolist()
    assert made["of all"].to_pylist() == [None, *range(ROWS - 1)]


def test_a_filter_keeps_columns_and_types_also_where_no_row_is_left_or_goes_in(engine, tables):
    made = engine.query(lambda sales: sales.filter(nw.col("row") < 0), tables[0], order_by="row")
    assert (made.count(), made.to_arrow().schema) == (0, SALES.schema)
    empty = engine.from_arrow(SALES.slice(0, 0))
    assert engine.query(joined("left"), empty, tables[1], order_by="row").count() == 0


def test_types_and_names_come_out_as_they_went_in(engine):
    day = datetime.datetime(1500, 2, 28, 12, 30, 0, 5)
    table = pa.table(
        {
            "row": pa.array([0, 1, 2], pa.int64()),
            "i8": pa.array([1, None, -3], pa.int8()),
            "i32": pa.array([2**31 - 1, None, 3], pa.int32()),
            "f32": pa.array([1.5, None, float("inf")], pa.float32()),
            "flag": pa.array([True, None, False]),
            "word": pa.array(["", None, "é中"]),
            "bytes": pa.array([b"\x00", None, b""]),
            "day": pa.array([day.date(), None, datetime.date(9999, 12, 31)]),
            "moment": pa.array([day, None, day], pa.timestamp("us")),
            "instant": pa.array([day, None, day], pa.timestamp("us", "UTC")),
            "price": pa.array([Decimal("1.25"), None, Decimal("-3.10")], pa.decimal128(12, 2)),
            "list": pa.array([[1, None], None, []], pa.list_(pa.int64())),
            "LIST": ["x", "y", "z"],
            "größe in m²": [0.5, 1.5, 2.5],
        }
    )
    data = engine.from_arrow(table, fragment_bytes=200)
    made = engine.query(lambda frame: frame.select(*table.column_names), data, order_by="row").to_arrow()
    assert made.combine_chunks().equals(table)


def test_nan_is_null_before_and_after(engine):
    table = pa.table({"row": [0, 1, 2], "x": [float("nan"), 0.0, 1.0]})

    def quotients(frame):
        return frame.with_columns(null=nw.col("x").is_null(), q=(nw.col("x") - nw.col("x")) / (nw.col("x") * 0.0))

    made = engine.query(lambda f: f.with_columns(null=nw.col("x").is_null()), engine.from_arrow(table), order_by="row")
    assert made.to_arrow()["null"].to_pylist() == [True, False, False]
    if engine.name != "spark":  # which refuses to divide by zero
        made = engine.query(quotients, engine.from_arrow(table), order_by="row")
        assert made.to_arrow()["q"].to_pylist() == [None] * 3


@pytest.mark.one_cluster
def test_what_was_filtered_split_and_selected_goes_in(engine, tables):
    half = tables[0].filter(nw.col("row") % 2 == 0).split([0.5, 0.5], seed=3)[0].select("row")
    made = engine.query(lambda frame: frame, half, order_by="row")
    assert made.to_arrow()["row"].to_pylist() == half.to_arrow()["row"].to_pylist()


@pytest.mark.one_cluster
def test_files_of_another_engine_go_in(distributed_engine, local, tmp_path):
    local.from_arrow(SALES).write_parquet(tmp_path / "sales")
    sales = local.read_parquet(tmp_path / "sales")
    made = distributed_engine.query(lambda frame: frame.select("row"), sales, order_by="row")
    assert (made.engine, made.count()) == (distributed_engine, ROWS)


@pytest.mark.one_cluster
def test_a_query_of_a_query_goes_on_from_its_rows(engine, tables):
    first = engine.query(joined("inner"), *tables, order_by="row")
    pd.testing.assert_frame_equal(as_pandas(first.to_arrow()), merged("inner"))
    again = engine.query(lambda frame: frame.filter(nw.col("amount") > 4.0).select("row"), first, order_by="row")
    large = (merged("inner")["amount"] > 4.0).fillna(value=False)
    assert again.to_arrow()["row"].to_pylist() == merged("inner")["row"][large].tolist() != []


# The order of rows


def test_rows_are_sorted_null_first(engine):
    more = {
        "word": [None if row % 9 == 1 else f"w{row % 6}" for row in range(ROWS)],
        "day": [None if row % 8 == 5 else datetime.date(2024, 1, 1 + row % 11) for row in range(ROWS)],
        "flag": [(None, True, False)[row % 3] for row in range(ROWS)],
    }
    table = pa.table({**dict(zip(SALES.column_names, SALES.columns, strict=True)), **more})
    data = engine.from_arrow(table, fragment_bytes=2 * SMALL)
    for order in (("flag", "shop", "amount", "row"), ("word", "day", "row")):
        made = engine.query(lambda frame: frame, data, order_by=order).to_arrow()
        keys = [[(value is not None, value) for value in table[column].to_pylist()] for column in order]
        assert made["row"].to_pylist() == sorted(range(ROWS), key=lambda row, keys=keys: [key[row] for key in keys])


# What goes wrong


def division(frame):
    raise ZeroDivisionError("division by zero")


def test_an_error_of_the_function_is_told_with_its_name(local):
    with pytest.raises(UserCodeError, match=r"query\(division\) raised ZeroDivisionError: division by zero") as caught:
        local.query(division, local.from_arrow(SALES))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert (caught.value.stage, caught.value.engine) == ("query(division)", "local")


def test_a_column_that_is_not_there_is_named(engine, tables):
    with pytest.raises(UserCodeError, match="absent"):
        engine.query(lambda frame: frame.select("absent"), tables[0])


def test_a_lazy_frame_of_the_engine_is_taken_and_nothing_else(engine, tables):
    shops = tables[1]
    made = engine.query(lambda frame: frame.select("town").to_native(), shops, order_by="town")
    assert made.to_arrow()["town"].to_pylist() == [None, "Aa", "Bé", "nowhere"]
    for other in (7, pl.DataFrame({"x": [1]}), None) if engine.name == "local" else (pl.DataFrame({"x": [1]}),):
        with pytest.raises(UserCodeError, match="expected a lazy frame"):
            engine.query(lambda frame, other=other: other, shops)


def test_no_dataset_and_columns_that_are_not_made_are_refused(local):
    sales = local.from_arrow(SALES)
    with pytest.raises(ConfigError, match="has no dataset"):
        local.query(lambda: None)
    with pytest.raises(SchemaError, match=r"gave no column 'rows'\. Did you mean 'row'"):
        local.query(lambda frame: frame, sales, order_by="rows")
    with pytest.raises(SchemaError, match="gave no column 'total'"):
        local.query(lambda frame: frame, sales, schema={"total": "int64"})


@pytest.mark.one_cluster
def test_a_rule_that_a_row_breaks_keeps_its_error(engine, tables):
    strict = ps.Pipeline(st.Expect("row < 30")).fit(tables[0]).transform(tables[0])
    with pytest.raises(BadRowsError, match="row < 30"):
        engine.query(lambda frame: frame, strict)


# Files


@pytest.mark.thorough
@pytest.mark.one_cluster
def test_files_are_there_as_long_as_a_dataset_is(engine, tables, tmp_path, monkeypatch):
    monkeypatch.setattr(results, "TABLE_BYTES", 0)
    made = engine.query(joined("left"), *tables, staging_dir=tmp_path)
    part = made.select("row").split([0.5, 0.5], seed=1)[0]
    del made
    gc.collect()
    assert part.to_arrow().num_rows == part.count()
    (folder,) = staged(tmp_path)
    assert folder.stat().st_mode & 0o777 == 0o700
    del part
    until(lambda: (gc.collect(), not staged(tmp_path))[1])  # a thread of the client may have it a moment longer


def test_nothing_is_left_behind_by_what_fails_and_a_value_that_cannot_be_cast_is_told(engine, tmp_path):
    words = engine.from_arrow(pa.table({"word": ["1", "two"]}))
    uncast = r"query\(<lambda>\) (failed while it ran|raised ValueError): .*two"
    for function, order_by, error, told in (
        (division, (), UserCodeError, "ZeroDivisionError"),
        (lambda frame: frame, "absent", SchemaError, "absent"),
        (lambda frame: frame.select(nw.col("word").cast(nw.Int64)), (), ExecutionError, uncast),
    ):
        with pytest.raises(error, match=told):
            engine.query(function, words, order_by=order_by, staging_dir=tmp_path)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.one_cluster
def test_a_staging_directory_that_is_not_there_is_named(engine, tables, tmp_path):
    with pytest.raises(OutputError, match="absent"):
        engine.query(lambda frame: frame, tables[0], staging_dir=tmp_path / "absent")


@pytest.mark.dask
def test_dask_workers_elsewhere_need_a_staging_directory(engines, monkeypatch):
    dask = engines.get("dask")
    monkeypatch.setattr("penstock.engines.dask.session.is_loopback", lambda address: False)
    with pytest.raises(ConfigError, match=r"query\(division\) needs staging_dir: the workers of tcp"):
        dask.query(division, dask.from_arrow(SALES))


@pytest.mark.spark
def test_spark_workers_elsewhere_need_a_staging_directory(engines, monkeypatch):
    spark = engines.get("spark")
    monkeypatch.setattr(spark._cluster, "local", False)
    with pytest.raises(ConfigError, match=r"query\(lag\) needs staging_dir: the workers of local"):
        spark.from_arrow(SALES).lag("amount", by="shop", order_by="row")


# How it is run


class Told(Progress):
    """Notes the labels of what is tracked."""

    def __init__(self) -> None:
        self.labels: list[str] = []

    def track(self, label: str, total: int) -> Any:
        self.labels.append(label)
        return super().track(label, total)


def test_progress_has_the_name_of_the_query(local, monkeypatch):
    told = Told()
    monkeypatch.setattr(local, "progress", told)
    local.query(joined("left"), local.from_arrow(SALES), local.from_arrow(SHOPS))
    assert "query(<lambda>)" in told.labels


def note_process(folder: str) -> Any:
    def note(frame: nw.DataFrame) -> nw.DataFrame:
        Path(folder, str(os.getpid())).touch()
        return frame

    return note


def test_clusters_read_and_sort_on_their_workers(engine, tmp_path):
    data = engine.from_arrow(SALES, fragment_bytes=SMALL)
    seen = data.map_partitions(note_process(str(tmp_path)), SALES.schema)
    engine.query(lambda frame: frame, seen, order_by="row")
    assert (str(os.getpid()) in os.listdir(tmp_path)) == (engine.name == "local")
    assert os.listdir(tmp_path)


@pytest.mark.cpu("there is a GPU")
def test_the_gpu_engine_never_falls_back_in_silence(tmp_path):
    frame = nw.from_native(pl.LazyFrame({"x": [1]}))
    with pytest.raises(Exception, match=r"(?i)gpu|cuda|cudf"):
        PolarsQueries("gpu").write(frame, LocalPartFolder(str(tmp_path / "rows")), "query")


def test_a_sort_within_the_function_does_not_wait_for_itself(engine, tables):
    def latest(sales, shops):
        return sales.join(shops, on="shop").select("row").sort("row", descending=True)

    made = engine.query(latest, *tables).to_arrow()["row"].to_pylist()
    assert made == sorted(made, reverse=True)


@pytest.mark.dask
def test_a_window_that_dask_lacks_is_told_with_the_one_there_is(engines):
    dask = engines.get("dask")
    before = nw.col("row").shift(1).over("shop", order_by="row")
    with pytest.raises(UserCodeError, match=r"(?s)`over` with `order_by`.*use engine\.window"):
        dask.query(lambda sales: sales.with_columns(before=before), dask.from_arrow(SALES))


@pytest.mark.spark
def test_settings_of_a_session_are_as_they_were(engines):
    spark = engines.get("spark")
    names = ["spark.sql.caseSensitive", "spark.sql.session.timeZone", "spark.sql.parquet.outputTimestampType"]
    before = [spark.session.conf.get(name) for name in names]
    with pytest.raises(UserCodeError):
        spark.query(division, spark.from_arrow(SALES))
    assert [spark.session.conf.get(name) for name in names] == before
