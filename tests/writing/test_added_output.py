"""Writes that add to an output: what they keep, what they replace, twice the same run, and two runs at once."""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.dataset.outputs.revision import Revision
from penstock.engines.base import Engine
from penstock.errors import CommitConflictError, ConfigError, OutputExistsError, PenstockError, SchemaDriftError
from penstock.io.sinks import StagedDirectory
from penstock.pipeline import Pipeline
from tests.outputs.alone import snapshot, verified

FORMATS = ("parquet", "orc", "avro", "arrow", "csv", "json_lines")
RUN = "scheduled__2024-01-01T00:00:00+00:00"


def rows(local: Engine, *pairs: tuple[int | None, str]) -> Dataset:
    """Rows of a day and a text, in fragments of two."""
    days, texts = zip(*pairs, strict=True) if pairs else ((), ())
    table = pa.table({"day": pa.array(days, pa.int64()), "s": pa.array(texts, pa.string())})
    return local.from_arrow(table, fragment_bytes=72)


def content(local: Engine, path: Path, format: str = "parquet") -> list[tuple[int | None, str]]:
    """The rows of a whole output."""
    verified(path)
    table = local.read(format, path, schema={"day": "int64", "s": "string"}).to_arrow()
    return list(zip(table["day"].to_pylist(), table["s"].to_pylist(), strict=True))


@pytest.mark.thorough
@pytest.mark.parametrize("format", FORMATS)
def test_appended_rows_come_after_those_there(local, tmp_path, format):
    in_order = [(1, "a"), (2, "b"), (1, "c"), (2, "d"), (1, "e")]
    by_day = [(1, "a"), (1, "c"), (2, "b"), (1, "e"), (2, "d")]
    for name, keys, expected in (("flat", (), in_order), ("folders", "day", by_day)):
        for pairs in (in_order[:3], in_order[3:]):
            result = rows(local, *pairs).write(tmp_path / name, format=format, mode="append", partition_by=keys)
        assert content(local, tmp_path / name, format) == expected
        assert (result.rows, result.rows_unchanged, result.rows_replaced) == (2, 3, 0)
    assert sorted(os.listdir(tmp_path)) == ["flat", "folders"]


@pytest.mark.parametrize("partition_by", [(), "day"])
def test_a_run_that_is_done_again_is_there_once(local, tmp_path, partition_by):
    target, parts = tmp_path / "out", {"mode": "append", "partition_by": partition_by}
    rows(local, (1, "a")).write(target, **parts, run_id="before")
    rows(local, (1, "lost"), (3, "lost")).write(target, **parts, run_id=RUN)
    rows(local, (2, "z")).write(target, **parts)
    again = rows(local, (1, "b"), (2, "c")).write(target, **parts, run_id=RUN)
    assert content(local, target) == [(1, "a"), (2, "z"), (1, "b"), (2, "c")]
    assert (again.run_id, again.rows_replaced, again.rows_unchanged) == (RUN, 2, 2)
    files = json.loads((target / "_manifest.json").read_text())["files"]
    assert [file.get("run") for file in files if file["rows"]][:2] == ["before", None]
    assert {file.get("run") for file in files[2:]} == {RUN}


def test_a_run_of_the_same_name_replaces_what_another_mode_wrote(local, tmp_path):
    rows(local, (1, "a")).write(tmp_path / "out", run_id=RUN)
    rows(local, (2, "b")).write(tmp_path / "out", mode="append", run_id=RUN)
    assert content(local, tmp_path / "out") == [(2, "b")]


@pytest.mark.thorough
@pytest.mark.parametrize("format", FORMATS)
def test_exactly_the_partitions_of_new_rows_are_replaced(local, tmp_path, format):
    target = tmp_path / "out"
    rows(local, (1, "a"), (2, "b"), (None, "n"), (3, "c"), (2, "d")).write(target, format=format, partition_by="day")
    for replaced, unchanged in ((3, 2), (3, 2)):
        new = rows(local, (2, "x"), (4, "y"), (None, "z"))
        result = new.write(target, format=format, partition_by="day", mode="overwrite_partitions")
        assert content(local, target, format) == [(1, "a"), (3, "c"), (None, "z"), (2, "x"), (4, "y")]
        assert (result.partitions, result.rows_replaced, result.rows_unchanged) == (3, replaced, unchanged)


def test_files_that_stay_are_not_written_again(local, tmp_path):
    target = tmp_path / "out"
    rows(local, (1, "a"), (2, "b")).write(target, partition_by="day")
    inode = (target / "day=1" / "part-00000.parquet").stat().st_ino
    rows(local, (2, "c")).write(target, partition_by="day", mode="overwrite_partitions")
    assert (target / "day=1" / "part-00000.parquet").stat().st_ino == inode
    assert not (target / "day=2" / "part-00000.parquet").exists()


