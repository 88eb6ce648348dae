"""Iceberg tables: the rows that pyiceberg's own reader gives, planned from the manifests."""

from __future__ import annotations

import datetime as dt
import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from table_rows import UTC, assert_same_rows, rows_of_all_types

from penstock.errors import ConfigError, CorruptFileError, InputError, MissingInputError

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.table import Table

pytestmark = pytest.mark.thorough


def create(catalog: SqlCatalog, rows: pa.Table, *keys: str, **properties: str) -> Table:
    from pyiceberg.transforms import IdentityTransform

    table = catalog.create_table("ns.t", rows.schema, properties=properties)
    with table.update_spec() as spec:
        for key in keys:
            spec.add_field(key, IdentityTransform(), f"by_{key}")
    table.append(rows)
    return table


@pytest.mark.parametrize("keys", [[], ["city"], ["day", "city", "price", "ok", "at", "local", "small"]])
def test_rows_of_every_type_are_those_of_pyiceberg_however_they_are_partitioned(catalog, local, keys):
    table = create(catalog, rows_of_all_types(20), *keys)
    table.append(rows_of_all_types(20, first=20))
    table.delete("id >= 10 and id < 15")
    data = local.read_iceberg(table)
    assert data.schema == rows_of_all_types(0).schema
    assert_same_rows(data.to_arrow(), table.scan().to_arrow())
    assert data.select("city").to_arrow().num_rows == data.count() == 35


def test_a_table_is_read_by_the_general_door_and_filtered(catalog, local):
    table = create(catalog, rows_of_all_types(60), "city")
    delete(table, [0, 3, 4])
    data = local.read("iceberg", "ns.t", catalog=catalog, fragment_bytes=2000)
    assert len(data.fragments) > 2
    assert_same_rows(data.to_arrow(), table.scan().to_arrow())
    assert data.filter(nw.col("city") == "x y").count() == table.scan("city = 'x y'").to_arrow().num_rows


def test_a_table_is_known_by_its_catalog_and_by_its_metadata(catalog, local, tmp_path):
    table = create(catalog, rows_of_all_types(5))
    folder = tmp_path / "warehouse" / "ns" / "t"
    metadata = table.metadata_location.removeprefix("file://")
    (folder / "metadata" / "version-hint.text").write_text(Path(metadata).name)
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "name": "test"}
    for named in (table, metadata, table.metadata_location, folder):
        assert local.read_iceberg(named).count() == 5
    assert local.read_iceberg("ns.t", catalog=properties).count() == 5


def test_what_is_no_table_is_refused(catalog, local, tmp_path):
    create(catalog, rows_of_all_types(5))
    with pytest.raises(MissingInputError, match=r"no Iceberg table is called ns\.other"):
        local.read_iceberg("ns.other", catalog=catalog)
    with pytest.raises(MissingInputError, match="no Iceberg table lies in") as caught:
        local.read_iceberg(tmp_path / "warehouse" / "ns" / "t")
    assert "a catalog alone knows the newest" in str(caught.value.hint)
    with pytest.raises(ConfigError, match="catalog is int"):
        local.read_iceberg("ns.t", catalog=3)
    with pytest.raises(InputError, match="is a table of Iceberg") as refused:
        local.read_parquet(tmp_path / "warehouse" / "ns" / "t")
    assert "engine.read_iceberg" in str(refused.value.hint)


def test_a_table_that_has_no_snapshot_yet_has_its_columns_and_no_row(catalog, local):
    table = catalog.create_table("ns.t", rows_of_all_types(0).schema)
    assert local.read_iceberg(table).to_arrow() == rows_of_all_types(0)


# Snapshots


def test_a_snapshot_and_a_time_are_read_as_the_table_was_then(catalog, local):
    from pyiceberg.types import DoubleType

    table = create(catalog, rows_of_all_types(10))
    with table.update_schema() as schema:
        schema.rename_column("small", "little")
        schema.add_column("later", DoubleType())
    table.append(rows_of_all_types(10, first=10).rename_columns({"small": "little"}))
    for snapshot in table.snapshots():
        data = local.read_iceberg(table, snapshot_id=snapshot.snapshot_id)
        assert_same_rows(data.to_arrow(), table.scan(snapshot_id=snapshot.snapshot_id).to_arrow())
    first = table.snapshots()[0]
    moment = dt.datetime.fromtimestamp(first.timestamp_ms / 1000, UTC)
    for timestamp in (moment, moment.isoformat(), moment.replace(tzinfo=None)):
        assert local.read_iceberg(table, timestamp=timestamp).columns == rows_of_all_types(0).column_names
    assert local.read_iceberg(table).columns == table.scan().to_arrow().column_names


