"""Iceberg tables as outputs: one snapshot, rows that other libraries read, and what other runs do meanwhile."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.transforms import BucketTransform
from table_rows import assert_same_rows, rows_of_all_types

import penstock as ps
from penstock.dataset.writing import WriteResult
from penstock.errors import CommitConflictError, ConfigError, OutputExistsError, SchemaDriftError
from penstock.io.tables import committer

pytestmark = pytest.mark.thorough

Write = Callable[..., WriteResult]


@pytest.fixture
def write(local: ps.LocalEngine, catalog: SqlCatalog) -> Write:
    def write(rows: pa.Table, **options: Any) -> WriteResult:
        data = local.from_arrow(rows, fragment_bytes=2000)
        return data.write("ns.t", format="iceberg", catalog=catalog, **options)

    return write


def rows_of(catalog: SqlCatalog) -> list[dict[str, Any]]:
    rows = catalog.load_table("ns.t").scan().to_arrow().to_pylist()
    return sorted(rows, key=lambda row: str(row["id"]))


def parts(tmp_path: Path) -> int:
    return len(list(tmp_path.rglob("*.parquet")))


def between_parts_and_commit(monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any]) -> None:
    """Have something happen once, after a run has put its parts and before it commits them."""

    def hook(step: str) -> None:
        monkeypatch.setattr(committer, "failpoint", lambda step: None)
        act()

    monkeypatch.setattr(committer, "failpoint", hook)


@pytest.mark.parametrize("keys", [(), ("city",), ("day", "city", "ok", "at", "local", "small")])
def test_rows_of_every_type_are_read_the_same_by_pyiceberg_and_polars(
    catalog: SqlCatalog, local: ps.LocalEngine, write: Write, keys: tuple[str, ...]
) -> None:
    rows = rows_of_all_types(60)
    result = write(rows, partition_by=keys)
    table = catalog.load_table("ns.t")
    assert (result.rows, f"file://{result.path}", result.quarantine) == (60, table.location(), None)
    assert_same_rows(rows, table.scan().to_arrow())
    assert_same_rows(local.read_iceberg(table).to_arrow(), rows)
    assert [field.name for field in table.spec().fields] == list(keys)
    with warnings.catch_warnings(action="ignore"):  # Polars plans by a package of its own where that is there
        assert_same_rows(rows, pl.scan_iceberg(table).collect().to_arrow())


def test_columns_that_are_renamed_after_a_write_are_known_by_their_ids(
    catalog: SqlCatalog, local: ps.LocalEngine, write: Write
) -> None:
    write(pa.table({"id": [1], "p": [{"x": 1, "y": 2}]}))
    table = catalog.load_table("ns.t")
    with table.update_schema() as schema:
        schema.rename_column("id", "number")
        schema.rename_column("p.x", "left")
    expected = [{"number": 1, "p": {"left": 1, "y": 2}}]
    assert table.scan().to_arrow().to_pylist() == expected == local.read_iceberg(table).to_arrow().to_pylist()


@pytest.mark.parametrize("kind", [pa.uint64(), pa.time64("ns"), pa.timestamp("ns"), pa.duration("us"), pa.null()])
def test_a_type_that_iceberg_cannot_hold_is_refused_before_anything_is_there(
    catalog: SqlCatalog, write: Write, kind: pa.DataType
) -> None:
    with pytest.raises(ConfigError, match=r"column 'x' is .*, which an Iceberg table cannot hold"):
        write(pa.table({"x": pa.array([None], kind)}))
    assert catalog.list_tables("ns") == []


def test_each_mode_does_to_the_rows_that_are_there_what_it_says(
    catalog: SqlCatalog, local: ps.LocalEngine, write: Write
) -> None:
    write(pa.table({"id": [1, 2, 3, 4], "k": ["a", "a", None, "b/c"]}), partition_by="k")
    with pytest.raises(OutputExistsError, match=r"the Iceberg table ns\.t exists"):
        write(pa.table({"id": [1]}))
    added = write(pa.table({"id": [5], "k": ["a"]}), mode="append")
    assert (added.rows, added.rows_replaced, added.rows_unchanged, added.partitions) == (1, 0, 4, 1)
    replaced = write(pa.table({"id": [6, 7], "k": [None, "b/c"]}), mode="overwrite_partitions", partition_by="k")
    assert (replaced.rows, replaced.rows_replaced, replaced.rows_unchanged) == (2, 2, 3)
    assert rows_of(catalog) == pa.table({"id": [1, 2, 5, 6, 7], "k": ["a", "a", "a", None, "b/c"]}).to_pylist()
    before = catalog.load_table("ns.t").current_snapshot()
    write(pa.table({"id": [8], "k": ["a"]}), mode="overwrite")
    assert rows_of(catalog) == [{"id": 8, "k": "a"}]
    assert before is not None
    assert local.read_iceberg("ns.t", catalog=catalog, snapshot_id=before.snapshot_id).count() == 5
    with pytest.raises(ConfigError, match='mode="merge" does not suit an Iceberg table'):
        write(pa.table({"id": [8], "k": ["a"]}), mode="merge", keys="id")


def test_an_append_of_a_run_that_is_done_twice_is_there_once(catalog: SqlCatalog, write: Write) -> None:
    for run in ("monday", "monday", "tuesday"):
        result = write(pa.table({"id": [1, 2]}), mode="append", run_id=run)
    assert [row["id"] for row in rows_of(catalog)] == [1, 1, 2, 2]
    assert (result.run_id, result.rows_unchanged) == ("tuesday", 2)


def test_rows_with_other_columns_or_partitions_are_refused(catalog: SqlCatalog, write: Write) -> None:
    write(pa.table({"id": [1], "x": [1.5]}))
    for rows, message in (
        (pa.table({"id": [2]}), "column 'x' of the Iceberg table ns"),
        (pa.table({"id": [2], "x": ["text"]}), "column 'x' is string, and double in the Iceberg table"),
        (pa.table({"id": [2], "x": [2.5], "new": ["n"]}), "column 'new' is not in the Iceberg table"),
    ):
        with pytest.raises(SchemaDriftError, match=message):
            write(rows, mode="append")
    with pytest.raises(ConfigError, match="the rows by"):
        write(pa.table({"id": [1], "x": [1.5]}), mode="append", partition_by="id")
    with catalog.load_table("ns.t").update_spec() as spec:
        spec.add_field("id", BucketTransform(4), "bucket")
    with pytest.raises(ConfigError, match=r"partitioned by bucket\[4\]"):
        write(pa.table({"id": [1], "x": [1.5]}), mode="append")


def test_a_table_without_a_catalog_is_not_written(local: ps.LocalEngine, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="an Iceberg table is written through a catalog"):
        local.from_arrow(pa.table({"id": [1]})).write(tmp_path / "t", format="iceberg")


def test_two_runs_that_append_at_once_both_come_through(
    catalog: SqlCatalog, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(pa.table({"id": [1]}))
    between_parts_and_commit(monkeypatch, lambda: write(pa.table({"id": [2]}), mode="append"))
    write(pa.table({"id": [3]}), mode="append")
    assert [row["id"] for row in rows_of(catalog)] == [1, 2, 3]


@pytest.mark.parametrize("options", [{"mode": "overwrite"}, {"mode": "overwrite_partitions", "partition_by": "id"}])
def test_a_run_whose_table_another_has_changed_meanwhile_is_told_and_leaves_nothing(
    catalog: SqlCatalog, write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: dict[str, Any]
) -> None:
    rows = pa.table({"id": [1], "x": [0]})
    write(rows, partition_by="id")
    between_parts_and_commit(monkeypatch, lambda: write(rows, mode="append"))
    with pytest.raises(CommitConflictError, match=r"another run has changed the Iceberg table ns\.t"):
        write(rows, **options)
    assert [row["id"] for row in rows_of(catalog)] == [1, 1]
    assert parts(tmp_path) == 2


def test_a_run_that_ends_before_its_commit_makes_no_table(
    catalog: SqlCatalog, write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stop() -> None:
        assert parts(tmp_path) == 1
        raise KeyboardInterrupt

    between_parts_and_commit(monkeypatch, stop)
    with pytest.raises(KeyboardInterrupt):
        write(pa.table({"id": [1]}))
    assert (catalog.list_tables("ns"), parts(tmp_path)) == ([], 0)
