"""Parquet read by row groups and columns, and every fault of files and schemas told with what to look at."""

import os
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import fsspec
import narwhals as nw
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock import frames
from penstock import stages as st
from penstock.errors import CorruptFileError, IncompleteInputError, SchemaDriftError
from penstock.io.sources import columnar
from penstock.io.sources.files import Storage
from penstock.pipeline import Pipeline


def write(folder: Path, **tables: pa.Table | dict[str, Any]) -> str:
    """Write one file for each table and return the glob of all."""
    for name, table in tables.items():
        pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), folder / f"{name}.parquet")
    return str(folder / "*.parquet")


# Fragments


def test_many_small_files_are_put_together(local, tmp_path):
    data = local.read_parquet(write(tmp_path, **{f"f{number:02d}": {"x": [number]} for number in range(40)}))
    assert len(data.fragments) == 1
    assert data.to_arrow()["x"].to_pylist() == list(range(40))


def test_a_large_file_is_split_by_row_group(local, tmp_path):
    pq.write_table(pa.table({"x": range(100)}), tmp_path / "f.parquet", row_group_size=10)
    data = local.read_parquet(tmp_path / "f.parquet", fragment_bytes=8 * 25)
    assert [fragment.rows for fragment in data.fragments] == [20] * 5
    assert [len(fragment.pieces) for fragment in data.fragments] == [1] * 5
    assert data.to_arrow()["x"].to_pylist() == list(range(100))


def test_a_file_without_rows_or_row_groups_adds_none(local, tmp_path):
    pattern = write(tmp_path, a={"x": [1]}, b=pa.table({"x": pa.array([], pa.int64())}))
    pq.ParquetWriter(tmp_path / "c.parquet", pa.schema({"x": pa.int64()})).close()
    data = local.read_parquet(pattern)
    assert (data.count(), data.to_arrow()["x"].to_pylist()) == (1, [1])


def test_rows_within_a_row_group_are_found_in_a_store(local, tmp_path):
    pq.write_table(pa.table({"x": range(30)}), tmp_path / "f.parquet", row_group_size=10)
    fsspec.filesystem("memory").pipe_file("/parquet/g.parquet", (tmp_path / "f.parquet").read_bytes())
    data = local.read_parquet("memory://parquet/g.parquet")
    (piece,) = data.fragments[0].pieces
    assert data.reader.source.read(piece.cut(8, 23), ["x"], "cpu")["x"].to_list() == list(range(8, 23))


# Files


def test_a_file_that_is_cut_off_or_of_another_format_is_told_before_anything_is_computed(local, tmp_path, subtests):
    good = Path(write(tmp_path, a={"x": list(range(1000))}).replace("*", "a"))
    whole, path = good.read_bytes(), tmp_path / "b.parquet"
    for content, problem in (
        (b"", "0 bytes, expected a Parquet file"),
        (whole[:3], "3 bytes"),
        (whole[:20], "20 bytes"),
        (whole[:-1], f"{len(whole) - 1} bytes"),
        (whole[:-10], "footer magic missing"),
        (whole[:-40], f"{len(whole) - 40} bytes"),
        (b"a,b\n1,2\n" * 9, r"not a Parquet file.*b'a,b.*looks like text"),
        (b"\x1f\x8b\x08" + b"\0" * 40, r"not a Parquet file.*b'\\x1f\\x8b\\x08.*looks like gzip"),
        (b"\0" * 50, "not a Parquet file.*looks like binary data"),
    ):
        path.write_bytes(content)
        with subtests.test(content=content[:8], size=len(content)):
            with pytest.raises(CorruptFileError, match=problem) as caught:
                local.read_parquet([good, path])
            assert caught.value.path == str(path)


