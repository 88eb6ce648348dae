"""Delta tables: the rows that deltalake's own readers give, planned from the log."""

import datetime as dt
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from table_rows import (
    UTC,
    added,
    assert_same_rows,
    commit,
    delete_rows,
    deletion_vector,
    delta_table,
    rows_of_all_types,
    write_delta,
)

import penstock as ps
from penstock.dataset.folds.dealing import random_folds
from penstock.errors import (
    ConfigError,
    CorruptFileError,
    IncompleteInputError,
    InputError,
    MissingInputError,
    SchemaError,
)
from penstock.search.fingerprints import fingerprint
from penstock.spmd.checkpoints import fingerprint as training_fingerprint

METADATA = {"id": "m", "format": {"provider": "parquet", "options": {}}, "partitionColumns": [], "configuration": {}}


def one_column(kind: str) -> dict[str, Any]:
    field = {"name": "x", "type": kind, "nullable": True, "metadata": {}}
    return {**METADATA, "schemaString": json.dumps({"type": "struct", "fields": [field]})}


def theirs(path: Path, **version: Any) -> pa.Table:
    return pa.table(delta_table(path, **version).scan().read_all())


@pytest.mark.thorough
@pytest.mark.parametrize("keys", [[], ["city"], ["day", "city", "price", "ok", "at", "small"]])
def test_rows_of_every_type_are_those_of_deltalake_however_they_are_partitioned(tmp_path, local, keys):
    table = tmp_path / "with space é"
    for first in (0, 20):
        write_delta(table, rows_of_all_types(20, first), partition_by=keys or None, mode="append")
    data = local.read_delta(table)
    assert data.schema == rows_of_all_types(0).schema
    assert_same_rows(data.to_arrow(), delta_table(table).to_pyarrow_table())
    assert data.select("city").to_arrow().num_rows == data.count() == 40


def test_nan_is_null_as_in_any_format(tmp_path, local):
    table = pa.table({"x": [1.5, float("nan"), None], "k": [float("nan"), 2.0, 2.0]})
    write_delta(tmp_path, table, partition_by="k")
    rows = sorted(local.read_delta(tmp_path).to_arrow().to_pylist(), key=str)
    assert rows == [{"x": 1.5, "k": None}, {"x": None, "k": 2.0}, {"x": None, "k": 2.0}]


# Planning


def test_the_footers_of_files_without_a_row_count_are_read_and_no_others(tmp_path, local, opened):
    write_delta(tmp_path, pa.table({"x": [1, 2, 3], "k": [1, 1, 2]}), partition_by=["k"])
    log = tmp_path / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    first = next(action["add"] for action in actions if "add" in action)
    del first["stats"]
    log.write_text("\n".join(map(json.dumps, actions)))
    data = local.read_delta(tmp_path)
    assert [os.path.basename(path) for path in opened] == [os.path.basename(first["path"])]
    assert sorted(data.to_arrow()["x"].to_pylist()) == [1, 2, 3]


