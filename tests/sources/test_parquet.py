"""Parquet read by row groups and columns, and every fault of files and schemas told with what to look at."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import fsspec
import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock import frames
from penstock import stages as st
from penstock.engines.base import Engine
from penstock.errors import CorruptFileError, IncompleteInputError, InputError, SchemaDriftError, SchemaError
from penstock.io.sources import columnar
from penstock.io.sources.files import Storage
from penstock.pipeline import Pipeline


def write(folder: Path, **tables: pa.Table | dict[str, Any]) -> str:
    """Write one file for each table and return the glob of all."""
    for name, table in tables.items():
        pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), folder / f"{name}.parquet")
    return str(folder / "*.parquet")


@pytest.fixture
def store() -> Iterator[fsspec.AbstractFileSystem]:
    """A store that is empty before and after a test; URLs begin with memory://parquet."""
    filesystem = fsspec.filesystem("memory")
    filesystem.mkdir("/parquet")
    yield filesystem
    filesystem.rm("/parquet", recursive=True)


# Fragments


def test_many_small_files_are_put_together(local: Engine, tmp_path: Path) -> None:
    data = local.read_parquet(write(tmp_path, **{f"f{number:02d}": {"x": [number]} for number in range(40)}))
    assert len(data.fragments) == 1
    assert data.to_arrow()["x"].to_pylist() == list(range(40))


