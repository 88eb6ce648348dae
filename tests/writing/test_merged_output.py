"""Merging by keys: new rows in the places of those of their keys, the others after; done again, nothing changes."""

import datetime as dt
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.dataset import Dataset
from penstock.dataset.outputs import merge, new_rows
from penstock.engines.base import Engine
from penstock.errors import CommitConflictError, ConfigError, CorruptFileError, DataValueError, SchemaError
from penstock.io.sinks import read_manifest
from tests.outputs.alone import verified

Row = tuple[int | None, str | None, int]
SCHEMA = pa.schema({"id": pa.int64(), "name": pa.string(), "n": pa.int64()})
FORMATS = {"parquet": {}, "orc": {}, "avro": {}, "arrow": {}, "csv": {"null_value": "-"}, "json_lines": {}}


def dataset(engine: Engine, rows: list[Row], *, fragment_rows: int = 3) -> Dataset:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    table = pa.table([pa.array(values, kind) for values, kind in zip(columns, SCHEMA.types, strict=True)], SCHEMA.names)
    return engine.from_arrow(table, fragment_bytes=44 * fragment_rows)


def content(local: Engine, path: Path, format: str = "parquet", **options: Any) -> list[Row]:
    verified(path)
    table = local.read(format, path, schema=SCHEMA, **options).to_arrow()
    return [tuple(row.values()) for row in table.to_pylist()]


def merged(old: list[Row], new: list[Row], keys: tuple[int, ...]) -> list[Row]:
    """What a merge gives, by a dictionary."""
    by_key = {tuple(row[key] for key in keys): row for row in new}
    there = {tuple(row[key] for key in keys) for row in old}
    return [by_key.get(tuple(row[key] for key in keys), row) for row in old] + [
        row for key, row in by_key.items() if key not in there
    ]


def drawn(seed: int) -> tuple[list[Row], list[Row]]:
    """Old rows, in which keys may be twice, and new ones, in which they are not; null is a key."""
    draw = random.Random(seed)
    pairs: list[tuple[int | None, str | None]] = [(i, s) for i in (None, *range(4)) for s in (None, "a", "é")]
    old = [(*draw.choice(pairs), number) for number in range(12)]
    new = [(*pair, 100 + number) for number, pair in enumerate(draw.sample(pairs, 7))]
    return old, new


@pytest.mark.thorough
@pytest.mark.parametrize("format", FORMATS)
def test_new_rows_take_the_places_of_their_keys_and_the_others_come_after(local, tmp_path, format):
    options, target = FORMATS[format], tmp_path / "out"
    reading = {"null_values": ["-"]} if format == "csv" else {}
    old, new = drawn(0)
    dataset(local, old).write(target, format=format, **options)
    for _ in range(3):
        dataset(local, new).write(target, format=format, mode="merge", keys=["id", "name"], **options)
        assert content(local, target, format, **reading) == merged(old, new, (0, 1))
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.thorough
@pytest.mark.parametrize("buckets", [1, 5])
def test_a_merge_gives_what_a_dictionary_gives(local, tmp_path, monkeypatch, buckets):
    monkeypatch.setattr(merge, "_MOST_BUCKETS", buckets)
    monkeypatch.setattr(merge, "_BUCKET_BYTES", 1)
    for seed in (1, 2, 3):
        target, (old, new) = tmp_path / str(seed), drawn(seed)
        dataset(local, old, fragment_rows=2).write(target)
        result = dataset(local, new, fragment_rows=2).write(target, mode="merge", keys=["id", "name"])
        assert content(local, target) == merged(old, new, (0, 1))
        keys = {row[:2] for row in new}
        replaced = sum(row[:2] in keys for row in old)
        assert (result.rows, result.rows_replaced, result.rows_unchanged) == (len(new), replaced, len(old) - replaced)


