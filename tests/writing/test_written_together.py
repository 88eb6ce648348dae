"""Several fragments in one task: few files of many rows, the same rows in the same order, in memory that is bounded."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from penstock.core.errors import DataValueError
from penstock.dataset import Dataset
from penstock.dataset.outputs import parts
from penstock.engines.base import Engine

ROWS = 360
TABLE = pa.table({"x": range(ROWS), "day": [row % 3 for row in range(ROWS)], "v": [row / 7 for row in range(ROWS)]})
EXPECTED = pl.DataFrame(TABLE).sort("day", maintain_order=True).to_arrow().cast(TABLE.schema)
FRAGMENT_ROWS, ROW_BYTES = 10, 24

pytestmark = pytest.mark.thorough


@pytest.fixture
def dealt(local: Engine) -> Dataset:
    """Rows of three days in 36 fragments, each of which has all of them."""
    return local.from_arrow(TABLE, fragment_bytes=FRAGMENT_ROWS * ROW_BYTES)


def files(folder: Path) -> dict[str, int]:
    """The rows of each file, in the order of the manifest."""
    return {entry["path"]: entry["rows"] for entry in json.loads((folder / "_manifest.json").read_text())["files"]}


def test_a_task_makes_one_file_a_folder_of_its_fragments(dealt, local, tmp_path):
    result = dealt.write(tmp_path / "out", partition_by="day")
    assert (len(dealt.fragments), result.files) == (36, 3 * 3)  # 12 fragments each, of at most 16
    assert [name for name in files(tmp_path / "out") if name.startswith("day=1/")] == [
        f"day=1/part-{first:05d}.parquet" for first in (11, 23, 35)
    ]
    assert local.read_parquet(tmp_path / "out").to_arrow() == EXPECTED
    dealt.write(tmp_path / "again", partition_by="day")
    manifests = [json.loads((tmp_path / name / "_manifest.json").read_text())["files"] for name in ("out", "again")]
    assert manifests[0] == manifests[1]


def test_a_folder_with_enough_rows_is_written_at_once(dealt, local, tmp_path, monkeypatch, subtests):
    for enough, max_rows_per_file in ((3, None), (4, 7), (20, 7), (20, None), (50, 7)):
        target = tmp_path / f"{enough}-{max_rows_per_file}"
        monkeypatch.setattr(parts, "ENOUGH_ROWS", enough)
        dealt.write(target, partition_by="day", max_rows_per_file=max_rows_per_file)
        written = files(target)
        with subtests.test(enough=enough, max_rows_per_file=max_rows_per_file):
            assert max(written.values()) <= (max_rows_per_file or enough + FRAGMENT_ROWS)
            assert list(written) == sorted(written)
            assert local.read_parquet(target).to_arrow() == EXPECTED


def test_rows_wait_in_bounded_memory(dealt, local, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "_together", lambda dataset, most: 12)
    monkeypatch.setattr(parts, "_WAITING_BYTES", 5 * FRAGMENT_ROWS * ROW_BYTES)
    dealt.write(tmp_path / "out", partition_by="day")
    of_first = [(name, rows) for name, rows in files(tmp_path / "out").items() if name.startswith("day=0/")][:2]
    assert of_first == [("day=0/part-00005.parquet", 20), ("day=0/part-00011.parquet", 20)]
    assert local.read_parquet(tmp_path / "out").to_arrow() == EXPECTED


def test_rows_that_are_larger_than_planned_do_not_wait(local, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "_WAITING_BYTES", 5_000)
    long = pa.table({"day": [row % 2 for row in range(64)], "text": [f"{row:05d}" * 200 for row in range(64)]})
    data = local.from_arrow(long, fragment_bytes=2 * 1020)  # two rows
    data.write(tmp_path / "out", partition_by="day")
    assert (len(data.fragments), set(files(tmp_path / "out").values())) == (32, {3, 1})


def test_a_value_that_cannot_be_written_is_told_with_its_file(local, tmp_path):
    tables: list[dict[str, Any]] = [{"day": [1, 2], "v": [[0.0], [1.0]]} for _ in range(8)]
    tables[5]["v"] = [[0.0], [float("inf")]]
    for index, table in enumerate(tables):
        pl.DataFrame(table).write_parquet(tmp_path / f"{index}.parquet")
    data = local.read_parquet(tmp_path / "*.parquet", fragment_bytes=1)
    with pytest.raises(DataValueError) as caught:
        data.write(tmp_path / "out", format="json_lines", partition_by="day")
    assert caught.value.path == str(tmp_path / "5.parquet")
    assert not (tmp_path / "out").exists()


def test_clusters_write_the_same_rows_in_the_same_order(engine, local, tmp_path):
    data = engine.from_arrow(TABLE, fragment_bytes=FRAGMENT_ROWS * ROW_BYTES)
    data.write(tmp_path / "out", partition_by="day")
    assert local.read_parquet(tmp_path / "out").to_arrow() == EXPECTED
    folders = [name.split("/")[0] for name in files(tmp_path / "out")]
    assert folders == sorted(folders)