def test_a_page_at_which_polars_panics_names_its_column(local, tmp_path, monkeypatch):
    read = frames.read_parquet

    def panic(path: str, first: int, rows: int, columns: Sequence[str], kind: Any) -> Any:
        if "bad" in columns:
            raise pl.exceptions.PanicException("assertion `left == right` failed")
        return read(path, first, rows, columns, kind)

    monkeypatch.setattr(frames, "read_parquet", panic)
    data = local.read_parquet(write(tmp_path, f={"good": [1], "bad": [2]}))
    with pytest.raises(CorruptFileError, match="column 'bad', rows 0 to 1, cannot be decoded") as caught:
        data.to_arrow()
    assert (caught.value.path, caught.value.column) == (str(tmp_path / "f.parquet"), "bad")


def test_a_column_that_cannot_be_read_can_be_left_out(local, tmp_path):
    pattern = write(tmp_path, f=pa.table({"x": [1], "odd": pa.array([Decimal("1.1")], pa.decimal256(50, 2))}))
    with pytest.warns(UserWarning, match="left out: odd"):
        known = local.read_parquet(pattern, schema={"x": "int64"})
    assert known.to_arrow().to_pydict() == {"x": [1]}


@pytest.mark.parametrize("change", ["longer", "same size", "gone"])
def test_an_input_that_changes_while_it_is_read_is_told(local, tmp_path, change):
    path = Path(write(tmp_path, f={"x": [1]}).replace("*", "f"))
    data = local.read_parquet(path)
    if change == "longer":
        pq.write_table(pa.table({"x": list(range(99))}), path)
    elif change == "same size":
        os.utime(path, (1, 1))
    else:
        path.unlink()
    told = "is gone" if change == "gone" else "changed while it was being read"
    with pytest.raises(IncompleteInputError, match=told):
        data.to_arrow()


# Schemas


def test_a_type_that_differs_is_told_when_planned(local, tmp_path):
    pattern = write(tmp_path, a={"x": [1]}, b={"x": [2]}, c={"x": ["3"]})
    with pytest.raises(SchemaDriftError, match=r"'x' is int64 in .*a\.parquet but string in .*c\.parquet") as caught:
        local.read_parquet(pattern)
    assert "int64 in 2 file(s), string in 1 file(s)" in caught.value.message


def test_a_name_that_stands_twice_is_told_with_positions(local, tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["x", "y", "x"])
    with pytest.raises(SchemaDriftError, match="'x' stands twice, at positions 0 and 2"):
        local.read_parquet(write(tmp_path, a=table))
    with pytest.raises(SchemaDriftError, match="'x' stands twice, at positions 0 and 2"):
        local.from_arrow(table)


def test_integers_are_widened_without_loss_and_nulls_take_the_type_of_the_others(local, tmp_path):
    narrow = pa.table({"x": pa.array([1], pa.int32()), "s": pa.nulls(1)})
    wide = pa.table({"x": [2**40], "s": ["a"]})
    for first, second in ((narrow, wide), (wide, narrow)):
        data = local.read_parquet(write(tmp_path, a=first, b=second))
        assert data.schema == wide.schema
        assert sorted(data.to_arrow().to_pylist(), key=str) == [{"x": 1, "s": None}, {"x": 2**40, "s": "a"}]


# A declared schema


def test_nulls_and_narrower_integers_are_accepted_as_the_declared_type(local, tmp_path):
    pattern = write(tmp_path, a={"x": pa.nulls(2), "n": pa.array([1, None], pa.int8())})
    data = local.read_parquet(pattern, schema={"x": "date", "n": "int64"})
    assert data.to_arrow().equals(pa.table({"x": pa.nulls(2, pa.date32()), "n": pa.array([1, None], pa.int64())}))


def test_a_declared_type_that_may_not_hold_the_values_is_refused(local, tmp_path, subtests):
    for declared, found in (
        ("int32", pa.int64()),
        ("float32", pa.float64()),
        ("int64", pa.string()),
        ("int64", pa.float64()),
        ("float64", pa.int64()),
    ):
        with subtests.test(declared=declared, found=str(found)):
            pattern = write(tmp_path, a={"x": pa.nulls(1, found)})
            with pytest.raises(SchemaDriftError, match="column 'x' is") as caught:
                local.read_parquet(pattern, schema={"x": declared})
            assert str(found) in caught.value.message
            assert str(tmp_path / "a.parquet") in caught.value.message


