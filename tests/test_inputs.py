"""Data by the names of its files."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.cli.inputs import format_of, read
from penstock.errors import ConfigError, MissingInputError


def test_the_format_is_that_of_the_suffix():
    for name, expected in {
        "a.parquet": "parquet", "dir/*.parquet": "parquet", "s3://bucket/a.csv.gz": "csv", "a.TSV": "csv",
        "a.jsonl": "jsonl", "a.ndjson.zst": "jsonl",
    }.items():  # fmt: skip
        assert format_of([name]) == expected


def test_the_format_of_a_directory_is_that_of_its_files(tmp_path):
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "part-0.csv").touch()
    assert format_of([str(tmp_path)]) == format_of([f"{tmp_path}/part*"]) == "csv"


def test_several_formats_are_refused(tmp_path):
    for name in ("a.csv", "b.parquet"):
        (tmp_path / name).touch()
    with pytest.raises(ConfigError, match=r"has files of several formats \(csv, parquet\)"):
        format_of([str(tmp_path)])


def test_no_known_suffix_is_refused(tmp_path):
    (tmp_path / "train.txt").touch()
    with pytest.raises(ConfigError, match=r"train.txt has no suffix that tells its format") as found:
        format_of([str(tmp_path / "train.txt")])
    assert found.value.hint == "Pass --format parquet|csv|jsonl|files|orc|avro|arrow|libsvm|delta|iceberg."


def test_what_is_not_there_is_missing_input(local, tmp_path):
    with pytest.raises(MissingInputError, match="matches no file"):
        read(local, [str(tmp_path / "nowhere")])
    with pytest.raises(MissingInputError, match="matches no file"):
        read(local, [str(tmp_path / "nowhere")], max_bad_records=1)


def test_text_has_the_known_types_and_keeps_its_other_columns(local, tmp_path):
    (tmp_path / "a.csv").write_text("id,code,x\n1,007,2\n2,8,3\n")
    found = read(
        local, [str(tmp_path / "a.csv")], types=pa.schema({"code": pa.string(), "x": pa.float64(), "y": pa.int8()})
    )
    assert found.schema == pa.schema({"id": pa.int64(), "code": pa.string(), "x": pa.float64()})
    assert found.to_arrow().to_pylist() == [{"id": 1, "code": "007", "x": 2.0}, {"id": 2, "code": "8", "x": 3.0}]


def test_types_of_text_are_inferred_where_they_are_not_known(local, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"x": 1}\n{"x": 2.5}\n')
    assert read(local, [str(tmp_path / "a.jsonl")]).schema == pa.schema({"x": pa.float64()})


def test_tsv_is_cut_at_tabs(local, tmp_path):
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(b"x\ty\n1,5\t2\n"))
    assert read(local, [str(tmp_path / "a.tsv.gz")]).to_arrow().to_pylist() == [{"x": "1,5", "y": 2}]


def test_records_that_do_not_have_the_known_types_are_set_aside_when_allowed(local, tmp_path):
    (tmp_path / "a.csv").write_text("id,x\n1,2\n2,two\n3\n4,5\n")
    found = read(local, [str(tmp_path / "a.csv")], types=pa.schema({"x": pa.float64()}), max_bad_records=2)
    assert found.to_arrow().to_pylist() == [{"id": 1, "x": 2.0}, {"id": 4, "x": 5.0}]


def test_bad_records_of_what_is_no_text_are_refused(local, tmp_path):
    (tmp_path / "a.parquet").touch()
    for name in ("parquet", "files"):
        with pytest.raises(ConfigError, match=f"max_bad_records is 1, but {name} has no records to parse"):
            read(local, [str(tmp_path)], format=name, max_bad_records=1)


def test_a_directory_that_does_not_say_it_is_whole_is_read_when_asked(local, tmp_path):
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "a.parquet")
    assert read(local, [str(tmp_path)], allow_unmanifested=True).count() == 2