def test_files_come_in_the_order_in_which_they_were_added(tmp_path, local):
    commit(tmp_path, 0, {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": one_column("long")})
    for version, name in enumerate("cab", 1):
        pq.write_table(pa.table({"x": [version]}), tmp_path / name)
        commit(tmp_path, version, {"add": _add(tmp_path / name, version)})
    assert local.read_delta(tmp_path).to_arrow()["x"].to_pylist() == [1, 2, 3]


def _add(file: Path, time: int = 1, rows: int | None = None, **more: Any) -> dict[str, Any]:
    stats = json.dumps({"numRecords": pq.read_metadata(file).num_rows if rows is None else rows})
    size = file.stat().st_size
    add = {"path": file.name, "size": size, "modificationTime": time, "dataChange": True, "stats": stats}
    return {**add, "partitionValues": {}, **more}


def test_an_empty_table_has_its_columns_and_no_row(tmp_path, local):
    import deltalake

    deltalake.DeltaTable.create(tmp_path, rows_of_all_types(0).schema)
    assert local.read_delta(tmp_path).to_arrow() == rows_of_all_types(0)


# Versions


@pytest.mark.thorough
def test_a_version_and_a_time_are_read_as_the_table_was_then(tmp_path, local):
    for first in (0, 10, 20):
        write_delta(tmp_path, rows_of_all_types(10, first), mode="append")
    delta_table(tmp_path).delete("id >= 5 and id < 15")
    for version, rows in enumerate((10, 20, 30, 20)):
        assert_same_rows(local.read_delta(tmp_path, version=version).to_arrow(), theirs(tmp_path, version=version))
        assert local.read_delta(tmp_path, version=version).count() == rows
    for version in range(4):  # the time of a version is that of its file
        stamp = 1_800_000_000 + 100 * version
        os.utime(tmp_path / "_delta_log" / f"{version:020}.json", (stamp, stamp))
    moment = dt.datetime.fromtimestamp(1_800_000_150, UTC)
    for timestamp in (moment, moment.replace(tzinfo=None), moment.isoformat()):
        assert local.read_delta(tmp_path, timestamp=timestamp).count() == 20


def test_a_version_or_a_time_that_the_table_never_had_is_refused(tmp_path, local):
    write_delta(tmp_path, rows_of_all_types(3))
    with pytest.raises(MissingInputError, match="version 7 of the table in"):
        local.read_delta(tmp_path, version=7)
    with pytest.raises(MissingInputError, match="had no version at 2020-01-01T00:00:00"):
        local.read_delta(tmp_path, timestamp="2020-01-01")
    with pytest.raises(ConfigError, match="version and timestamp are both given"):
        local.read_delta(tmp_path, version=0, timestamp="2020-01-01")
    with pytest.raises(ConfigError, match="timestamp is 3, expected a datetime"):
        local.read_delta(tmp_path, timestamp=3)  # type: ignore[arg-type]


def test_a_folder_without_a_log_and_a_broken_log_are_refused(tmp_path, local):
    with pytest.raises(MissingInputError, match="no Delta table lies in"):
        local.read_delta(tmp_path / "none")
    commit(tmp_path, 0, {"protocol": {"minReaderVersion": 1}})
    with pytest.raises(InputError, match=r"log of the table in .* cannot be read"):
        local.read_delta(tmp_path)


# Deleted rows


@pytest.mark.thorough
@pytest.mark.parametrize("inline", [True, False])
def test_rows_of_deletion_vectors_are_not_read_wherever_pieces_are_cut(tmp_path, local, inline):
    table = tmp_path / "t é"
    configuration = {"delta.enableDeletionVectors": "true"}
    write_delta(table, rows_of_all_types(120), partition_by=["city"], configuration=configuration)
    vectors = {"x%2520y": [0, 1, 2, 19], "__HIVE_DEFAULT_PARTITION__": [*range(20)]}
    vectors["S%25C3%25A3o%2520Paulo"] = [*range(5, 15)]

    def deleted(add: dict[str, Any]) -> dict[str, Any] | None:
        rows = vectors.get(add["path"].split("/")[0].removeprefix("city="))
        return None if rows is None else deletion_vector(table, rows, inline=inline)

    delete_rows(table, 1, deleted)
    expected = theirs(table)
    assert expected.num_rows == 120 - 4 - 10 - 20
    for fragment_bytes in (500, 3000, 10**9):
        data = local.read_delta(table, fragment_bytes=fragment_bytes)
        assert data.count() == expected.num_rows
        assert_same_rows(data.to_arrow(), expected)
    assert_same_rows(local.read_delta(table, version=0).to_arrow(), rows_of_all_types(120))


def test_a_split_of_rows_with_deletion_vectors_has_each_row_once(tmp_path, local):
    write_delta(tmp_path, pa.table({"x": range(100)}), configuration={"delta.enableDeletionVectors": "true"})
    delete_rows(tmp_path, 1, lambda add: deletion_vector(tmp_path, [*range(0, 100, 3)], inline=True))
    parts = local.read_delta(tmp_path, fragment_bytes=100).split([1, 1], seed=1)
    rows = [row for part in parts for row in part.to_arrow()["x"].to_pylist()]
    assert sorted(rows) == [row for row in range(100) if row % 3]


def test_versions_that_differ_in_their_deletion_vectors_alone_are_other_data_to_searches_and_checkpoints(
    tmp_path, local
):
    whole, table = tmp_path / "whole", tmp_path / "table"
    write_delta(whole, pa.table({"x": range(100)}), configuration={"delta.enableDeletionVectors": "true"})

    def without(*rows: int) -> ps.Dataset:
        shutil.rmtree(table, ignore_errors=True)
        shutil.copytree(whole, table)
        delete_rows(table, 1, lambda add: deletion_vector(table, [*rows], inline=True))
        return local.read_delta(table)

    versions = [without(1, 2), without(1, 2), without(3, 4)]
    assert {data.count() for data in versions} == {98}

    def of_search(data: ps.Dataset) -> str:
        pipeline, evaluators = ps.Pipeline(ps.stages.Log1p("x")), [ps.stages.RegressionEvaluator(label="x")]
        return fingerprint(pipeline, random_folds(data, 2, seed=1), evaluators, "rmse")["data"]

    for tell in (of_search, lambda data: training_fingerprint(len, {"train": data}, 1)):
        told = [tell(data) for data in versions]
        assert told[0] == told[1] != told[2]


# Schemas


def test_columns_added_later_are_null_in_earlier_files(tmp_path, local):
    write_delta(tmp_path, pa.table({"id": [1, 2]}))
    later = pa.table({"id": [3], "s": pa.array([{"a": 1, "b": "q"}]), "t": ["x"]})
    write_delta(tmp_path, later, mode="append", schema_mode="merge")
    assert_same_rows(local.read_delta(tmp_path).to_arrow(), theirs(tmp_path))
    assert local.read_delta(tmp_path).select("t").to_arrow()["t"].to_pylist().count(None) == 2


def mapped(name: str, kind: Any, number: int) -> dict[str, Any]:
    metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"c-{number}"}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def fields_of(number: int) -> dict[str, Any]:
    names = [("right", "long", 1), ("left", "long", 0), ("new", "string", 2)]
    return {"type": "struct", "fields": [mapped(name, kind, number + place) for name, kind, place in names]}


def point(number: int) -> pa.DataType:
    return pa.struct([(f"c-{number}", pa.int64()), (f"c-{number + 1}", pa.int64())])


def stored_as(each: dict[str, Any] | None, number: int) -> dict[str, Any] | None:
    return each and {f"c-{number}": each["left"], f"c-{number + 1}": each["right"]}


def test_renamed_columns_and_renamed_fields_inside_them_are_read_by_the_column_mapping(tmp_path, local):
    listed = {"type": "array", "elementType": fields_of(20), "containsNull": True}
    columns = [("k", "string"), ("id", "long"), ("p", fields_of(10)), ("q", listed), ("gone", "double")]
    fields = [mapped(name, kind, number) for number, (name, kind) in enumerate(columns, 1)]
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "22"}
    meta = {**METADATA, "schemaString": json.dumps({"type": "struct", "fields": fields}), "partitionColumns": ["k"]}
    points: list[Any] = [{"left": 1, "right": 10}, None, {"left": None, "right": 30}]
    lists: list[Any] = [points[:2], None, []]
    stored = [pa.array([stored_as(each, 10) for each in points], point(10))]
    stored += [pa.array([each and [stored_as(one, 20) for one in each] for each in lists], pa.list_(point(20)))]
    pq.write_table(pa.table({"c-2": [1, 2, 3], "c-3": stored[0], "c-4": stored[1]}), tmp_path / "a.parquet")
    protocol = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
    add = _add(tmp_path / "a.parquet", partitionValues={"c-1": "b"})
    commit(tmp_path, 0, protocol, {"metaData": {**meta, "configuration": configuration}}, {"add": add})

    def named(each: dict[str, Any] | None) -> dict[str, Any] | None:
        return None if each is None else {"right": each["right"], "left": each["left"], "new": None}

    expected = [
        {"k": "b", "id": row + 1, "p": named(points[row]), "q": each and [*map(named, each)], "gone": None}
        for row, each in enumerate(lists)
    ]
    for fragment_bytes in (100, 10**9):
        assert local.read_delta(tmp_path, fragment_bytes=fragment_bytes).to_arrow().to_pylist() == expected
    assert theirs(tmp_path).to_pylist() == expected