@pytest.mark.thorough
@pytest.mark.parametrize(("keys", "places"), [(["id", "name"], (0, 1)), (["id"], (0,))])
def test_partitions_hold_what_a_merge_gives(local, tmp_path, keys, places):
    old, new = drawn(7)
    new = list({tuple(row[place] for place in places): row for row in new}.values())
    dataset(local, old).write(tmp_path / "out", partition_by="name")
    for _ in range(2):
        dataset(local, new).write(tmp_path / "out", partition_by="name", mode="merge", keys=keys)
        expected = merged(old, new, places)
        assert sorted(content(local, tmp_path / "out"), key=str) == sorted(expected, key=str)


def test_files_without_a_row_that_gives_way_stay_as_they_are(local, tmp_path):
    target = tmp_path / "out"
    dataset(local, [(number, "a", number) for number in range(9)]).write(target)
    before = {path.name: path.stat().st_ino for path in target.glob("*.parquet")}
    dataset(local, [(4, "b", 40)]).write(target, mode="merge", keys="id")
    after = {path.name: path.stat().st_ino for path in target.glob("*.parquet")}
    assert {name: after.get(name) for name in before} == before | {"part-00001.parquet": None}


def test_only_the_partitions_of_new_rows_are_read_where_the_keys_tell_them(local, tmp_path):
    target = tmp_path / "out"
    dataset(local, [(1, "a", 1), (1, "b", 2), (2, "b", 3)]).write(target, partition_by="name")
    (part,) = (target / "name=a").iterdir()
    part.write_bytes(bytes(len(part.read_bytes())))
    parameters: dict[str, Any] = {"partition_by": "name", "mode": "merge"}
    dataset(local, [(2, "b", 30)]).write(target, keys=["name", "id"], **parameters)
    manifest = read_manifest(target)
    assert manifest is not None
    assert [entry.rows for entry in manifest.files] == [1, 2]
    with pytest.raises(CorruptFileError, match="name=a"):
        dataset(local, [(2, "b", 30)]).write(target, keys=["id"], **parameters)


def test_a_key_that_is_twice_among_the_new_rows_is_named(local, tmp_path):
    target = tmp_path / "out"
    dataset(local, [(1, "a", 1)]).write(target)
    twice = [(number, "x", number) for number in range(8)] + [(None, "é", 0), (5, None, 0), (None, "é", 1)]
    with pytest.raises(DataValueError, match="key id=None, name='é' is in the rows to merge more than once"):
        dataset(local, twice).write(target, mode="merge", keys=["id", "name"])
    with pytest.raises(DataValueError, match="key id=5"):
        dataset(local, [*twice[:8], (5, "z", 1)]).write(tmp_path / "new", mode="merge", keys="id")
    assert content(local, target) == [(1, "a", 1)]
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.thorough
@pytest.mark.parametrize("buckets", [1, 3])
@pytest.mark.parametrize(("kept_bytes", "fits"), [(2**20, True), (0, False)])
def test_new_keys_are_read_once_where_they_fit_into_memory(local, tmp_path, monkeypatch, buckets, kept_bytes, fits):
    read, reads = new_rows.NewRows.read, Counter[tuple[str, ...]]()

    def count(rows: new_rows.NewRows, names: Any, columns: Any = None) -> Any:
        reads.update([tuple(names)] if columns == ("id",) else [])
        return read(rows, names, columns)

    monkeypatch.setattr(merge, "_MOST_BUCKETS", buckets)
    monkeypatch.setattr(merge, "_BUCKET_BYTES", 1)
    monkeypatch.setattr(new_rows, "KEPT_BYTES", kept_bytes)
    monkeypatch.setattr(new_rows.NewRows, "read", count)
    old, new = [(number, "a", 0) for number in range(24)], [(number, "b", 1) for number in range(0, 48, 2)]
    assert dataset(local, old).write(tmp_path / "out").files == 8
    dataset(local, new).write(tmp_path / "out", mode="merge", keys="id")
    assert set(reads.values()) == ({1} if fits else {1 + 8})  # to check the keys, and for each file
    assert len(reads) == buckets
    assert not new_rows._kept
    assert content(local, tmp_path / "out") == merged(old, new, (0,))


