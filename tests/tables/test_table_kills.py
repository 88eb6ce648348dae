"""Writes into tables that are killed: what they leave is removed by the next one, and nothing that anybody needs."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.dataset.outputs.set_aside import SetAside
from penstock.errors import CommitConflictError
from tests.outputs.workers import Worker, worker
from tests.tables.output_table import OutputTable

pytestmark = [pytest.mark.thorough, pytest.mark.faults]

KILLED = -9


@pytest.fixture(scope="module")
def run() -> Iterator[Worker]:
    with worker("tests.tables.killed_table_writes") as write:
        yield write


@dataclass
class Table(OutputTable):
    """A table of rows of ids, which processes write too."""

    run: Worker | None = None

    def put(self, *ids: int, **options: Any) -> None:
        data = self.local.from_arrow(pa.table({"id": ids}, pa.schema([("id", pa.int64())])), fragment_bytes=8)
        data.write(self.target, **{"format": self.kind, "mode": "append", **self.options, **options})

    def put_in_a_process(self, *ids: int, failpoint: str | None = None, **options: Any) -> int:
        assert self.run is not None
        return self.run(self.kind, self.target, ids, failpoint, {**self.options, **options})

    def ids(self) -> list[int]:
        return sorted(self.theirs()["id"].to_pylist())

    def records(self) -> list[Path]:
        return list(self.folder.rglob(".penstock*"))

    def aside(self) -> list[int]:
        aside = self.folder / "ns" / "t.quarantine"
        return self.local.read_parquet(aside).to_arrow()["id"].to_pylist() if aside.exists() else []


@pytest.fixture(params=["delta", "iceberg"])
def table(request: pytest.FixtureRequest, tmp_path: Path, local: ps.LocalEngine, run: Worker) -> Iterator[Table]:
    made = Table(request.param, tmp_path, local, run=run)
    yield made
    made.close()


@pytest.mark.parametrize("first", [[], [1, 2]])
def test_parts_of_a_killed_run_are_removed_by_the_next_write(table, first):
    if first:
        table.put(*first)
    assert table.put_in_a_process(3, 4, failpoint="table-parts-put") == KILLED
    assert len(table.parts()) == len(first) + 2
    assert len(table.records()) == 1
    table.put(5)
    assert table.parts() == table.listed()
    assert table.ids() == [*first, 5]
    assert table.records() == []


def test_parts_that_a_killed_run_has_committed_stay_for_whoever_asks_for_that_version(table):
    table.put(1)
    assert table.put_in_a_process(2, 3, failpoint="table-committed") == KILLED
    old = table.before()
    assert len(table.records()) == 1
    parts = table.parts()
    assert len(parts) == 3
    table.put(4, mode="overwrite")
    assert (table.ids(), table.records()) == ([4], [])
    assert parts < table.parts()
    assert sorted(table.read(**old).to_arrow()["id"].to_pylist()) == [1, 2, 3]


def test_parts_of_a_live_run_and_files_of_other_writers_stay(table, monkeypatch):
    table.put(1)
    assert table.put_in_a_process(2, failpoint="table-parts-put") == KILLED
    folder = Path(next(iter(table.parts()))).parent
    others = {
        folder / "part-00000-of-another-writer.parquet",
        folder / "part-20260101T000000000000-0a1b2c3d-00000.parquet",
    }
    for path in others:
        path.write_bytes(b"PAR1")

    def another_run() -> None:
        alive = len(table.records())
        assert table.put_in_a_process(3) == 0
        assert table.ids() == [1, 3]
        assert (alive, len(table.records())) == (1, 1)

    table.meanwhile(monkeypatch, another_run)
    table.put(4)
    assert table.ids() == [1, 3, 4]
    assert table.parts() == table.listed() | set(map(str, others))
    assert table.records() == []


def test_rows_that_are_set_aside_are_not_lost_when_the_run_dies_before_the_commit_of_its_table(table):
    assert table.put_in_a_process(1, -1, failpoint="table-parts-put") == KILLED
    assert table.aside() == [-1]
    assert table.put_in_a_process(2, -2, run_id="r") == 0
    assert (table.ids(), sorted(table.aside())) == ([2], [-2, -1])
    assert table.put_in_a_process(3, -3, mode="overwrite", failpoint="table-parts-put") == KILLED
    assert (table.ids(), sorted(table.aside())) == ([2], [-3, -2, -1])
    assert table.put_in_a_process(4, -4, mode="overwrite") == 0
    assert (table.ids(), table.aside()) == ([4], [-4])


def test_rows_that_are_set_aside_are_not_lost_when_the_commit_of_their_table_fails(table, monkeypatch):
    table.put(1)
    data = table.local.from_arrow(pa.table({"id": [2, -2]}))
    checked = ps.Pipeline(ps.stages.Expect("id >= 0", action="quarantine")).fit(data).transform(data)
    table.meanwhile(monkeypatch, lambda: table.put(3))
    with pytest.raises(CommitConflictError):
        checked.write(table.target, format=table.kind, mode="overwrite", **table.options)
    assert (table.ids(), table.aside()) == ([1, 3], [-2])
    assert table.parts() == table.listed()


def test_two_runs_that_set_rows_aside_at_once_both_come_through(table, monkeypatch):
    table.put(1)
    data = table.local.from_arrow(pa.table({"id": [2, -2]}))
    checked = ps.Pipeline(ps.stages.Expect("id >= 0", action="quarantine")).fit(data).transform(data)
    published = SetAside.publish

    def late(*arguments: Any) -> None:
        monkeypatch.undo()
        assert table.put_in_a_process(3, -3) == 0
        published(*arguments)

    monkeypatch.setattr(SetAside, "publish", late)
    checked.write(table.target, format=table.kind, mode="append", **table.options)
    assert (table.ids(), sorted(table.aside())) == ([1, 2, 3], [-3, -2])
