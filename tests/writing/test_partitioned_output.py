"""Outputs in folders of values: what other libraries read of them, and what we read of them again, to the bit."""

import datetime as dt
import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.io.sinks import layout

ROWS = 40
DAYS = [dt.date(2024, 1, 31) + dt.timedelta(days=row % 3) for row in range(ROWS)]
TABLE = pa.table({"x": range(ROWS), "day": DAYS, "v": [row / 7 for row in range(ROWS)]})
FORMATS = ("parquet", "orc", "avro", "arrow", "csv", "json_lines")

ODD = ["a/b", "", "é ü=%", None, "__HIVE_DEFAULT_PARTITION__", "..", "\x00\t{}[]^", "q\"'*?#:\\", "7", "%41", " "]
VALUES = {
    "text": pa.array(ODD),
    "int8": pa.array([-128, 127, None], pa.int8()),
    "uint64": pa.array([0, 2**64 - 1, None], pa.uint64()),
    "int64": pa.array([-(2**63), 10, 9, None]),
    "bool": pa.array([True, False, None]),
    "date": pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    "seconds": pa.array([0, -1, None], pa.timestamp("s")),
    "nanoseconds": pa.array([0, 1, 2**62 + 1, None], pa.timestamp("ns")),
    "zone": pa.array([0, 1_711_846_800_000_001, None], pa.timestamp("us", "Europe/Berlin")),
}


@pytest.fixture
def data(local: Engine) -> Dataset:
    """Forty rows of three days in several fragments."""
    return local.from_arrow(TABLE, fragment_bytes=15 * 20)


def names(folder: Path) -> list[str]:
    return [entry["path"] for entry in json.loads((folder / "_manifest.json").read_text())["files"]]


def by_day(table: pa.Table) -> pa.Table:
    """Rows as a stable sort by their day leaves them."""
    return pl.DataFrame(table).sort("day", maintain_order=True).to_arrow().cast(table.schema)


@pytest.mark.thorough
def test_rows_lie_in_the_folder_of_their_value_and_come_back_in_the_order_of_the_values(
    data, local, tmp_path, subtests
):
    for format in FORMATS:
        with subtests.test(format=format):
            result = data.write(tmp_path / format, format=format, partition_by="day")
            assert (result.rows, result.partitions, result.files) == (ROWS, 3, len(names(tmp_path / format)))
            days = ["day=2024-01-31", "day=2024-02-01", "day=2024-02-02"]
            assert sorted(os.listdir(tmp_path / format)) == ["_manifest.json", *days]
            assert local.read(format, tmp_path / format).to_arrow() == by_day(TABLE)
            none = local.from_arrow(TABLE.slice(0, 0))
            result = none.write(tmp_path / f"no-{format}", format=format, partition_by="day")
            assert (result.rows, result.partitions) == (0, 0)
            again = local.read(format, tmp_path / f"no-{format}", schema=TABLE.schema).to_arrow()
            assert again == TABLE.slice(0, 0)


def test_one_scan_makes_all_partitions(local, tmp_path):
    calls: list[int] = []

    def count(frame: Any) -> Any:
        calls.append(len(frame))
        return frame

    data = local.from_arrow(TABLE, fragment_bytes=15 * 20)
    data.map_partitions(count, TABLE.schema).write_parquet(tmp_path / "out", partition_by="day")
    assert sorted(calls) == sorted(fragment.rows for fragment in data.fragments)


def query(sql: str) -> pa.Table:
    import duckdb

    return duckdb.sql(sql).to_arrow_table()


READERS = {
    "pyarrow": lambda path, schema: ds.dataset(
        path, partitioning=ds.partitioning(schema, flavor="hive"), exclude_invalid_files=True
    ).to_table(),
    "polars": lambda path, schema: pl.read_parquet(
        f"{path}/**/*.parquet", hive_partitioning=True, hive_schema=pl.from_arrow(schema.empty_table()).schema
    ).to_arrow(),
    "duckdb": lambda path, schema: query(f"SELECT * FROM read_parquet('{path}/**/*.parquet', hive_partitioning=true)"),
}


def test_other_libraries_read_the_same_rows(data, local, tmp_path):
    data.write_parquet(tmp_path / "out", partition_by="day")
    for reader, read in READERS.items():
        table = read(str(tmp_path / "out"), pa.schema({"day": pa.date32()}))
        assert table.select(TABLE.column_names).cast(TABLE.schema).sort_by("x") == TABLE, reader
    texts = [text for text in ODD if text not in ("", "__HIVE_DEFAULT_PARTITION__")]
    odd = pa.table({"x": range(len(texts)), "s": texts})
    local.from_arrow(odd).write_parquet(tmp_path / "odd", partition_by="s")
    for reader in ("pyarrow", "polars"):  # to DuckDB an empty text is null
        table = READERS[reader](str(tmp_path / "odd"), pa.schema({"s": pa.string()}))
        assert table.select(["x", "s"]).cast(odd.schema).sort_by("x") == odd, reader


