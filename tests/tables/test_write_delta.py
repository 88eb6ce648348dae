"""Writing Delta tables; `test_write_tables` tests what Delta and Iceberg share."""

import datetime as dt
import os
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from table_rows import UTC, assert_same_rows, delete_rows, deletion_vector, delta_table, rows_of_all_types, write_delta

import penstock as ps
from penstock.dataset.writing import WriteResult
from penstock.errors import CommitConflictError, ConfigError, DataValueError, PenstockError
from tests.tables.output_table import OutputTable


def rows_of(table: Path) -> list[dict[str, Any]]:
    return sorted(pa.table(delta_table(table).scan().read_all()).to_pylist(), key=lambda row: str(row.get("id")))


def write(local: ps.LocalEngine, table: Path, rows: pa.Table, **options: Any) -> WriteResult:
    return local.from_arrow(rows, fragment_bytes=2000).write(table, format="delta", **options)


def parts_not_listed(table: Path) -> list[str]:
    """Return the parts of ours that are no rows; those of deltalake's own merges are numbered otherwise."""
    listed = {os.path.realpath(path) for path in delta_table(table).file_uris()}
    return [str(path) for path in table.rglob("part-20*.parquet") if os.path.realpath(path) not in listed]


@pytest.mark.thorough
def test_a_table_is_written_and_read_alike_on_every_engine(engine, tmp_path):
    rows = rows_of_all_types(60)
    engine.from_arrow(rows, fragment_bytes=2000).write(tmp_path / "t", format="delta", partition_by="city")
    configuration = {"delta.enableDeletionVectors": "true"}
    write_delta(tmp_path / "u", rows, partition_by=["city"], configuration=configuration)
    delete_rows(tmp_path / "u", 1, lambda add: deletion_vector(tmp_path / "u", [0], inline=True))
    data = engine.read("delta", tmp_path / "u", fragment_bytes=2000)
    assert len(data.fragments) > 2
    assert_same_rows(data.to_arrow(), pa.table(delta_table(tmp_path / "u").scan().read_all()))
    assert_same_rows(rows, delta_table(tmp_path / "t").to_pyarrow_table())
    assert data.filter(nw.col("city") == "x y").count() == 9


def test_types_that_delta_lacks_are_stored_wider_and_read_as_that(tmp_path, local):
    start = dt.datetime(2024, 5, 1, 12)
    rows = pa.table(
        {
            "a": pa.array([255], pa.uint8()),
            "b": pa.array([2**32 - 1], pa.uint32()),
            "c": pa.array([start], pa.timestamp("ms")),
            "d": pa.array([start.replace(tzinfo=UTC)], pa.timestamp("s", "Europe/Berlin")),
        }
    )
    write(local, tmp_path / "t", rows)
    kinds = [pa.int16(), pa.int64(), pa.timestamp("us"), pa.timestamp("us", "UTC")]
    assert local.read_delta(tmp_path / "t").schema.types == kinds
    expected = [{"a": 255, "b": 2**32 - 1, "c": start, "d": start.replace(tzinfo=UTC)}]
    assert rows_of(tmp_path / "t") == expected == local.read_delta(tmp_path / "t").to_arrow().to_pylist()


# Modes


@pytest.mark.thorough
def test_a_merge_by_keys_with_nulls_gives_the_same_rows_however_often_it_is_run(tmp_path, local):
    table = tmp_path / "t"
    key = '"k'  # a name that has to be quoted
    rows = pa.table({"id": [1, 2, None, 4], key: ["a", None, None, "b"], "x": [1.0, 2.0, 3.0, 4.0]})
    write(local, table, rows, partition_by=key)
    late = pa.table({"id": [None, 2, 2, 9], key: [None, None, "a", "a"], "x": [30.0, 20.0, None, 9.0]})
    expected = sorted([(1, "a", 1.0), (4, "b", 4.0), *zip(*late.to_pydict().values(), strict=True)], key=str)
    for attempt in range(3):
        result = write(local, table, late, mode="merge", keys=["id", key])
        assert (result.rows, result.rows_replaced) == (4, 4 if attempt else 2)
        assert sorted((tuple(row.values()) for row in rows_of(table)), key=str) == expected
    assert list(table.glob("part-*")) == []  # what was staged for the merge


def test_a_key_that_is_twice_among_the_rows_to_merge_is_refused_and_nothing_is_left(tmp_path, local):
    write(local, tmp_path / "t", pa.table({"id": [1]}))
    with pytest.raises(DataValueError, match="the key id=None is twice among the rows to merge"):
        write(local, tmp_path / "t", pa.table({"id": [None, 2, None]}), mode="merge", keys="id")
    assert rows_of(tmp_path / "t") == [{"id": 1}]
    assert parts_not_listed(tmp_path / "t") == []


# Columns and partitions that do not fit