def test_a_snapshot_or_a_time_that_the_table_never_had_is_refused(catalog, local):
    table = create(catalog, rows_of_all_types(10))
    with pytest.raises(MissingInputError, match="has no snapshot 5") as caught:
        local.read_iceberg(table, snapshot_id=5)
    assert str(table.snapshots()[0].snapshot_id) in str(caught.value.hint)
    with pytest.raises(MissingInputError, match="had no snapshot at 2001-01-01"):
        local.read_iceberg(table, timestamp="2001-01-01")
    with pytest.raises(ConfigError, match="both given"):
        local.read_iceberg(table, timestamp="2001-01-01", snapshot_id=5)


# Deleted rows


def delete(table: Table, rows: list[int], content: str = "POSITION_DELETES") -> None:
    """Commit a file of deletes for the first file of a table, as Spark's merge-on-read writes it."""
    task = min(table.scan().plan_files(), key=lambda task: task.file.file_path)
    path = f"{table.location()}/data/deletes-{len(table.snapshots())}.parquet"
    deletes = pa.table({"file_path": pa.array([task.file.file_path] * len(rows)), "pos": pa.array(rows, pa.int64())})
    pq.write_table(deletes, path.removeprefix("file://"))
    _append(table, path, "PARQUET", content, task.file, len(rows))


def delete_by_vector(table: Table, rows: list[int]) -> None:
    """Commit a Puffin file with a deletion vector of the only file of a table."""
    from pyroaring import BitMap64

    (task,) = table.scan().plan_files()
    vector = struct.pack("<I", 1681511377)[::-1] + bytes(BitMap64(rows).serialize())
    blob = struct.pack(">I", len(vector)) + vector + b"\0\0\0\0"
    said = {"type": "deletion-vector-v1", "fields": [], "snapshot-id": -1, "sequence-number": -1}
    said |= {"offset": 4, "length": len(blob), "properties": {"referenced-data-file": task.file.file_path}}
    footer = json.dumps({"blobs": [said], "properties": {}}).encode()
    path = f"{table.location()}/data/vector.puffin"
    content = b"PFA1" + blob + b"PFA1" + footer + struct.pack("<I", len(footer)) + b"\0\0\0\0PFA1"
    Path(path.removeprefix("file://")).write_bytes(content)
    _append(table, path, "PUFFIN", "POSITION_DELETES", task.file, len(rows))


def _append(table: Table, path: str, form: str, content: str, data: Any, rows: int) -> None:
    added = data_file(path, form, content, data.partition, rows, equality_ids=[1] if "EQUALITY" in content else None)
    added.spec_id = data.spec_id
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        append.append_data_file(added)


def data_file(path: str, form: str, content: str, partition: Any, rows: int, **more: Any) -> Any:
    """Return the manifest's entry of a file."""
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.typedef import Record

    return DataFile.from_args(
        content=DataFileContent[content],
        file_path=path,
        file_format=FileFormat[form],
        partition=partition or Record(),
        record_count=rows,
        file_size_in_bytes=Path(path.removeprefix("file://")).stat().st_size,
        **more,
    )


@pytest.mark.parametrize("delete_rows", [delete, delete_by_vector])
def test_deleted_rows_are_not_read_wherever_pieces_are_cut(catalog, local, delete_rows):
    table = create(catalog, rows_of_all_types(50))
    delete_rows(table, [0, 1, 7, 20, 49])
    expected = table.scan().to_arrow()
    assert expected.num_rows == 45
    for fragment_bytes in (100, 2000, 10**9):
        data = local.read_iceberg(table, fragment_bytes=fragment_bytes)
        assert data.count() == 45
        assert_same_rows(data.to_arrow(), expected)


def test_deletes_of_several_files_add_up_and_hold_for_their_own_data_file_alone(catalog, local):
    table = create(catalog, rows_of_all_types(20))
    table.append(rows_of_all_types(20, first=20))
    delete(table, [1, 2])
    delete(table, [2, 3])
    assert table.scan().to_arrow().num_rows == 37
    assert_same_rows(local.read_iceberg(table).to_arrow(), table.scan().to_arrow())