def test_a_large_file_is_split_by_row_group(local: Engine, tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": range(100)}), tmp_path / "f.parquet", row_group_size=10)
    data = local.read_parquet(tmp_path / "f.parquet", fragment_bytes=8 * 25)
    assert [fragment.rows for fragment in data.fragments] == [20] * 5
    assert [len(fragment.pieces) for fragment in data.fragments] == [1] * 5
    assert data.to_arrow()["x"].to_pylist() == list(range(100))


def test_a_file_without_rows_or_row_groups_adds_none(local: Engine, tmp_path: Path) -> None:
    pattern = write(tmp_path, a={"x": [1]}, b=pa.table({"x": pa.array([], pa.int64())}))
    pq.ParquetWriter(tmp_path / "c.parquet", pa.schema({"x": pa.int64()})).close()
    data = local.read_parquet(pattern)
    assert (data.count(), data.to_arrow()["x"].to_pylist()) == (1, [1])


def test_a_glob_with_one_pattern_reads_in_the_order_of_names(local: Engine, tmp_path: Path) -> None:
    assert local.read_parquet(write(tmp_path, b={"x": [2]}, a={"x": [1]})).to_arrow()["x"].to_pylist() == [1, 2]


# Stores


@pytest.mark.parametrize("rows", [1, 7, 100])
def test_a_store_gives_what_a_disk_gives(
    local: Engine, tmp_path: Path, store: fsspec.AbstractFileSystem, rows: int
) -> None:
    table = pa.table({"x": range(100), "y": [float(row) for row in range(100)]})
    pq.write_table(table, tmp_path / "f.parquet", row_group_size=10)
    store.pipe_file("/parquet/f.parquet", (tmp_path / "f.parquet").read_bytes())
    data = local.read_parquet("memory://parquet/*.parquet", fragment_bytes=16 * rows)
    assert data.to_arrow().equals(table)
    assert data.select("y").filter(nw.col("y") > 94).to_arrow()["y"].to_pylist() == [95.0, 96.0, 97.0, 98.0, 99.0]


def test_rows_within_a_row_group_are_found_in_a_store(
    local: Engine, tmp_path: Path, store: fsspec.AbstractFileSystem
) -> None:
    pq.write_table(pa.table({"x": range(30)}), tmp_path / "f.parquet", row_group_size=10)
    store.pipe_file("/parquet/g.parquet", (tmp_path / "f.parquet").read_bytes())
    data = local.read_parquet("memory://parquet/g.parquet")
    (piece,) = data.fragments[0].pieces
    assert data.reader.source.read(piece.cut(8, 23), ["x"], "cpu")["x"].to_list() == list(range(8, 23))


def test_a_store_that_raises_is_an_input_error_with_the_file(
    local: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, f={"x": [1]}).replace("*", "f")

    def refuses(self: Storage, path: str) -> Any:
        raise InputError(f"cannot open {path}: Permission denied", path=path)

    monkeypatch.setattr(Storage, "open", refuses)
    with pytest.raises(InputError, match="Permission denied") as caught:
        local.read_parquet(path)
    assert caught.value.path == path


# A. Files


def test_a_file_of_no_bytes_is_never_skipped(local: Engine, tmp_path: Path) -> None:
    pattern = write(tmp_path, a={"x": [1]})
    (tmp_path / "b.parquet").touch()
    with pytest.raises(CorruptFileError, match="0 bytes") as caught:
        local.read_parquet(pattern)
    assert caught.value.path == str(tmp_path / "b.parquet")


@pytest.mark.parametrize("kept", [3, 20, -1, -40])
def test_a_file_that_is_cut_off_is_told_before_anything_is_computed(local: Engine, tmp_path: Path, kept: int) -> None:
    path = Path(write(tmp_path, f={"x": list(range(1000))}).replace("*", "f"))
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(CorruptFileError, match=rf"{path.stat().st_size} bytes") as caught:
        local.read_parquet(path)
    assert caught.value.path == str(path)


def test_a_footer_that_is_cut_off_is_named(local: Engine, tmp_path: Path) -> None:
    path = Path(write(tmp_path, f={"x": list(range(1000))}).replace("*", "f"))
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(CorruptFileError, match="footer magic missing"):
        local.read_parquet(path)


@pytest.mark.parametrize(
    ("content", "kind"),
    [(b"a,b\n1,2\n" * 9, "text"), (b"\x1f\x8b\x08" + b"\0" * 40, "gzip"), (b"\0" * 50, "binary data")],
)
def test_another_format_is_told_by_its_first_bytes(local: Engine, tmp_path: Path, content: bytes, kind: str) -> None:
    (tmp_path / "f.parquet").write_bytes(content)
    with pytest.raises(CorruptFileError, match=f"not a Parquet file.*looks like {kind}") as caught:
        local.read_parquet(tmp_path / "f.parquet")
    assert repr(content[:8]) in str(caught.value)


def test_one_flipped_bit_of_our_own_output_is_found(local: Engine, tmp_path: Path) -> None:
    local.from_arrow(pa.table({"x": np.random.default_rng(0).random(500)})).write_parquet(tmp_path / "out")
    path = tmp_path / "out" / "part-00000.parquet"
    data = local.read_parquet(tmp_path / "out")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    stamp = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    with pytest.raises(CorruptFileError, match=r"sha256 is .* its manifest lists") as caught:
        data.to_arrow()
    assert caught.value.path == str(path)


def test_a_page_that_cannot_be_decoded_names_its_column(local: Engine, tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    table = pa.table({"good": range(500), "bad": np.random.default_rng(0).random(500), "fine": range(500)})
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(1)
    content = bytearray(path.read_bytes())
    start = chunk.data_page_offset
    content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(content)
    data = local.read_parquet(path)
    assert data.select("good", "fine").to_arrow().num_rows == 500
    with pytest.raises(CorruptFileError, match="column 'bad', rows 0 to 500, cannot be decoded") as caught:
        data.to_arrow()
    assert (caught.value.path, caught.value.column) == (str(path), "bad")


def test_a_page_at_which_polars_panics_names_its_column(
    local: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.mark.parametrize(
    "values",
    [
        pa.array([Decimal("1.1")], pa.decimal256(50, 2)),
        pa.array([[Decimal("1.1")]], pa.list_(pa.decimal256(30, 2))),
        pa.array([{"a": Decimal("1.1")}], pa.struct([("a", pa.decimal256(50, 2))])),
        pa.array([[1]], pa.list_view(pa.int64())),
    ],
    ids=lambda values: str(values.type),
)
def test_a_type_that_polars_has_no_like_of_is_refused_when_it_is_planned(
    local: Engine, tmp_path: Path, values: pa.Array
) -> None:
    table = pa.table({"x": [1], "odd": values})
    pattern = write(tmp_path, f=table)
    for plan, path in ((local.read_parquet, str(tmp_path / "f.parquet")), (local.from_arrow, "the table")):
        with pytest.raises(SchemaError, match=rf"column 'odd' is .*(decimal256|list_view).* in {path}") as caught:
            plan(pattern if plan == local.read_parquet else table)
        assert (caught.value.column, caught.value.path) == ("odd", path)


def test_a_column_that_cannot_be_read_can_be_left_out(local: Engine, tmp_path: Path) -> None:
    pattern = write(tmp_path, f=pa.table({"x": [1], "odd": pa.array([Decimal("1.1")], pa.decimal256(50, 2))}))
    with pytest.warns(UserWarning, match="left out: odd"):
        known = local.read_parquet(pattern, schema={"x": "int64"})
    assert known.to_arrow().to_pydict() == {"x": [1]}


@pytest.mark.parametrize("change", ["longer", "same size", "gone"])
def test_an_input_that_changes_while_it_is_read_is_told(local: Engine, tmp_path: Path, change: str) -> None:
    path = Path(write(tmp_path, f={"x": [1]}).replace("*", "f"))
    data = local.read_parquet(path)
    if change == "longer":
        pq.write_table(pa.table({"x": list(range(99))}), path)
    elif change == "same size":
        os.utime(path, (1, 1))
    else:
        path.unlink()
    with pytest.raises(
        IncompleteInputError, match="is gone" if change == "gone" else "changed while it was being read"
    ):
        data.to_arrow()


def test_an_input_of_a_store_that_changes_is_told(
    local: Engine, tmp_path: Path, store: fsspec.AbstractFileSystem
) -> None:
    path = Path(write(tmp_path, f={"x": [1]}).replace("*", "f"))
    store.pipe_file("/parquet/h.parquet", path.read_bytes())
    data = local.read_parquet("memory://parquet/h.parquet")
    pq.write_table(pa.table({"x": list(range(99))}), path)
    store.pipe_file("/parquet/h.parquet", path.read_bytes())
    with pytest.raises(IncompleteInputError, match="changed while it was being read"):
        data.to_arrow()


# B. Schemas


def test_a_type_that_differs_is_told_when_planned(local: Engine, tmp_path: Path) -> None:
    pattern = write(tmp_path, a={"x": [1]}, b={"x": [2]}, c={"x": ["3"]})
    with pytest.raises(SchemaDriftError, match=r"'x' is int64 in .*a\.parquet but string in .*c\.parquet") as caught:
        local.read_parquet(pattern)
    assert "int64 in 2 file(s), string in 1 file(s)" in caught.value.message


def test_a_column_that_is_missing_is_told(local: Engine, tmp_path: Path) -> None:
    pattern = write(tmp_path, a={"x": [1], "y": [1]}, b={"x": [2]})
    with pytest.raises(SchemaDriftError, match=r"column 'y' of .*a.parquet is not in .*b.parquet") as caught:
        local.read_parquet(pattern)
    assert 'missing_columns="null"' in str(caught.value.hint)


def test_a_column_that_is_missing_may_be_null(local: Engine, tmp_path: Path) -> None:
    pattern = write(tmp_path, a={"x": [1], "y": ["a"]}, b={"x": [2]})
    data = local.read_parquet(pattern, missing_columns="null")
    assert data.to_arrow().to_pydict() == {"x": [1, 2], "y": ["a", None]}
    assert data.select("y").to_arrow().to_pydict() == {"y": ["a", None]}


def test_a_file_with_no_column_of_the_schema_still_counts_its_rows(local: Engine, tmp_path: Path) -> None:
    pattern = write(tmp_path, a={"x": [1]}, b={"z": [1, 2, 3]})
    with pytest.warns(UserWarning, match="left out: z in"):
        data = local.read_parquet(pattern, missing_columns="null")
    assert data.to_arrow()["x"].to_pylist() == [1, None, None, None]


def test_an_extra_column_is_left_out_with_one_warning(local: Engine, tmp_path: Path) -> None:
    pattern = write(tmp_path, a={"x": [1]}, b={"x": [2], "z": [0]}, c={"z": [0], "x": [3]})
    with pytest.warns(UserWarning, match=r"z in .*b\.parquet, .*c\.parquet") as caught:
        data = local.read_parquet(pattern)
    assert len(caught) == 1
    assert data.to_arrow().to_pydict() == {"x": [1, 2, 3]}


def test_an_extra_column_may_be_an_error(local: Engine, tmp_path: Path) -> None:
    with pytest.raises(SchemaDriftError, match=r"'z' of .*b.parquet is not in .*a.parquet"):
        local.read_parquet(write(tmp_path, a={"x": [1]}, b={"x": [2], "z": [0]}), extra_columns="error")


def test_a_renamed_column_is_guessed(local: Engine, tmp_path: Path) -> None:
    with pytest.raises(SchemaDriftError, match="Did you mean 'userid'"):
        local.read_parquet(write(tmp_path, a={"UserId": [1]}, b={"userid": [2]}))


def test_columns_are_bound_by_name(local: Engine, tmp_path: Path) -> None:
    pattern = write(tmp_path, a={"x": [1], "y": [10]}, b={"y": [20], "x": [2]})
    assert local.read_parquet(pattern).to_arrow().to_pydict() == {"x": [1, 2], "y": [10, 20]}


def test_a_name_that_stands_twice_is_told_with_positions(local: Engine, tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["x", "y", "x"])
    with pytest.raises(SchemaDriftError, match="'x' stands twice, at positions 0 and 2"):
        local.read_parquet(write(tmp_path, a=table))


def test_a_table_with_a_name_twice_is_refused_too(local: Engine) -> None:
    with pytest.raises(SchemaDriftError, match="'x' stands twice"):
        local.from_arrow(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"]))


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_integers_are_widened_without_loss(local: Engine, tmp_path: Path, order: tuple[str, str]) -> None:
    large = 2**40
    tables = {"narrow": pa.table({"x": pa.array([1], pa.int32())}), "wide": pa.table({"x": [large]})}
    data = local.read_parquet(write(tmp_path, **dict(zip(order, tables.values(), strict=True))))
    assert data.schema.field("x").type == pa.int64()
    assert sorted(data.to_arrow()["x"].to_pylist()) == [1, large]


def test_a_whole_number_never_becomes_a_float(local: Engine, tmp_path: Path) -> None:
    with pytest.raises(SchemaDriftError, match=r"int64 in .* but double in"):
        local.read_parquet(write(tmp_path, a={"x": [1]}, b={"x": [3.5]}))


@pytest.mark.parametrize("first", ["null", "string"])
def test_a_column_of_nulls_takes_the_type_of_the_others(local: Engine, tmp_path: Path, first: str) -> None:
    tables = [pa.table({"x": pa.nulls(2)}), pa.table({"x": ["a", "b"]})]
    a, b = tables if first == "null" else reversed(tables)
    data = local.read_parquet(write(tmp_path, a=a, b=b))
    assert data.schema.field("x").type == pa.string()
    assert sorted(data.to_arrow()["x"].to_pylist(), key=str) == [None, None, "a", "b"]


@pytest.mark.parametrize(
    ("left", "right"),
    [(pa.timestamp("ms"), pa.timestamp("us")), (pa.timestamp("us"), pa.timestamp("us", "UTC"))],
    ids=["units", "zones"],
)
def test_timestamps_of_two_kinds_are_told(local: Engine, tmp_path: Path, left: pa.DataType, right: pa.DataType) -> None:
    moment = dt.datetime(2024, 1, 1)
    tables = {name: pa.table({"t": pa.array([moment], kind)}) for name, kind in (("a", left), ("b", right))}
    with pytest.raises(SchemaDriftError, match=r"column 't' is timestamp\[.*\] in .* but timestamp\["):
        local.read_parquet(write(tmp_path, **tables))


@pytest.mark.parametrize(
    "kind",
    [
        pa.timestamp("ms"),
        pa.timestamp("us", "UTC"),
        pa.timestamp("ns"),
        pa.date32(),
        pytest.param(pa.time64("us"), marks=pytest.mark.cpu("cuDF has no times of day")),
    ],
    ids=str,
)
def test_times_come_back_as_they_are(local: Engine, tmp_path: Path, kind: pa.DataType) -> None:
    table = pa.table(
        {
            "t": pa.array([0, 86_400_000, None], pa.int64())
            .cast(pa.int32() if kind == pa.date32() else pa.int64())
            .cast(kind)
        }
    )
    assert local.read_parquet(write(tmp_path, a=table)).to_arrow().equals(table)


def test_a_zone_that_pyarrow_noted_is_read_as_the_same_instants(local: Engine, tmp_path: Path) -> None:
    moments = pa.array([1_700_000_000_000_000], pa.timestamp("us", "Europe/Paris"))
    found = local.read_parquet(write(tmp_path, a={"t": moments})).to_arrow()["t"]
    assert found.cast(pa.int64()).to_pylist() == moments.cast(pa.int64()).to_pylist()


@pytest.mark.parametrize(
    "kind", [pa.dictionary(pa.int32(), pa.string()), pa.large_string(), pa.list_(pa.float32(), 2)], ids=str
)
def test_types_that_pyarrow_noted_are_read_in_one_spelling(local: Engine, tmp_path: Path, kind: pa.DataType) -> None:
    values = [[1.0, 2.0], None] if pa.types.is_fixed_size_list(kind) else ["a", None]
    data = local.read_parquet(write(tmp_path, a={"c": pa.array(values, kind)}))
    assert data.to_arrow().schema == data.schema
    assert data.to_arrow()["c"].to_pylist() == values


# A declared schema


def test_a_declared_schema_leads(local: Engine, tmp_path: Path) -> None:
    pattern = write(tmp_path, a={"y": ["b"], "x": pa.array([1], pa.int8()), "z": [0]})
    with pytest.warns(UserWarning, match="columns that the declared schema lacks are left out: z in"):
        data = local.read_parquet(pattern, schema={"x": "int64", "y": "string"})
    assert data.to_arrow().equals(pa.table({"x": [1], "y": ["b"]}))


def test_a_column_of_nulls_is_accepted_as_the_declared_type(local: Engine, tmp_path: Path) -> None:
    data = local.read_parquet(write(tmp_path, a={"x": pa.nulls(2)}), schema={"x": "date"})
    assert data.to_arrow().schema == pa.schema({"x": pa.date32()})


@pytest.mark.parametrize(
    ("declared", "found"),
    [
        ("int32", pa.int64()),
        ("float32", pa.float64()),
        ("int64", pa.string()),
        ("int64", pa.float64()),
        ("float64", pa.int64()),
    ],
)
def test_a_declared_type_that_may_not_hold_the_values_is_refused(
    local: Engine, tmp_path: Path, declared: str, found: pa.DataType
) -> None:
    pattern = write(tmp_path, a={"x": pa.nulls(1, found)})
    with pytest.raises(SchemaDriftError, match="column 'x' is") as caught:
        local.read_parquet(pattern, schema={"x": declared})
    assert str(found) in caught.value.message
    assert str(tmp_path / "a.parquet") in caught.value.message


def test_a_declared_column_that_a_file_lacks_is_told(local: Engine, tmp_path: Path) -> None:
    with pytest.raises(SchemaDriftError, match="column 'y' of the declared schema is not in"):
        local.read_parquet(write(tmp_path, a={"x": [1]}), schema={"x": "int64", "y": "string"})


# Hive


@pytest.fixture
def partitioned(tmp_path: Path) -> Path:
    for year, day, value in (("2024", "01", 1), ("2024", "02", 2), ("__HIVE_DEFAULT_PARTITION__", "03", 3)):
        folder = tmp_path / f"year={year}" / f"day={day}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"x": [value]}), folder / "part.parquet")
    (tmp_path / "_SUCCESS").touch()
    return tmp_path


def test_folders_become_columns(local: Engine, partitioned: Path) -> None:
    data = local.read_parquet(partitioned)
    assert data.schema == pa.schema({"x": pa.int64(), "year": pa.int64(), "day": pa.string()})
    assert data.to_arrow().to_pydict() == {"x": [1, 2, 3], "year": [2024, 2024, None], "day": ["01", "02", "03"]}


def test_a_folder_can_be_read_alone(local: Engine, partitioned: Path) -> None:
    data = local.read_parquet(partitioned).filter(nw.col("year") == 2024).select("day")
    assert data.to_arrow().to_pydict() == {"day": ["01", "02"]}


def test_the_type_of_a_folder_can_be_declared(local: Engine, partitioned: Path) -> None:
    data = local.read_parquet(partitioned, schema={"day": "int8", "x": "int64", "year": "string"})
    assert data.to_arrow().schema == pa.schema({"day": pa.int8(), "x": pa.int64(), "year": pa.string()})
    assert data.to_arrow()["day"].to_pylist() == [1, 2, 3]


def test_a_folder_that_is_not_of_the_declared_type_is_told(local: Engine, partitioned: Path) -> None:
    (partitioned / "year=2024" / "day=last").mkdir()
    pq.write_table(pa.table({"x": [4]}), partitioned / "year=2024" / "day=last" / "part.parquet")
    with pytest.raises(SchemaDriftError, match="column 'day' is 'last' in the folder name, expected int8"):
        local.read_parquet(partitioned, schema={"day": "int8", "x": "int64", "year": "int64"})


# Scoring


def test_features_that_are_missing_when_scoring_are_all_named(local: Engine) -> None:
    table = pa.table({name: [1.0, 2.0] for name in ("f1", "f2", "f3")})
    model = Pipeline(st.StandardScaler(["f1", "f2", "f3"])).fit(local.from_arrow(table))
    with pytest.raises(SchemaDriftError, match=r"lacks 2 column\(s\).*: f1, f3\..*Did you mean 'F1'"):
        model.transform(local.from_arrow(pa.table({"f2": [1.0], "F1": [1.0]})))


def test_features_in_another_order_are_bound_by_name(local: Engine) -> None:
    table = pa.table({"f1": [1.0, 3.0], "f2": [10.0, 30.0]})
    model = Pipeline(st.StandardScaler(["f1", "f2"], with_std=False)).fit(local.from_arrow(table))
    scored = model.transform(local.from_arrow(table.select(["f2", "f1"]))).to_arrow()
    assert scored.to_pydict() == {"f2": [-10.0, 10.0], "f1": [-1.0, 1.0]}


def test_a_feature_of_another_type_is_told_when_scoring(local: Engine) -> None:
    model = Pipeline(st.StandardScaler("x")).fit(local.from_arrow(pa.table({"x": [1.0, 2.0]})))
    with pytest.raises(SchemaDriftError, match="'x' is string, but the model was fitted on double"):
        model.transform(local.from_arrow(pa.table({"x": ["1.0"]})))


def test_a_hash_is_computed_once_for_each_version_of_a_file(
    local: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.from_arrow(pa.table({"x": range(100)})).write_parquet(tmp_path / "out")
    data = local.read_parquet(tmp_path / "out")
    opened: list[str] = []
    plain = Storage.open
    monkeypatch.setattr(Storage, "open", lambda self, path: (opened.append(path), plain(self, path))[1])
    for _ in range(3):
        data.to_arrow()
    assert len(opened) == 1
    assert opened[0] in {path for path, *_ in columnar._digests}
