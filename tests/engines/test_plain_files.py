"""Which datasets another reader may read, and what Spark makes of them."""

import datetime
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.engines.base import Engine
from penstock.engines.local import results
from penstock.engines.plain_files import plain_files
from penstock.errors import CorruptFileError, IncompleteInputError

TABLE = pa.table({"row": range(20), "x": [float("nan") if row % 5 == 1 else row / 3 for row in range(20)]})


def written(folder: Path, name: str = "a.parquet", table: pa.Table = TABLE, rows: int = 6) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / name, row_group_size=rows)
    return str(folder / name)


def test_whole_files_are_plain_a_piece_of_each(local, tmp_path):
    paths = [written(tmp_path, name) for name in ("a.parquet", "b.parquet")]
    files = plain_files(local.read_parquet(paths, fragment_bytes=100).select("row"))
    assert files is not None
    assert files.paths == paths


def test_a_relative_path_is_told_from_the_root(local, tmp_path, monkeypatch):
    path = written(tmp_path)
    monkeypatch.chdir(tmp_path)
    files = plain_files(local.read_parquet("a.parquet"))
    assert files is not None
    assert files.paths == [path]


def test_the_rows_of_a_query_are_plain(local, tmp_path, monkeypatch):
    monkeypatch.setattr(results, "TABLE_BYTES", 0)
    made = local.query(lambda frame: frame, local.from_arrow(TABLE), staging_dir=tmp_path)
    assert plain_files(made) is not None


def test_rows_that_are_left_out_or_made_or_lie_in_memory_are_not_plain(local, tmp_path):
    data = local.read_parquet(written(tmp_path))
    assert plain_files(data.filter(nw.col("row") > 3)) is None
    assert plain_files(data.split([0.5, 0.5], seed=1)[0]) is None
    assert plain_files(data.map_partitions(lambda frame: frame, TABLE.schema)) is None
    assert plain_files(local.from_arrow(TABLE)) is None


def test_names_that_others_read_in_another_way_are_not_plain(local, tmp_path):
    for name in ("_a.parquet", ".a.parquet", "a[1].parquet", "a*.parquet", "k=v.parquet", "é.parquet"):
        path = written(tmp_path / "files", name)
        assert plain_files(local.read_parquet(path.replace("[", "[[]"))) is None, name
        os.remove(path)


def test_keys_in_the_names_of_folders_are_not_plain(local, tmp_path):
    written(tmp_path / "day=1")
    assert plain_files(local.read_parquet(tmp_path, allow_unmanifested=True)) is None


def test_columns_that_a_file_lacks_are_not_plain(local, tmp_path):
    paths = [written(tmp_path), written(tmp_path, "b.parquet", TABLE.select(["row"]))]
    assert plain_files(local.read_parquet(paths, missing_columns="null")) is None


def test_types_that_others_read_as_something_else_are_not_plain(local, tmp_path):
    for kind in (pa.uint8(), pa.timestamp("ns"), pa.list_(pa.int8()), pa.duration("us"), pa.null()):
        data = local.read_parquet(written(tmp_path, table=TABLE.append_column("odd", pa.nulls(20, kind))))
        assert plain_files(data) is None, kind
        assert plain_files(data.select("row")) is not None


# Spark


@pytest.fixture
def spark(engines: Any, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Spark, with nothing staged for it."""

    def refuse(*_: object) -> None:
        raise AssertionError("rows were staged")

    monkeypatch.setattr("penstock.engines.spark.query.stage", refuse)
    return engines.get("spark")


@pytest.mark.spark
def test_spark_reads_plain_files_itself_to_the_same_rows(spark, tmp_path):
    day = datetime.datetime(1582, 10, 10, 1, 2, 3, 4)
    columns = {
        "i8": pa.array([1, None] * 10, pa.int8()),
        "f32": pa.array([1.5, float("nan")] * 10, pa.float32()),
        "word": pa.array(["é", None] * 10).dictionary_encode(),
        "flag": pa.array([True, None] * 10),
        "bytes": pa.array([b"\x00", None] * 10),
        "day": pa.array([day.date(), None] * 10),
        "moment": pa.array([day, None] * 10, pa.timestamp("us")),
        "instant": pa.array([day, None] * 10, pa.timestamp("us", "UTC")),
        "price": pa.array([Decimal("1.25"), None] * 10, pa.decimal128(9, 2)),
    }
    table = TABLE
    for name, column in columns.items():
        table = table.append_column(name, column)
    data = spark.read_parquet([written(tmp_path, table=table)])
    made = spark.query(lambda frame: frame, data, order_by="row").to_arrow()
    assert made.combine_chunks().equals(data.to_arrow().combine_chunks())


@pytest.mark.spark
def test_nan_in_a_file_is_null_for_spark_too_and_a_file_without_floats_is_read(spark, tmp_path):
    data = spark.read_parquet(written(tmp_path))
    made = spark.query(lambda frame: frame.filter(nw.col("x").is_null()).select("row"), data, order_by="row")
    assert made.to_arrow()["row"].to_pylist() == [1, 6, 11, 16]
    data = spark.read_parquet(written(tmp_path, "b.parquet", TABLE.select(["row"])))
    assert spark.query(lambda frame: frame, data, order_by="row").to_arrow() == data.to_arrow()


@pytest.mark.spark
def test_files_of_which_one_has_a_narrower_type_are_read_in_the_wider(spark, tmp_path):
    narrow = pa.table({"row": pa.array([20, 21], pa.int32()), "x": pa.array([0.5, None], pa.float32())})
    data = spark.read_parquet([written(tmp_path, "a.parquet", narrow), written(tmp_path, "b.parquet")])
    made = spark.query(lambda frame: frame, data, order_by="row").to_arrow()
    assert (made.num_rows, made["row"].to_pylist()[-2:], made.schema) == (22, [20, 21], TABLE.schema)


@pytest.mark.spark
def test_a_file_that_changes_while_the_query_runs_is_refused(spark, tmp_path):
    path = written(tmp_path / "in")
    data = spark.read_parquet(path)

    def changing(frame: Any) -> Any:
        os.utime(path, (1, 1))
        return frame

    with pytest.raises(IncompleteInputError, match="changed while it was being read"):
        spark.query(changing, data, staging_dir=tmp_path)
    assert os.listdir(tmp_path) == ["in"]


@pytest.mark.spark
def test_a_file_that_is_not_the_one_of_its_manifest_is_refused(spark, tmp_path):
    spark.from_arrow(TABLE).write_parquet(tmp_path / "data")
    part = next((tmp_path / "data").glob("part-*"))
    changed = bytearray(part.read_bytes())
    changed[len(changed) // 3] ^= 1
    part.write_bytes(changed)
    data = spark.read_parquet(tmp_path / "data")
    with pytest.raises(CorruptFileError, match="sha256"):
        spark.query(lambda frame: frame, data)