def test_a_table_with_equality_deletes_is_refused_before_a_row_is_read(catalog, local, opened):
    table = create(catalog, rows_of_all_types(20))
    delete(table, [1], "EQUALITY_DELETES")
    with pytest.raises(InputError, match=f"the table in .*{table.location()[8:]} has equality delete files"):
        local.read_iceberg(table)
    assert opened == []


# Schemas


def test_columns_and_fields_are_known_by_their_ids_when_they_are_renamed_added_moved_and_widened(catalog, local):
    from pyiceberg.types import DoubleType, LongType, NestedField, StringType, StructType

    pair = pa.struct({"x": pa.int64(), "y": pa.int64()})
    rows = pa.table(
        {
            "id": pa.array([1, 2, 3], pa.int32()),
            "a": pa.array([1.5, None, 2.5], pa.float32()),
            "b": ["x", None, "z"],
            "p": pa.array([{"x": 1, "y": "u"}, None, {"x": None, "y": "v"}]),
            "q": pa.array([[{"x": 1, "y": 2}, None], None, []], pa.list_(pair)),
        }
    )
    table = create(catalog, rows)
    with table.update_schema() as schema:
        schema.update_column("id", LongType())
        schema.update_column("a", DoubleType())
    with table.update_schema() as schema:  # the name of one column becomes that of another
        schema.rename_column("b", "old")
        schema.rename_column("p.x", "left")
        schema.rename_column("q.x", "first")
    with table.update_schema() as schema:
        schema.add_column(("p", "x"), StringType())
        schema.add_column("b", StructType(NestedField(100, "n", LongType(), required=False)))
        schema.move_first("b")
        schema.move_first("q.element.y")
    expected = table.scan().to_arrow()
    for fragment_bytes in (100, 10**9):
        ours = local.read_iceberg(table, fragment_bytes=fragment_bytes).to_arrow()
        assert ours.column_names == ["b", "id", "a", "old", "p", "q"]
        assert ours.to_pylist() == expected.to_pylist()
        assert ours["q"].to_pylist() == [[{"y": 2, "first": 1}, None], [], []]  # pyiceberg writes no null list


def test_files_that_were_added_without_field_ids_are_read_by_the_name_mapping(catalog, local, tmp_path):
    rows = pa.table({"id": [1, 2], "b": ["x", None]})
    table = create(catalog, rows)
    pq.write_table(rows.select(["b", "id"]), tmp_path / "added.parquet")
    table.add_files([f"file://{tmp_path}/added.parquet"])
    with table.update_schema() as schema:
        schema.rename_column("b", "c")
    assert_same_rows(local.read_iceberg(table).to_arrow(), table.scan().to_arrow())
    assert sorted(local.read_iceberg(table).to_arrow()["id"].to_pylist()) == [1, 1, 2, 2]
    with table.transaction() as transaction:
        transaction.remove_properties("schema.name-mapping.default")
    with pytest.raises(CorruptFileError, match="columns have no field ids, and the table has no name mapping"):
        local.read_iceberg(table).to_arrow()


def test_a_partition_that_is_no_column_as_it_is_leaves_the_column_to_the_file(catalog, local, tmp_path):
    from pyiceberg.transforms import BucketTransform
    from pyiceberg.typedef import Record

    table = catalog.create_table("ns.t", pa.schema({"id": pa.int64(), "k": pa.string()}))
    with table.update_spec() as spec:
        spec.add_field("id", BucketTransform(4), "bucket")
    rows = pa.table({"id": [1, 2], "k": ["a", "b"]})
    path = tmp_path / "warehouse" / "ns" / "t" / "data.parquet"
    pq.write_table(rows, path)
    mapping = '[{"field-id": 1, "names": ["id"]}, {"field-id": 2, "names": ["k"]}]'
    with table.transaction() as transaction:
        transaction.set_properties({"schema.name-mapping.default": mapping})
        file = data_file(f"file://{path}", "PARQUET", "DATA", Record(3), 2)
        file.spec_id = table.spec().spec_id
        with transaction.update_snapshot().fast_append() as append:
            append.append_data_file(file)
    assert local.read_iceberg(table).to_arrow() == rows


@pytest.mark.parametrize("timestamp", ["garbage", 5, dt.date(2020, 1, 1)])
def test_what_is_no_time_is_refused(local, catalog, timestamp):
    table = catalog.create_table("ns.t", pa.schema([("x", pa.int64())]))
    with pytest.raises(ConfigError, match="expected a datetime or a text"):
        local.read_iceberg(table, timestamp=timestamp)