KEYS = {
    "date": [dt.date(2024, 1, 1), None, dt.date(2024, 1, 2)],
    "timestamp": [dt.datetime(2024, 1, 1, 0, 0, 0, 1), None, dt.datetime(2024, 1, 1)],
    "bool": [True, None, False],
    "float": [0.1, None, -1e300],
    "binary": [b"\x00", None, b""],
}


@pytest.mark.thorough
def test_keys_of_every_plain_type_find_their_rows(local, tmp_path):
    for kind, values in KEYS.items():
        old, target = pa.table({"key": values, "n": [1, 2, 3]}), tmp_path / kind
        new = old.slice(1).set_column(1, "n", pa.array([20, 30]))
        local.from_arrow(old).write(target)
        local.from_arrow(new).write(target, mode="merge", keys="key")
        assert local.read_parquet(target).to_arrow().to_pydict() == {"key": values, "n": [1, 20, 30]}


def test_a_merge_without_good_keys_is_refused_before_anything_is_read(local, tmp_path):
    data = local.from_arrow(pa.table({"id": [1], "tags": [[1]]}))
    unread = data.map_partitions(lambda frame: 1 / 0, data.schema)
    with pytest.raises(ConfigError, match='mode="merge" needs keys'):
        unread.write(tmp_path / "out", mode="merge")
    with pytest.raises(SchemaError, match=r"column 'idd' is not in the data\. Did you mean 'id'\?"):
        unread.write(tmp_path / "out", mode="merge", keys="idd")
    with pytest.raises(ConfigError, match=r"column 'tags' is list<.*>, which keys does not take"):
        unread.write(tmp_path / "out", mode="merge", keys="tags")


def test_a_merge_of_no_rows_changes_nothing(local, tmp_path):
    dataset(local, []).write(tmp_path / "out", mode="merge", keys="id")
    assert content(local, tmp_path / "out") == []
    dataset(local, [(1, "a", 1)]).write(tmp_path / "out", mode="merge", keys="id")
    dataset(local, []).write(tmp_path / "out", mode="merge", keys="id")
    assert content(local, tmp_path / "out") == [(1, "a", 1)]


def test_a_run_that_appended_is_still_known_after_a_merge(local, tmp_path):
    target = tmp_path / "out"
    dataset(local, [(1, "a", 1)]).write(target, mode="append", run_id="one")
    dataset(local, [(1, "b", 2), (2, "b", 2)]).write(target, mode="merge", keys="id", run_id="two")
    dataset(local, [(1, "c", 3)]).write(target, mode="append", run_id="one")
    assert content(local, target) == [(2, "b", 2), (1, "c", 3)]


def test_an_output_that_is_replaced_while_it_is_merged_into_is_a_conflict(local, tmp_path, monkeypatch):
    target, plan = tmp_path / "out", merge.plan_files
    dataset(local, [(1, "a", 1)]).write(target)

    def overtaken(*arguments: Any) -> Any:
        files = plan(*arguments)
        dataset(local, [(1, "b", 2)]).write(target, mode="overwrite", partition_by="name")
        return files

    monkeypatch.setattr(merge, "plan_files", overtaken)
    with pytest.raises(CommitConflictError, match="was replaced while rows were merged into it"):
        dataset(local, [(1, "c", 3)]).write(target, mode="merge", keys="id")
    assert content(local, target) == [(1, "b", 2)]


@pytest.mark.thorough
def test_every_engine_merges_to_the_same_rows_in_the_same_order(distributed_engine, local, tmp_path):
    old, new = drawn(9)
    for name, each in (("own", distributed_engine), ("local", local)):
        dataset(each, old).write(tmp_path / name)
        for _ in range(2):
            dataset(each, new).write(tmp_path / name, mode="merge", keys=["id", "name"], partition_by=())
    assert content(local, tmp_path / "own") == content(local, tmp_path / "local")