def test_no_rows_leave_the_output_as_it_is(local, tmp_path):
    for mode in ("append", "overwrite_partitions"):
        for pairs, expected in (((), []), (((1, "a"),), [(1, "a")]), ((), [(1, "a")])):
            rows(local, *pairs).write(tmp_path / mode, partition_by="day", mode=mode)
            assert content(local, tmp_path / mode) == expected


OTHERS = {
    "type": ({"day": [1], "s": [1]}, {}, SchemaDriftError, "column 's' is int64, and string in the output"),
    "extra": (
        {"day": [1], "s": ["a"], "dy": [1]}, {}, SchemaDriftError,
        r"column 'dy' is not in the output .*\. Did you mean 'day'\?",
    ),
    "order": ({"s": ["a"], "day": [1]}, {}, SchemaDriftError, "not in the order of the output .*, from 'day' on"),
    "format": ({"day": [1], "s": ["a"]}, {"format": "csv"}, ConfigError, "format of the output .* is 'parquet'"),
    "folders": (
        {"day": [1], "s": ["a"]}, {"partition_by": "s"}, ConfigError, r"partition_by of the output .* is \('day',\)",
    ),
}  # fmt: skip


def test_rows_that_do_not_go_beside_those_there_are_refused_before_anything_is_read(local, tmp_path, subtests):
    target = tmp_path / "out"
    rows(local, (1, "a")).write(target, partition_by="day")
    before = snapshot(target)
    for other, (columns, parameters, error, problem) in OTHERS.items():
        data = local.from_arrow(pa.table(columns))
        unread = data.map_partitions(lambda frame: 1 / 0, data.schema)
        with subtests.test(other=other):
            with pytest.raises(error, match=problem):
                unread.write(target, **{"mode": "append", "partition_by": "day"} | parameters)
            assert (snapshot(target), os.listdir(tmp_path)) == (before, ["out"])


def test_rows_that_lack_a_column_are_not_added(local, tmp_path):
    rows(local, (1, "a")).write(tmp_path / "out")
    with pytest.raises(SchemaDriftError, match=r"column 's' of the output .* is not in the rows to add"):
        rows(local, (1, "a")).select("day").write(tmp_path / "out", mode="append")


def test_nothing_is_added_to_what_is_no_such_output(local, tmp_path):
    data = rows(local, (1, "a"))
    Pipeline(st.StringIndexer("s")).fit(data).save(tmp_path / "model")
    with pytest.raises(ConfigError, match="holds no dataset, but penstock/model"):
        data.write(tmp_path / "model", mode="append")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "a.parquet").write_text("x")
    with pytest.raises(OutputExistsError, match="holds no manifest"):
        data.write(tmp_path / "theirs", mode="append")
    data.write(tmp_path / "text", format="csv", delimiter=";")
    with pytest.raises(ConfigError, match=r"delimiter of the output .* is ';', and that of the rows to add ','"):
        data.write(tmp_path / "text", format="csv", mode="append")
    data.write(tmp_path / "out")
    path = tmp_path / "out" / "_manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({name: value for name, value in manifest.items() if name != "columns"}))
    with pytest.raises(ConfigError, match="does not say what its columns are"):
        data.write(tmp_path / "out", mode="append")


BROKEN: list[dict[str, Any]] = [
    {"partition_by": ["no"]},
    {"partition_by": 5},
    {"partition_by": ["s"], "columns": [{"name": "s", "type": "double"}]},
]


def test_a_manifest_with_folders_of_no_column_is_refused(local, tmp_path):
    rows(local, (1, "a")).write(tmp_path / "out", partition_by="day")
    path = tmp_path / "out" / "_manifest.json"
    whole = json.loads(path.read_text())
    for broken in BROKEN:
        path.write_text(json.dumps(whole | broken))
        with pytest.raises(PenstockError, match="partition_by"):
            local.read_parquet(tmp_path / "out")


@pytest.mark.thorough
def test_rows_set_aside_are_added_and_are_there_once_for_a_run(local, tmp_path):
    def add(*pairs: tuple[int, str], run_id: str) -> Any:
        data = rows(local, *pairs)
        checked = Pipeline(st.Expect("day < 10", action="quarantine")).fit(data).transform(data)
        return checked.write(tmp_path / "out", mode="append", run_id=run_id)

    def aside() -> list[int]:
        return local.read_parquet(tmp_path / "out.quarantine").to_arrow()["day"].to_pylist()

    add((1, "a"), (11, "b"), run_id="r1")
    assert add((12, "c"), (2, "d"), run_id="r2").quarantine == str(tmp_path / "out.quarantine")
    assert (content(local, tmp_path / "out"), aside()) == ([(1, "a"), (2, "d")], [11, 12])
    add((13, "b"), (14, "b"), run_id="r1")
    assert (content(local, tmp_path / "out"), aside()) == ([(2, "d")], [12, 13, 14])
    add((1, "a"), run_id="r1")
    assert aside() == [12]
    assert add((2, "d"), run_id="r2").quarantine is None
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.thorough
@pytest.mark.faults
def test_many_appends_at_once_all_come_through(local, tmp_path):
    ready = threading.Barrier(6)
    stage = Revision.stage

    def together(revision: Revision, dataset: Dataset) -> None:
        stage(revision, dataset)
        ready.wait(timeout=60)

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(6) as pool:
        patch.setattr(Revision, "stage", together)
        runs = [pool.submit(rows(local, (number, "x")).write, tmp_path / "out", mode="append") for number in range(6)]
        for run in runs:
            run.result(timeout=60)
    assert sorted(content(local, tmp_path / "out")) == [(number, "x") for number in range(6)]
    assert os.listdir(tmp_path) == ["out"]


