"""What a dataset writes: whole or not at all, readable by all, and no row lost on the way."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace

import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from penstock import frames
from penstock import stages as st
from penstock.dataset import Dataset
from penstock.dataset.outputs.parts import check_rows
from penstock.dataset.steps import RowLog
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, OutputError, RowCountError
from penstock.pipeline import Pipeline

ROWS = 30
TABLE = pa.table({"a": range(ROWS), "b": [float(i) for i in range(ROWS)], "s": [f"s{i % 3}" for i in range(ROWS)]})


@pytest.fixture
def data(local: Engine) -> Dataset:
    """Thirty rows in six fragments."""
    return local.from_arrow(TABLE, fragment_bytes=5 * (8 + 8 + 28))


def test_a_written_dataset_is_one_part_a_fragment_and_a_manifest_that_counts_rows(data, tmp_path):
    result = data.filter(nw.col("a") < 12).write_parquet(tmp_path / "out")
    parts = [f"part-{part:05d}.parquet" for part in range(6)]  # names that Spark takes for data
    assert sorted(os.listdir(tmp_path / "out")) == ["_manifest.json", *parts]
    expected = (str(tmp_path / "out"), ROWS, 12, {"filter": 18}, None)
    assert (result.path, result.read, result.rows, result.dropped, result.quarantine) == expected
    assert os.listdir(tmp_path) == ["out"]
    manifest = json.loads((tmp_path / "out" / "_manifest.json").read_text())
    counted = (manifest["run_id"], manifest["rows_read"], manifest["rows"], manifest["dropped"])
    assert counted == (result.run_id, ROWS, 12, {"filter": 18})
    assert [file["rows"] for file in manifest["files"]] == [5, 5, 2, 0, 0, 0]


def test_plain_readers_read_what_is_written(data, local, tmp_path):
    path = str(tmp_path / "out")
    data.write_parquet(path)
    assert local.read_parquet(path).to_arrow().equals(TABLE)
    for read in (
        pq.read_table(path),
        ds.dataset(path, format="parquet").to_table(),
        pl.read_parquet(f"{path}/*.parquet").to_arrow(),
        pa.Table.from_pandas(pd.read_parquet(path), preserve_index=False),
    ):
        assert read.cast(TABLE.schema).equals(TABLE)


def test_a_part_that_cannot_be_written_is_an_output_error(data, tmp_path, monkeypatch):
    def refuses(frame: nw.DataFrame, path: str, schema: pa.Schema, **_: object) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(frames, "write_parquet", refuses)
    with pytest.raises(OutputError, match="EACCES"):
        data.write_parquet(tmp_path / "out")
    assert os.listdir(tmp_path) == []


def test_an_output_over_in_or_around_its_input_is_refused(local, data, tmp_path):
    data.write_parquet(tmp_path / "in")
    (tmp_path / "link").symlink_to(tmp_path / "in")
    before = sorted(os.listdir(tmp_path / "in"))
    for target in (".", "..", "in", "in/part-00000.parquet", "in/below", "link"):
        with pytest.raises(ConfigError, match="its own input"):
            local.read_parquet(tmp_path / "in").write_parquet(tmp_path / target, overwrite=True)
        assert sorted(os.listdir(tmp_path / "in")) == before
    pq.write_table(TABLE, tmp_path / "alone.parquet")
    local.read_parquet(tmp_path / "alone.parquet").write_parquet(tmp_path / "out")  # beside a single file it is fine
    assert pq.read_table(tmp_path / "out").num_rows == ROWS


def test_quarantine_and_output_may_not_lie_in_each_other(data, tmp_path):
    for place in ("out", "out/bad", "."):
        with pytest.raises(ConfigError, match="would lie in each other"):
            data.write_parquet(tmp_path / "out", quarantine=tmp_path / place)


@pytest.fixture
def fitted(data: Dataset) -> Iterator[Dataset]:
    """The dataset with two rules that set rows aside."""
    rules = [st.Expect("a < 25", action="quarantine", name="small"), st.Expect("s != 's0'", action="quarantine")]
    return Pipeline(*rules).fit(data).transform(data)


def test_rows_set_aside_are_written_with_reason_and_number(fitted, tmp_path):
    result = fitted.write_parquet(tmp_path / "out")
    aside = pq.read_table(tmp_path / "out.quarantine")
    assert result.quarantine == str(tmp_path / "out.quarantine")
    assert result.quarantined == {"small": 5, "s != 's0'": 9}
    assert (result.read, result.rows) == (ROWS, 16)
    assert aside.column_names == ["row", "reason", "a", "b", "s"]
    assert aside["row"].to_pylist() == aside["a"].to_pylist()
    assert sorted([*aside["a"].to_pylist(), *pq.read_table(tmp_path / "out")["a"].to_pylist()]) == list(range(ROWS))


def test_a_quarantine_of_an_earlier_write_goes_when_no_rows_are_set_aside(data, fitted, tmp_path):
    fitted.write_parquet(tmp_path / "out")
    model = Pipeline(st.Expect("a >= 0", action="quarantine")).fit(data)
    assert model.transform(data).write_parquet(tmp_path / "out", overwrite=True).quarantine is None
    assert os.listdir(tmp_path) == ["out"]


def test_rows_that_are_unaccounted_for_stop_a_write():
    log = RowLog(read=10, kept=5, dropped={"filter": 3}, quarantined={"rule": 1})
    with pytest.raises(RowCountError, match="10 rows in are not 5 out, 3 dropped and 1 quarantined: 1 are unaccounted"):
        check_rows(log)


TEXT = ("csv", "json_lines")


@pytest.mark.thorough
@pytest.mark.parametrize("format", TEXT)
def test_text_has_the_parts_the_counts_and_the_manifest_that_parquet_has(fitted, local, tmp_path, format):
    as_parquet, as_text = (
        fitted.write(tmp_path / name, format=name, quarantine=tmp_path / f"bad-{name}") for name in ("parquet", format)
    )
    changing = {"path": "", "quarantine": "", "run_id": ""}
    assert replace(as_text, **changing) == replace(as_parquet, **changing)
    manifests = [json.loads((tmp_path / name / "_manifest.json").read_text()) for name in ("parquet", format)]
    assert [file["rows"] for file in manifests[1]["files"]] == [file["rows"] for file in manifests[0]["files"]]
    assert {file["kind"] for file in manifests[1]["files"]} == {format}
    assert pq.read_table(tmp_path / f"bad-{format}") == pq.read_table(tmp_path / "bad-parquet")
    again = local.read(format, tmp_path / format, schema=fitted.schema).to_arrow()
    assert again == local.read_parquet(tmp_path / "parquet").to_arrow()


def test_a_type_that_a_text_cannot_hold_is_refused_before_anything_is_read(local, tmp_path, subtests):
    for format, kind in (
        ("csv", pa.list_(pa.int64())),
        ("csv", pa.struct({"x": pa.int64()})),
        ("csv", pa.binary()),
        ("json_lines", pa.struct({"x": pa.int64()})),
        ("json_lines", pa.list_(pa.binary())),
    ):
        with subtests.test(format=format, kind=str(kind)):
            data = local.from_arrow(pa.table({"good": [1], "odd": pa.array([None], kind)}))
            with pytest.raises(ConfigError, match=r"column 'odd' is .*, which (CSV|JSON lines) cannot hold"):
                data.map_partitions(lambda frame: 1 / 0, data.schema).write(tmp_path / "out", format=format)
            assert os.listdir(tmp_path) == []


def test_a_value_that_a_text_cannot_say_is_named_and_nothing_is_left(local, tmp_path, subtests):
    for format, values, problem in (
        ("csv", ["a", ""], "has the text '', which would be read as null"),
        ("csv", ["a", "b\0"], "has a NUL character"),
        ("csv", [0, 10**12], "has a time outside the years 1 to 9999"),
        ("json_lines", [1.0, float("-inf")], "has an infinite number"),
    ):
        with subtests.test(problem=problem):
            column = pa.array(values, pa.timestamp("s") if values[0] == 0 else None)
            pq.write_table(pa.table({"v": column}), tmp_path / "a.parquet")
            data = local.read_parquet(tmp_path / "a.parquet")
            with pytest.raises(DataValueError, match=f"column 'v' {problem}") as found:
                data.write(tmp_path / "out", format=format)
            assert found.value.path == str(tmp_path / "a.parquet")
            assert found.value.row == (1 if isinstance(values[0], str) else None)
            assert os.listdir(tmp_path) == ["a.parquet"]


def test_nulls_and_empty_strings_are_told_apart_where_null_is_spelled(local, tmp_path):
    table = pa.table({"s": ["", None, '""', "NULL"]})
    local.from_arrow(table).write(tmp_path / "out", format="csv", null_value="\\N")
    assert (tmp_path / "out" / "part-00000.csv").read_text() == 's\n""\n\\N\n""""""\nNULL\n'
    assert local.read_csv(tmp_path / "out", null_values=["\\N"]).to_arrow() == table


def test_nan_that_a_function_makes_is_null_in_text(local, tmp_path):
    data = local.from_arrow(pa.table({"x": [1.0, 2.0]}))
    made = data.map_partitions(lambda frame: frame.with_columns(x=nw.lit(float("nan"))), data.schema)
    made.write(tmp_path / "out", format="json_lines")
    assert (tmp_path / "out" / "part-00000.jsonl").read_text() == '{"x":null}\n{"x":null}\n'


def test_what_cannot_be_written_so_is_refused(data, tmp_path):
    with pytest.raises(ConfigError, match=r"format is 'cvs'.* Did you mean 'csv'\?"):
        data.write(tmp_path / "out", format="cvs")
    with pytest.raises(ConfigError, match=r"writing csv takes no option 'delimeter'\. Did you mean 'delimiter'\?"):
        data.write(tmp_path / "out", format="csv", delimeter=";")
    with pytest.raises(ConfigError, match="null_value is ';', expected a text that needs no quotes"):
        data.write(tmp_path / "out", format="csv", delimiter=";", null_value=";")
    with pytest.raises(ConfigError, match="files is only read, not written"):
        data.write(tmp_path / "out", format="files")