@pytest.mark.thorough
@pytest.mark.parametrize("format", FORMATS)
def test_values_types_and_places_of_partition_columns_are_read_as_they_were(local, tmp_path, subtests, format):
    for kind in VALUES if format == "parquet" else ("text", "zone"):  # folders are named alike in every format
        values = VALUES[kind]
        table = pa.table({"first": range(len(values)), "key": values, "last": [0.5] * len(values)})
        local.from_arrow(table).write(tmp_path / kind, format=format, partition_by="key")
        again = local.read(format, tmp_path / kind).to_arrow()
        with subtests.test(kind=kind):
            assert again.schema == table.schema
            assert again.sort_by("first") == table


def test_partitions_come_in_the_order_of_their_values_with_null_first(local, tmp_path):
    table = pa.table({"hour": [10, 9, None, 2, 10], "n": [0, 1, 2, 3, 4]})
    local.from_arrow(table).write_parquet(tmp_path / "out", partition_by="hour")
    assert local.read_parquet(tmp_path / "out").to_arrow()["n"].to_pylist() == [2, 3, 1, 0, 4]


def test_several_columns_make_folders_in_folders_and_an_odd_name_does(local, tmp_path):
    table = pa.table({"b": ["x", None, "y"], "n": [1, 2, 3], "a": [1, 1, 2], "a=b/c %": [1, 2, 2]})
    local.from_arrow(table).write_parquet(tmp_path / "out", partition_by=["a", "b"])
    assert names(tmp_path / "out") == [
        "a=1/b=__HIVE_DEFAULT_PARTITION__/part-00000.parquet",
        "a=1/b=x/part-00000.parquet",
        "a=2/b=y/part-00000.parquet",
    ]
    assert local.read_parquet(tmp_path / "out").to_arrow().sort_by("n") == table
    local.from_arrow(table).write_parquet(tmp_path / "odd", partition_by="a=b/c %")
    assert local.read_parquet(tmp_path / "odd").to_arrow() == table


def test_rows_set_aside_are_not_in_folders(local, tmp_path):
    (tmp_path / "a.csv").write_text("day,n\n1,2\n2,bad\n")
    data = local.read_csv(tmp_path / "a.csv", schema={"day": "int64", "n": "int64"}, max_bad_records=1)
    data.write_parquet(tmp_path / "out", partition_by="day")
    assert local.read_parquet(tmp_path / "out.quarantine").count() == 1
    assert local.read_parquet(tmp_path / "out").to_arrow().to_pydict() == {"day": [1], "n": [2]}


def test_files_are_cut_at_a_number_of_rows(data, local, tmp_path):
    for name, partition_by, expected in (("flat", (), TABLE), ("folders", "day", by_day(TABLE))):
        data.write_parquet(tmp_path / name, partition_by=partition_by, max_rows_per_file=4)
        files = json.loads((tmp_path / name / "_manifest.json").read_text())["files"]
        assert max(file["rows"] for file in files) == 4
        assert local.read_parquet(tmp_path / name).to_arrow() == expected


@pytest.mark.thorough
def test_rows_are_sorted_within_a_file_and_those_that_agree_keep_their_order(local, tmp_path):
    table = pa.table({"k": [2, None, 1, 2, 1], "day": [1, 1, 1, 2, 2], "n": range(5)})
    local.from_arrow(table).write_parquet(tmp_path / "out", sort_by=["k", "day"], partition_by="day")
    assert local.read_parquet(tmp_path / "out").to_arrow()["n"].to_pylist() == [1, 2, 0, 4, 3]
    local.from_arrow(table).write_parquet(tmp_path / "flat", sort_by="k")
    assert local.read_parquet(tmp_path / "flat").to_arrow()["n"].to_pylist() == [1, 2, 4, 0, 3]


def test_a_column_whose_values_make_no_folders_is_refused_by_name(local, tmp_path, subtests):
    for kind in (pa.float64(), pa.list_(pa.int64()), pa.binary(), pa.decimal128(5, 2)):
        with subtests.test(kind=str(kind)):
            data = local.from_arrow(pa.table({"x": [1], "odd": pa.array([None], kind)}))
            with pytest.raises(ConfigError, match=r"column 'odd' is .*, which partition_by does not take"):
                data.map_partitions(lambda frame: 1 / 0, data.schema).write_parquet(
                    tmp_path / "out", partition_by="odd"
                )
            assert os.listdir(tmp_path) == []


