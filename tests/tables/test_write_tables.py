"""Delta and Iceberg tables as outputs: one transaction, foreign readers, concurrent runs."""

import os
import warnings
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from table_rows import assert_same_rows, rows_of_all_types

from penstock.errors import CommitConflictError, ConfigError, IncompleteInputError, OutputExistsError, SchemaDriftError
from penstock.io.fragments import row_bytes


@pytest.mark.thorough
@pytest.mark.parametrize("keys", [(), ("city",), ("day", "city", "ok", "at", "small")])
def test_rows_of_every_type_are_read_the_same_by_its_library_and_polars(table, keys):
    rows = rows_of_all_types(60)
    keys = (*keys, "local") if table.kind == "iceberg" and len(keys) > 1 else keys
    result = table.write(rows, partition_by=keys)
    path = result.path if table.kind == "delta" else f"file://{result.path}"
    place = table.target if table.kind == "delta" else table.loaded().location()
    assert (result.rows, path, result.quarantine) == (60, place, None)
    assert_same_rows(rows, table.theirs())
    assert_same_rows(table.read().to_arrow(), rows)
    assert table.keys() == list(keys)
    with warnings.catch_warnings(action="ignore"):  # Polars plans by a package of its own where that is there
        scanned = pl.scan_delta(table.target) if table.kind == "delta" else pl.scan_iceberg(table.loaded())
        assert_same_rows(rows, scanned.collect().to_arrow())


def test_a_type_that_the_table_cannot_hold_is_refused_before_anything_is_there(table):
    kinds = [pa.uint64(), pa.time64("ns"), pa.timestamp("ns"), pa.duration("us"), pa.null(), pa.list_(pa.uint64())]
    for kind in [*kinds, pa.time64("us")] if table.kind == "delta" else kinds:
        with pytest.raises(ConfigError, match=r"column 'x' is .*, which an? (Delta|Iceberg) table cannot hold"):
            table.write(pa.table({"x": pa.array([None], kind)}))
        assert not table.is_there()


def test_each_mode_does_to_the_rows_that_are_there_what_it_says(table):
    table.write(pa.table({"id": [1, 2, 3, 4], "k": ["a", "a", None, "b/c"]}), partition_by="k")
    exists = f"{table.name} exists" if table.kind == "iceberg" else "exists and holds a Delta table"
    with pytest.raises(OutputExistsError, match=exists):
        table.write(pa.table({"id": [1]}))
    added = table.write(pa.table({"id": [5], "k": ["a"]}), mode="append")
    assert (added.rows, added.rows_replaced, added.rows_unchanged, added.partitions) == (1, 0, 4, 1)
    before = table.before()
    new = pa.table({"id": [6, 7], "k": [None, "b/c"]})
    replaced = table.write(new, mode="overwrite_partitions", partition_by="k")
    assert (replaced.rows, replaced.rows_replaced, replaced.rows_unchanged) == (2, 2, 3)
    assert table.rows() == pa.table({"id": [1, 2, 5, 6, 7], "k": ["a", "a", "a", None, "b/c"]}).to_pylist()
    table.write(pa.table({"id": [8], "k": ["a"]}), mode="overwrite")
    assert table.rows() == [{"id": 8, "k": "a"}]
    assert table.read(**before).count() == 5


def test_an_append_of_a_run_that_is_done_twice_is_there_once(table):
    rows = pa.table({"id": [1, 2]})
    for run in ("scheduled__2024-01-01", "scheduled__2024-01-01", "scheduled__2024-01-02"):
        result = table.write(rows, mode="append", run_id=run)
    assert [row["id"] for row in table.rows()] == [1, 1, 2, 2]
    assert (result.rows, result.rows_unchanged, result.run_id) == (2, 2, "scheduled__2024-01-02")
    again = table.write(rows, mode="append", run_id="scheduled__2024-01-02")
    assert (again.rows, again.rows_unchanged, again.run_id) == (0, 4, "scheduled__2024-01-02")
    assert table.parts() == table.listed()


def test_rows_with_other_columns_are_refused(table):
    table.write(pa.table({"id": [1], "x": [1.5]}))
    name = "the table" if table.kind == "delta" else "the Iceberg table"
    for rows, message in (
        (pa.table({"id": [2]}), f"column 'x' of {name}"),
        (pa.table({"id": [2], "x": ["text"]}), f"column 'x' is string, and double in {name}"),
        (pa.table({"id": [2], "x": [2.5], "new": ["n"]}), f"column 'new' is not in {name}"),
    ):
        with pytest.raises(SchemaDriftError, match=message):
            table.write(rows, mode="append")


@pytest.mark.thorough
def test_two_runs_that_append_at_once_both_come_through(table, monkeypatch):
    table.write(pa.table({"id": [1]}))
    table.meanwhile(monkeypatch, lambda: table.write(pa.table({"id": [2]}), mode="append"))
    table.write(pa.table({"id": [3]}), mode="append")
    assert [row["id"] for row in table.rows()] == [1, 2, 3]


@pytest.mark.parametrize("mode", ["overwrite", "overwrite_partitions"])
def test_a_run_whose_table_another_has_changed_meanwhile_is_told_and_leaves_nothing(table, monkeypatch, mode):
    rows = pa.table({"id": [1, 2], "k": ["a", "b"]})
    table.write(rows, partition_by="k")
    table.meanwhile(monkeypatch, lambda: table.write(rows, mode="append"))
    options: dict[str, Any] = {"partition_by": "k"} if mode == "overwrite_partitions" else {}
    with pytest.raises(CommitConflictError, match=f"another run has changed {table.name}"):
        table.write(rows, mode=mode, **options)
    assert len(table.rows()) == 4
    assert table.parts() == table.listed()


def test_a_run_that_ends_before_its_commit_leaves_no_part(table, monkeypatch):
    def stop() -> None:
        assert len(table.parts()) == 1
        raise KeyboardInterrupt

    table.meanwhile(monkeypatch, stop)
    with pytest.raises(KeyboardInterrupt):
        table.write(pa.table({"id": [1]}))
    assert table.parts() == set()
    assert table.kind == "delta" or not table.is_there()


# Read again


def test_no_file_is_opened_to_plan_and_one_that_is_gone_is_named(table, opened):
    table.write(rows_of_all_types(30), partition_by="ok")
    opened.clear()
    data = table.read()
    assert data.count() == 30
    assert opened == []
    path = sorted(table.listed())[0]
    os.remove(path)
    with pytest.raises(IncompleteInputError, match="is in the log of its table, and is not there") as caught:
        data.to_arrow()
    assert os.path.realpath(str(caught.value.path)) == path
    assert table.kind != "delta" or "vacuum" in str(caught.value.hint)


@pytest.mark.thorough
def test_a_large_file_is_cut_to_fragments_of_the_size_that_is_asked_for(table, local):
    rows = pa.table({"x": range(1000)})
    local.from_arrow(rows).write(table.target, format=table.kind, **table.options)
    data = table.read(fragment_bytes=300 * row_bytes(rows.schema))
    assert [fragment.rows for fragment in data.fragments] == [250] * 4
    assert data.to_arrow() == rows