# Hive


@pytest.fixture
def partitioned(tmp_path: Path) -> Path:
    for year, day, value in (("2024", "01", 1), ("2024", "02", 2), ("__HIVE_DEFAULT_PARTITION__", "03", 3)):
        folder = tmp_path / f"year={year}" / f"day={day}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"x": [value]}), folder / "part.parquet")
    (tmp_path / "_SUCCESS").touch()
    return tmp_path


def test_folders_become_columns_that_can_be_read_alone(local, partitioned):
    data = local.read_parquet(partitioned)
    assert data.schema == pa.schema({"x": pa.int64(), "year": pa.int64(), "day": pa.string()})
    assert data.to_arrow().to_pydict() == {"x": [1, 2, 3], "year": [2024, 2024, None], "day": ["01", "02", "03"]}
    alone = data.filter(nw.col("year") == 2024).select("day")
    assert alone.to_arrow().to_pydict() == {"day": ["01", "02"]}


def test_the_type_of_a_folder_can_be_declared(local, partitioned):
    data = local.read_parquet(partitioned, schema={"day": "int8", "x": "int64", "year": "string"})
    assert data.to_arrow().schema == pa.schema({"day": pa.int8(), "x": pa.int64(), "year": pa.string()})
    assert data.to_arrow()["day"].to_pylist() == [1, 2, 3]


def test_a_folder_that_is_not_of_the_declared_type_is_told(local, partitioned):
    (partitioned / "year=2024" / "day=last").mkdir()
    pq.write_table(pa.table({"x": [4]}), partitioned / "year=2024" / "day=last" / "part.parquet")
    with pytest.raises(SchemaDriftError, match="column 'day' is 'last' in the folder name, expected int8"):
        local.read_parquet(partitioned, schema={"day": "int8", "x": "int64", "year": "int64"})


# Scoring


def test_features_that_are_missing_or_of_another_type_when_scoring_are_named(local):
    table = pa.table({name: [1.0, 2.0] for name in ("f1", "f2", "f3")})
    model = Pipeline(st.StandardScaler(["f1", "f2", "f3"])).fit(local.from_arrow(table))
    with pytest.raises(SchemaDriftError, match=r"lacks 2 column\(s\).*: f1, f3\..*Did you mean 'F1'"):
        model.transform(local.from_arrow(pa.table({"f2": [1.0], "F1": [1.0]})))
    with pytest.raises(SchemaDriftError, match="'f1' is string, but the model was fitted on double"):
        model.transform(local.from_arrow(table.set_column(0, "f1", pa.array(["1.0", "2.0"]))))


def test_features_in_another_order_are_bound_by_name(local):
    table = pa.table({"f1": [1.0, 3.0], "f2": [10.0, 30.0]})
    model = Pipeline(st.StandardScaler(["f1", "f2"], with_std=False)).fit(local.from_arrow(table))
    scored = model.transform(local.from_arrow(table.select(["f2", "f1"]))).to_arrow()
    assert scored.to_pydict() == {"f2": [-10.0, 10.0], "f1": [-1.0, 1.0]}


def test_a_hash_is_computed_once_for_each_version_of_a_file(local, tmp_path, monkeypatch):
    local.from_arrow(pa.table({"x": range(100)})).write_parquet(tmp_path / "out")
    data = local.read_parquet(tmp_path / "out")
    opened: list[str] = []
    plain = Storage.open
    monkeypatch.setattr(Storage, "open", lambda self, path: (opened.append(path), plain(self, path))[1])
    for _ in range(3):
        data.to_arrow()
    assert len(opened) == 1
    assert opened[0] in {path for path, *_ in columnar._digests}
