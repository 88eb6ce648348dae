"""Types and layouts that are read by every way, or refused by every way before anything is read."""

import gzip

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.errors import CorruptFileError, SchemaDriftError, SchemaError

REFUSED = {
    "decimal256": pa.array([None, 1], pa.decimal256(50, 2)),
    "decimal256 of few digits, in a list": pa.array([[1], None], pa.list_(pa.decimal256(20, 2))),
    "a zone of no name": pa.array([1, None], pa.timestamp("us", "+05:30")),
    "decimal256 in a struct": pa.array([{"a": 1}], pa.struct([("a", pa.decimal256(50, 2))])),
    "JSON": pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": 1}', None])),
    "a list view": pa.array([[1], None], pa.list_view(pa.int64())),
}


def test_a_type_that_frames_cannot_hold_is_refused_when_planned(local, tmp_path, subtests):
    for what, values in REFUSED.items():
        table, path = pa.table({"x": pa.nulls(len(values)), "price": values}), tmp_path / f"{what}.parquet"
        pq.write_table(table, path)
        with subtests.test(what=what):
            with pytest.raises(SchemaError, match=r"column 'price' is .*, which cannot be read") as caught:
                local.from_arrow(table)
            assert (caught.value.column, caught.value.path) == ("price", "the table")
            for checked in (False, True):
                with pytest.raises(SchemaError, match=r"column 'price' is .*, which cannot be read") as caught:
                    local.read_parquet(path, page_checksum_verification=checked)
                assert (caught.value.column, caught.value.path) == ("price", str(path))


def test_dictionaries_nested_in_several_row_groups_are_read(local, tmp_path):
    rows = [["a", "b"], None, ["c"], []] * 5
    table = pa.table({"tags": pa.array(rows, pa.list_(pa.dictionary(pa.int32(), pa.string())))})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=3)
    for checked in (False, True):
        read = local.read_parquet(tmp_path / "a.parquet", page_checksum_verification=checked)
        assert read.to_arrow()["tags"].to_pylist() == rows


def test_files_of_polars_and_of_pyarrow_with_texts_in_structs_are_one_dataset(local, tmp_path):
    rows = [{"x": "a"}, {"x": None}]
    pl.DataFrame({"s": rows}).write_parquet(tmp_path / "polars.parquet")
    pq.write_table(pa.table({"s": rows}), tmp_path / "pyarrow.parquet")
    dataset = local.read_parquet([tmp_path / "polars.parquet", tmp_path / "pyarrow.parquet"])
    assert dataset.schema.field("s").type == pa.struct({"x": pa.string()})
    assert dataset.to_arrow()["s"].to_pylist() == rows * 2


def test_a_column_of_the_null_type_without_a_noted_schema_is_null(local, tmp_path):
    pq.write_table(pa.table({"n": pa.nulls(3)}), tmp_path / "a.parquet", store_schema=False)
    for checked in (False, True):
        read = local.read_parquet(tmp_path / "a.parquet", page_checksum_verification=checked)
        assert read.to_arrow() == pa.table({"n": pa.nulls(3)})


def test_a_time_of_seconds_declared_for_json_lines_is_read(local, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"t": "2020-01-01 00:00:01"}\n')
    read = local.read_json_lines(tmp_path / "a.jsonl", schema={"t": pa.timestamp("s")}).to_arrow()
    assert read == pa.table({"t": pa.array([1_577_836_801], pa.timestamp("s"))})


def test_a_number_too_large_for_its_type_is_refused_in_json_lines(local, tmp_path):
    for number, kind in (("-1e40", pa.float32()), ("[1e39]", pa.list_(pa.float32()))):
        (tmp_path / "a.jsonl").write_text(f'{{"x": {number}}}\n')
        with pytest.raises(SchemaDriftError, match="'x'"):
            local.read_json_lines(tmp_path / "a.jsonl", schema={"x": kind})


def test_compressed_text_of_no_bytes_is_refused_as_an_empty_file_is(local, tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(CorruptFileError, match="0 bytes"):
        local.read_csv(tmp_path / "a.csv.gz", header=False, column_names=["a"])