def test_times_that_spark_stores_as_int96_are_read_to_the_year_9999(tmp_path, local):
    times = [dt.datetime(9999, 12, 31, 23, 59, 59, 1, UTC), None, dt.datetime(1, 1, 1, tzinfo=UTC)]
    write_delta(tmp_path, pa.table({"at": pa.array(times[1:2], pa.timestamp("us", "UTC"))}))
    naive = pa.array([time and time.replace(tzinfo=None) for time in times], pa.timestamp("us"))
    pq.write_table(pa.table({"at": naive}), tmp_path / "s.parquet", use_deprecated_int96_timestamps=True)
    commit(tmp_path, 1, {"add": _add(tmp_path / "s.parquet", 2**41)})
    data = local.read_delta(tmp_path)
    assert data.schema.field("at").type == pa.timestamp("us", "UTC")
    assert data.to_arrow()["at"].to_pylist() == [None, *times]


@pytest.mark.parametrize(
    ("kind", "features", "error", "message"),
    [
        ("variant", ["variantType"], SchemaError, "column 'x' of the table in .* is a variant"),
        ("long", ["shortCutsOfTomorrow"], InputError, "shortCutsOfTomorrow"),
    ],
)
def test_what_only_newer_readers_know_is_refused_by_name_before_a_row_is_read(
    tmp_path, local, kind, features, error, message
):
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    commit(tmp_path, 0, {"protocol": protocol}, {"metaData": one_column(kind)})
    with pytest.raises(error, match=message):
        local.read_delta(tmp_path)