def test_what_cannot_be_written_is_refused_before_anything_is_read(data, tmp_path, subtests):
    for parameters, error, problem in (
        ({"partition_by": "dya"}, SchemaError, r"column 'dya' is not in the data\. Did you mean 'day'\?"),
        ({"partition_by": ["x", "day", "v"]}, ConfigError, "column 'v' is double"),
        ({"partition_by": ["day", "day"]}, ConfigError, "partition_by names column 'day' twice"),
        ({"sort_by": "vv"}, SchemaError, "column 'vv' is not in the data"),
        ({"max_rows_per_file": 0}, ConfigError, "max_rows_per_file is 0, expected a whole number from 1"),
        ({"max_rows_per_file": True}, ConfigError, "max_rows_per_file is True"),
        ({"mode": "overwrit"}, ConfigError, r"mode is 'overwrit'.* Did you mean 'overwrite'\?"),
        ({"mode": "overwrite_partitions"}, ConfigError, "needs partition_by"),
        ({"mode": "append", "overwrite": True}, ConfigError, "ask for two things"),
        ({"keys": "x"}, ConfigError, 'keys are for mode="merge"'),
        ({"run_id": ""}, ConfigError, "run_id is '', expected 1 to 256 characters"),
        ({"run_id": "x" * 257}, ConfigError, "expected 1 to 256 characters"),
        ({"run_id": "a\nb"}, ConfigError, "expected 1 to 256 characters"),
        ({"compression": "lzo"}, ConfigError, "compression is 'lzo'"),
        ({"compression_level": 30}, ConfigError, "compression_level is 30, expected 1 to 22"),
        ({"compression": "snappy", "compression_level": 1}, ConfigError, "'snappy' has no levels"),
        ({"format": "csv", "compression": "snappy"}, ConfigError, "compression is 'snappy'"),
    ):
        with subtests.test(parameters=parameters):
            unread = data.map_partitions(lambda frame: 1 / 0, data.schema)
            with pytest.raises(error, match=problem):
                unread.write(tmp_path / "out", **parameters)
            assert os.listdir(tmp_path) == []


def test_a_text_too_long_for_a_folder_and_all_columns_as_folders_are_refused(local, tmp_path):
    data = local.from_arrow(pa.table({"s": ["é" * 200], "x": [1]}))
    with pytest.raises(DataValueError, match="column 's' has a text of 200 characters") as caught:
        data.write_parquet(tmp_path / "out", partition_by="s")
    assert caught.value.column == "s"
    with pytest.raises(ConfigError, match="partition_by names all columns"):
        data.write_parquet(tmp_path / "out", partition_by=["s", "x"])
    assert os.listdir(tmp_path) == []


def test_too_many_files_are_refused(data, tmp_path, monkeypatch):
    monkeypatch.setattr(layout, "MOST_FILES", 10)
    with pytest.raises(ConfigError, match="more than 10 files"):
        data.write_parquet(tmp_path / "out", partition_by="x")
    with pytest.raises(ConfigError, match="more than 10 files"):
        data.write_parquet(tmp_path / "out", max_rows_per_file=1)
    assert os.listdir(tmp_path) == []


def test_parquet_is_compressed_as_asked(data, tmp_path):
    for compression, level in (("zstd", 3), ("snappy", None), ("gzip", 9), ("none", None)):
        target = tmp_path / compression
        data.write(target, compression=compression, compression_level=level)
        metadata = [pq.read_metadata(target / name) for name in names(target)]
        found = {file.row_group(0).column(column).compression for file in metadata for column in range(3)}
        assert found == {{"none": "uncompressed"}.get(compression, compression).upper()}


def test_text_is_compressed_as_its_ending_says(data, local, tmp_path):
    for format, first in (("csv", b"x"), ("json_lines", b"{")):
        for compression, ending in (("gzip", ".gz"), ("zstd", ".zst")):
            target = tmp_path / f"{format}{ending}"
            data.write(target, format=format, compression=compression)
            assert all(name.endswith(ending) for name in names(target))
            assert local.read(format, target, schema=TABLE.schema).to_arrow() == TABLE
            with pa.input_stream(str(target / names(target)[0]), compression=compression) as stream:
                assert stream.read(1) == first


@pytest.mark.thorough
def test_every_engine_writes_the_same_files(engine, local, tmp_path):
    parts = {"partition_by": "day", "sort_by": "v", "max_rows_per_file": 3}
    for name, each in (("own", engine), ("local", local)):
        each.from_arrow(TABLE, fragment_bytes=15 * 20).write_parquet(tmp_path / name, **parts)
    files = [json.loads((tmp_path / name / "_manifest.json").read_text())["files"] for name in ("own", "local")]
    assert files[0] == files[1]