def test_rows_with_other_columns_are_written_where_the_schema_may_grow(tmp_path, local):
    table = tmp_path / "t"
    write(local, table, pa.table({"id": [1], "x": [1.5]}))
    write(local, table, pa.table({"id": [2], "new": ["n"]}), mode="append", schema_mode="merge")
    assert rows_of(table) == [{"id": 1, "x": 1.5, "new": None}, {"id": 2, "x": None, "new": "n"}]
    assert sorted(local.read_delta(table).to_arrow()["id"].to_pylist()) == [1, 2]
    with pytest.raises(ConfigError, match="schema_mode is 'grow'"):
        write(local, table, pa.table({"id": [2]}), mode="append", schema_mode="grow")
    write(local, table, pa.table({"id": ["x"]}), mode="overwrite")  # which may change types
    assert rows_of(table) == [{"id": "x"}]


def test_rows_with_other_partitions_are_refused_and_those_of_the_table_are_taken(tmp_path, local):
    rows = pa.table({"id": [1], "k": ["a"], "j": ["b"]})
    write(local, tmp_path / "t", rows, partition_by="k")
    with pytest.raises(ConfigError, match="is partitioned by \\('k',\\), and the rows by \\('j',\\)"):
        write(local, tmp_path / "t", rows, mode="append", partition_by="j")
    write(local, tmp_path / "t", rows, mode="append")
    assert all("/k=a/" in path for path in delta_table(tmp_path / "t").file_uris())


def test_an_empty_text_that_a_partition_would_make_null_is_refused(tmp_path, local):
    with pytest.raises(DataValueError, match="column 'k' has an empty text, which is null in a partition"):
        write(local, tmp_path / "t", pa.table({"id": [1], "k": [""]}), partition_by="k")
    assert list((tmp_path / "t").rglob("*.parquet")) == []


# Other runs, and runs that end early


@pytest.fixture
def table(tmp_path: Path, local: ps.LocalEngine) -> OutputTable:
    return OutputTable("delta", tmp_path, local)


def test_a_table_that_another_run_makes_meanwhile_is_appended_to(table, monkeypatch):
    table.meanwhile(monkeypatch, lambda: table.write(pa.table({"id": [2]}), mode="append"))
    table.write(pa.table({"id": [1]}), mode="append")
    assert [row["id"] for row in table.rows()] == [1, 2]


def test_a_merge_into_a_table_that_another_run_has_changed_meanwhile_is_told_and_leaves_nothing(table, monkeypatch):
    rows = pa.table({"id": [1, 2], "k": ["a", "b"]})
    table.write(rows, partition_by="k")
    table.meanwhile(monkeypatch, lambda: table.write(rows, mode="append"))
    with pytest.raises(CommitConflictError, match="another run has changed the table"):
        table.write(rows, mode="merge", keys="id")
    assert len(table.rows()) == 4
    assert {p for p in table.parts() if "/part-20" in p} <= table.listed()  # deltalake leaves others of its own


def test_one_run_in_two_processes_at_once_is_there_once(table, monkeypatch):
    rows = pa.table({"id": [1]})
    table.write(rows)
    table.meanwhile(monkeypatch, lambda: table.write(rows, mode="append", run_id="r"))
    table.write(rows, mode="append", run_id="r")
    assert len(table.rows()) == 2
    assert table.parts() == table.listed()


def test_two_runs_that_overwrite_different_partitions_both_come_through(table, monkeypatch):
    options = {"mode": "overwrite_partitions", "partition_by": "k"}
    table.write(pa.table({"id": [1, 2], "k": ["a", "b"]}), partition_by="k")
    table.meanwhile(monkeypatch, lambda: table.write(pa.table({"id": [3], "k": ["a"]}), **options))
    table.write(pa.table({"id": [4], "k": ["b"]}), **options)
    assert table.rows() == [{"id": 3, "k": "a"}, {"id": 4, "k": "b"}]


def test_a_write_that_fails_leaves_no_part(tmp_path, local):
    for name, value in (("a", 1.0), ("b", None)):
        pq.write_table(pa.table({"x": pa.array([value], pa.float64())}), tmp_path / f"{name}.parquet")
    data = local.read_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"], fragment_bytes=1)
    (tmp_path / "b.parquet").write_bytes(b"")
    with pytest.raises(PenstockError):
        data.write(tmp_path / "t", format="delta")
    assert list((tmp_path / "t").rglob("*.parquet")) == []


def test_rows_that_are_set_aside_lie_beside_the_table_and_are_counted(tmp_path, local):
    data = local.from_arrow(pa.table({"x": [1, -1, 2]}))
    model = ps.Pipeline(ps.stages.Expect("x > 0", action="quarantine")).fit(data)
    result = model.transform(data).write(tmp_path / "t", format="delta")
    assert (result.read, result.rows, sum(result.quarantined.values())) == (3, 2, 1)
    assert result.quarantine == f"{tmp_path}/t.quarantine"
    assert local.read_parquet(result.quarantine).to_arrow()["x"].to_pylist() == [-1]
    assert [row["x"] for row in rows_of(tmp_path / "t")] == [1, 2]


def test_a_dataset_without_rows_makes_a_table_without_files(tmp_path, local):
    assert write(local, tmp_path / "t", rows_of_all_types(0), partition_by="city").files == 0
    assert local.read_delta(tmp_path / "t").to_arrow().select(["id", "city"]).num_rows == 0
    assert delta_table(tmp_path / "t").file_uris() == []