# Files that are not what the log says


def test_a_file_of_another_size_or_with_other_rows_than_the_log_says_is_refused(tmp_path, local):
    write_delta(tmp_path / "t", rows_of_all_types(10))
    data = local.read_delta(tmp_path / "t")
    file = tmp_path / "t" / added(tmp_path / "t")[0]["path"]
    content = file.read_bytes()
    file.write_bytes(content + b"x")
    with pytest.raises(IncompleteInputError, match=f"has {len(content) + 1} bytes, and {len(content)} in the log"):
        data.to_arrow()
    file.write_bytes(content)
    (tmp_path / "t" / "copy.parquet").write_bytes(content)
    commit(tmp_path / "t", 1, {"add": _add(tmp_path / "t" / "copy.parquet", rows=9)})
    with pytest.raises(CorruptFileError, match="has 10 rows, and 9 in the log"):
        local.read_delta(tmp_path / "t").to_arrow()


def test_a_copy_of_a_table_is_read_whatever_the_times_of_its_files(tmp_path, local):
    write_delta(tmp_path / "t", rows_of_all_types(10))
    shutil.copytree(tmp_path / "t", tmp_path / "u", copy_function=shutil.copyfile)
    assert_same_rows(local.read_delta(tmp_path / "u").to_arrow(), rows_of_all_types(10))


def test_a_directory_of_a_table_is_refused_by_other_readers_with_the_reader_that_knows_it(tmp_path, local):
    write_delta(tmp_path / "t", rows_of_all_types(3))
    with pytest.raises(InputError, match="is a table of Delta") as caught:
        local.read_parquet(tmp_path / "t")
    assert f"engine.read_delta('{tmp_path}/t')" in str(caught.value.hint)


@pytest.mark.parametrize("version", [-1, 2**63, 2**70, True, 1.0, "1"])
def test_a_version_that_is_no_number_of_a_log_is_refused(tmp_path, local, version):
    write_delta(tmp_path, rows_of_all_types(3))
    with pytest.raises(ConfigError, match="expected a number of the log"):
        local.read_delta(tmp_path, version=version)


def test_a_damaged_deletion_vector_is_named_with_its_table(tmp_path, local):
    write_delta(tmp_path, pa.table({"id": range(10)}))
    log = tmp_path / "_delta_log" / f"{0:020}.json"
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    vector = {"storageType": "i", "pathOrInlineDv": "wi5b=000010000siXQKl0rr", "sizeInBytes": 40, "cardinality": 1}
    for entry in entries:
        if "protocol" in entry:
            entry["protocol"] |= {"minReaderVersion": 3, "minWriterVersion": 7, **features}
        if "add" in entry:
            entry["add"]["deletionVector"] = vector
    log.write_text("\n".join(map(json.dumps, entries)))
    with pytest.raises(CorruptFileError, match=f"a deletion vector of the Delta table in {tmp_path}"):
        local.read_delta(tmp_path).to_arrow()