def overtaken(patch: pytest.MonkeyPatch, other: Any) -> None:
    """Let another write come through when the next one has sealed its rows."""
    stage = Revision.stage

    def staged(revision: Revision, dataset: Dataset) -> None:
        stage(revision, dataset)
        patch.setattr(Revision, "stage", stage)
        revision.seal()
        other()

    patch.setattr(Revision, "stage", staged)


APART = {"mode": "overwrite_partitions", "partition_by": "day"}
AGAIN = {"mode": "append", "partition_by": "day", "run_id": RUN}


def test_two_that_overwrite_different_partitions_both_come_through(local, tmp_path, monkeypatch):
    target = tmp_path / "out"
    rows(local, (1, "a"), (2, "b"), (3, "c")).write(target, partition_by="day")
    overtaken(monkeypatch, lambda: rows(local, (1, "x")).write(target, **APART))
    rows(local, (2, "y")).write(target, **APART)
    assert sorted(content(local, target)) == [(1, "x"), (2, "y"), (3, "c")]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (APART, APART),
        (AGAIN, AGAIN),
        ({"mode": "overwrite", "partition_by": "day"}, APART),
        ({"mode": "append", "partition_by": "day"}, {"mode": "merge", "keys": "s", "partition_by": "day"}),
    ],
    ids=["the same partition", "the same run", "overwritten whole", "a merge"],
)  # fmt: skip
def test_a_run_that_would_undo_what_another_did_meanwhile_gives_way(local, tmp_path, monkeypatch, first, second):
    target = tmp_path / "out"
    rows(local, (1, "a"), (2, "b")).write(target, partition_by="day", run_id=RUN)
    overtaken(monkeypatch, lambda: rows(local, (1, "first")).write(target, **first))
    with pytest.raises(CommitConflictError):
        rows(local, (1, "second")).write(target, **second)
    assert (1, "first") in content(local, target)
    assert (1, "second") not in content(local, target)
    assert os.listdir(tmp_path) == ["out"]


def test_an_append_goes_on_from_an_output_that_was_overwritten_meanwhile_unless_its_columns_have_changed(
    local, tmp_path, monkeypatch
):
    target = tmp_path / "out"
    rows(local, (1, "a")).write(target)
    overtaken(monkeypatch, lambda: rows(local, (1, "b")).write(target, overwrite=True))
    rows(local, (2, "c")).write(target, mode="append")
    assert content(local, target) == [(1, "b"), (2, "c")]
    overtaken(monkeypatch, lambda: local.from_arrow(pa.table({"day": ["x"]})).write(target, overwrite=True))
    with pytest.raises(SchemaDriftError):
        rows(local, (2, "c")).write(target, mode="append")
    assert local.read_parquet(target).to_arrow().to_pydict() == {"day": ["x"]}
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.thorough
@pytest.mark.parametrize("partition_by", [(), "day"])
def test_every_engine_adds_the_same_rows(engine, local, tmp_path, partition_by):
    for place, each in (("own", engine), ("local", local)):
        for pairs in ([(1, "a"), (2, "b"), (3, "c")], [(2, "d"), (1, "e")]):
            rows(each, *pairs).write(tmp_path / place, mode="append", partition_by=partition_by, run_id=pairs[0][1])
        if partition_by:
            rows(each, (3, "z")).write(tmp_path / place, mode="overwrite_partitions", partition_by=partition_by)
    assert content(local, tmp_path / "own") == content(local, tmp_path / "local")


def test_an_output_without_a_name_of_its_run_is_of_the_run_that_staged_it(local, tmp_path):
    result = rows(local, (1, "a")).write(tmp_path / "out", mode="append")
    manifest = verified(tmp_path / "out")
    assert (manifest.run_id, manifest.files[0].run) == (result.run_id, None)
    assert manifest.files[0].path == f"part-{result.run_id}-00000.parquet"
    assert StagedDirectory(tmp_path / "out", run_id=result.run_id).run_id == result.run_id
