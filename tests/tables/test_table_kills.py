"""Writes into tables that are killed: what they leave is removed by the next one, and nothing that anybody needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog

import penstock
import penstock as ps
from penstock.dataset.outputs.set_aside import SetAside
from penstock.errors import CommitConflictError
from penstock.io.tables import committer

pytestmark = pytest.mark.thorough

Run = Callable[..., int]
KILLED = -9


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """A function that writes in a process of its own, and returns how that ended."""
    root = Path(penstock.__file__).parents[1]
    command = [sys.executable, "-m", "tests.tables.killed_table_writes"]
    environment = os.environ | {"PYTHONPATH": str(root)}
    with subprocess.Popen(command, env=environment, cwd=root, stdin=PIPE, stdout=PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines, statuses = process.stdin, process.stdout

        def write(format: str, target: str, ids: list[int], failpoint: str | None, options: dict[str, Any]) -> int:
            lines.write(json.dumps([format, target, ids, failpoint, options]) + "\n")
            return int(statuses.readline())

        yield write
        lines.close()


@dataclass
class Table:
    """A table of either kind in a folder."""

    kind: str
    folder: Path
    local: ps.LocalEngine
    run: Run
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.target = str(self.folder / "ns" / "t")
        if self.kind == "iceberg":
            catalog = {
                "type": "sql",
                "uri": f"sqlite:///{self.folder}/catalog.db",
                "warehouse": f"file://{self.folder}",
            }
            self.catalog = load_catalog(**catalog)
            self.catalog.create_namespace("ns")
            self.target, self.options = "ns.t", {"catalog": catalog}

    def write(self, *ids: int, **options: Any) -> None:
        data = self.local.from_arrow(pa.table({"id": ids}, pa.schema([("id", pa.int64())])), fragment_bytes=8)
        data.write(self.target, **{"format": self.kind, "mode": "append", **self.options, **options})

    def write_in_a_process(self, *ids: int, failpoint: str | None = None, **options: Any) -> int:
        return self.run(self.kind, self.target, ids, failpoint, {**self.options, **options})

    def rows(self) -> list[int]:
        if self.kind == "delta":
            found = pa.table(DeltaTable(self.target).scan().read_all())
        else:
            found = self.catalog.load_table("ns.t").scan().to_arrow()
        return sorted(found["id"].to_pylist())

    def listed(self) -> set[str]:
        """Return the files of the newest version."""
        if self.kind == "delta":
            return set(DeltaTable(self.target).file_uris())
        table = self.catalog.load_table("ns.t")
        return {task.file.file_path.removeprefix("file://") for task in table.scan().plan_files()}

    def parts(self) -> set[str]:
        return {str(path) for path in self.folder.rglob("*.parquet") if "quarantine" not in str(path)}

    def records(self) -> list[Path]:
        return list(self.folder.rglob(".penstock*"))

    def aside(self) -> list[int]:
        aside = self.folder / "ns" / "t.quarantine"
        return self.local.read_parquet(aside).to_arrow()["id"].to_pylist() if aside.exists() else []

    def meanwhile(self, monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any]) -> None:
        """Have something happen once, after a run has put its parts and before it commits them."""

        def hook(step: str) -> None:
            monkeypatch.setattr(committer, "failpoint", lambda step: None)
            act()

        monkeypatch.setattr(committer, "failpoint", hook)


@pytest.fixture(params=["delta", "iceberg"])
def table(request: pytest.FixtureRequest, tmp_path: Path, local: ps.LocalEngine, run: Run) -> Table:
    return Table(request.param, tmp_path, local, run)


@pytest.mark.parametrize("first", [[], [1, 2]])
def test_parts_of_a_killed_run_are_removed_by_the_next_write(table: Table, first: list[int]) -> None:
    if first:
        table.write(*first)
    assert table.write_in_a_process(3, 4, failpoint="table-parts-put") == KILLED
    assert len(table.parts()) == len(first) + 2
    assert len(table.records()) == 1
    table.write(5)
    assert table.parts() == table.listed()
    assert table.rows() == [*first, 5]
    assert table.records() == []


def test_parts_that_a_killed_run_has_committed_stay_for_whoever_asks_for_that_version(table: Table) -> None:
    table.write(1)
    assert table.write_in_a_process(2, 3, failpoint="table-committed") == KILLED
    assert len(table.records()) == 1
    parts = table.parts()
    assert len(parts) == 3
    table.write(4, mode="overwrite")
    assert (table.rows(), table.records()) == ([4], [])
    assert parts < table.parts()
    old = {"version": 1} if table.kind == "delta" else {"snapshot_id": table_snapshot(table, 1)}
    read = table.local.read_delta if table.kind == "delta" else table.local.read_iceberg
    assert sorted(read(table.target, **table.options, **old).to_arrow()["id"].to_pylist()) == [1, 2, 3]


def table_snapshot(table: Table, place: int) -> int:
    return int(table.catalog.load_table("ns.t").snapshots()[place].snapshot_id)


def test_parts_of_a_live_run_and_files_of_other_writers_stay(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    table.write(1)
    assert table.write_in_a_process(2, failpoint="table-parts-put") == KILLED
    folder = Path(next(iter(table.parts()))).parent
    others = {
        folder / "part-00000-of-another-writer.parquet",
        folder / "part-20260101T000000000000-0a1b2c3d-00000.parquet",
    }
    for path in others:
        path.write_bytes(b"PAR1")

    def another_run() -> None:
        alive = len(table.records())
        assert table.write_in_a_process(3) == 0
        assert table.rows() == [1, 3]
        assert (alive, len(table.records())) == (1, 1)

    table.meanwhile(monkeypatch, another_run)
    table.write(4)
    assert table.rows() == [1, 3, 4]
    assert table.parts() == table.listed() | set(map(str, others))
    assert table.records() == []


def test_rows_that_are_set_aside_are_not_lost_when_the_run_dies_before_the_commit_of_its_table(table: Table) -> None:
    assert table.write_in_a_process(1, -1, failpoint="table-parts-put") == KILLED
    assert table.aside() == [-1]
    assert table.write_in_a_process(2, -2, run_id="r") == 0
    assert (table.rows(), sorted(table.aside())) == ([2], [-2, -1])
    assert table.write_in_a_process(3, -3, mode="overwrite", failpoint="table-parts-put") == KILLED
    assert (table.rows(), sorted(table.aside())) == ([2], [-3, -2, -1])
    assert table.write_in_a_process(4, -4, mode="overwrite") == 0
    assert (table.rows(), table.aside()) == ([4], [-4])


def test_rows_that_are_set_aside_are_not_lost_when_the_commit_of_their_table_fails(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.write(1)
    data = table.local.from_arrow(pa.table({"id": [2, -2]}))
    checked = ps.Pipeline(ps.stages.Expect("id >= 0", action="quarantine")).fit(data).transform(data)
    table.meanwhile(monkeypatch, lambda: table.write(3))
    with pytest.raises(CommitConflictError):
        checked.write(table.target, format=table.kind, mode="overwrite", **table.options)
    assert (table.rows(), table.aside()) == ([1, 3], [-2])
    assert table.parts() == table.listed()


def test_two_runs_that_set_rows_aside_at_once_both_come_through(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    table.write(1)
    data = table.local.from_arrow(pa.table({"id": [2, -2]}))
    checked = ps.Pipeline(ps.stages.Expect("id >= 0", action="quarantine")).fit(data).transform(data)
    published = SetAside.publish

    def late(*arguments: Any) -> None:
        monkeypatch.undo()
        assert table.write_in_a_process(3, -3) == 0
        published(*arguments)

    monkeypatch.setattr(SetAside, "publish", late)
    checked.write(table.target, format=table.kind, mode="append", **table.options)
    assert (table.rows(), sorted(table.aside())) == ([1, 2, 3], [-3, -2])
