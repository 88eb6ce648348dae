"""Records of tasks: what they count, on every engine, and that results are the same with them."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.core.errors import InputError
from penstock.core.recording import PHASES, Recorder, active_recorder, count, measure, recording, step
from penstock.core.recording import recorder as recorder_module
from penstock.core.recording.meter import Meter, measured
from penstock.core.recording.task_recording import Ticket
from penstock.core.scheduler import map_all, reduce_partitioned_all
from penstock.engines.base import Engine
from penstock.engines.local import results
from penstock.spmd.checkpoints import fingerprint
from penstock.spmd.recorded import RecordedBody
from penstock.testing import LocalGang

ROWS, FRAGMENT_BYTES = 4000, 48_000
PIPELINE = ps.Pipeline(
    st.StringIndexer("kind"),
    st.StandardScaler("x"),
    st.LogisticRegression(features=["x", "kind"], label="y", max_iter=3),
)
"""Two statistics in one scan, one of them of counted values, and a training."""

SCANS = ("scan 1 of 2", "scan 2 of 2", "write")


def table() -> pa.Table:
    values = np.arange(ROWS, dtype=np.float64)
    return pa.table({"x": values, "y": values % 2, "kind": pa.array([f"k{row % 7}" for row in range(ROWS)])})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four files of 1,000 rows."""
    folder = tmp_path_factory.mktemp("rows") / "rows"
    rows = ps.LocalEngine(device="cpu").from_arrow(table(), fragment_bytes=FRAGMENT_BYTES)
    rows.write_parquet(folder)
    return folder


def counted(run: ps.runs.Run) -> list[dict[str, Any]]:
    """Return of every task what does not depend on where it ran, nor in which order tasks started."""
    names = ["label", "kind", "fragment", "rows_in", "rows_out", "bytes_in", "bytes_out"]
    tasks = [row for row in run.tasks.select(names).to_pylist() if row["kind"] == "task" and row["label"] != "footers"]
    return sorted(tasks, key=repr)


@pytest.fixture(scope="module")
def fit(tmp_path_factory: pytest.TempPathFactory, files: Path) -> Callable[[Engine], tuple[ps.runs.Run, ...]]:
    """A function that fits and scores on an engine, once: the record, the model, and the folder with its rows."""

    @cache
    def fit(engine: Engine) -> tuple[ps.runs.Run, ps.PipelineModel, Path]:
        folder = tmp_path_factory.mktemp(engine.name)
        with ps.runs.record(folder, kind="fit") as recorded:
            dataset = engine.read_parquet(files, fragment_bytes=FRAGMENT_BYTES)
            model = PIPELINE.fit(dataset)
            model.transform(dataset).write_parquet(folder / "out")
        return ps.runs.Run.load(recorded.path), model, folder / "out"

    return fit


class TestMeter:
    def test_a_phase_inside_another_stops_the_clock_of_the_outer_until_it_ends_or_fails(self):
        now = iter([0.0, 1.0, 2.0, 5.0, 7.0, 11.0])
        with Meter("compute", clock=lambda: next(now)) as meter, measure("write"), measure("encode"):
            pass
        assert meter.seconds == {"compute": 1.0 + 4.0, "write": 1.0 + 2.0, "encode": 3.0}
        now = iter([0.0, 1.0, 3.0, 6.0])
        with Meter("compute", clock=lambda: next(now)) as meter, suppress(ValueError), measure("decode"):
            raise ValueError("bad")
        assert meter.seconds == {"compute": 1.0 + 3.0, "decode": 2.0}

    def test_the_phases_add_up_to_the_time_of_the_task(self, local):
        with recording(Recorder()) as recorder:
            list(map_all(local, abs, [-1], label="absolute"))
        (task,) = recorder.tasks
        assert task.seconds == sum(task.phases.values()) > 0

    def test_the_time_that_items_take_to_come_is_that_of_a_phase(self):
        now = iter([0.0, 1.0, 2.0, 5.0, 6.0, 7.0])
        with Meter("train", clock=lambda: next(now)) as meter:
            assert list(measured("decode", iter([7]))) == [7]
        assert meter.seconds == {"train": 1.0 + 3.0 + 1.0, "decode": 1.0 + 1.0}

    def test_nothing_is_counted_where_nothing_is_measured(self):
        count("rows_in", lambda: pytest.fail("called"))


class TestEvery:
    def test_rows_and_bytes_of_tasks_are_those_of_the_local_engine(self, distributed_engine, local, fit):
        (run, model, _), (reference, same, _) = fit(distributed_engine), fit(local)
        assert counted(run) == counted(reference)
        assert model.preprocessing_digest == same.preprocessing_digest

    def test_a_record_has_phases_spans_ranks_merges_and_slots(self, engine, fit, subtests):
        run, tasks = fit(engine)[0], fit(engine)[0].tasks.to_pylist()
        with subtests.test("tasks of a scan name what they did"):
            phases: dict[str, set[str]] = {label: set() for label in SCANS}
            for row in tasks:
                if row["kind"] == "task" and row["label"] in phases:
                    phases[row["label"]] |= {phase for phase in PHASES if row[phase] > 0}
            scan = {"decode", "compute"}
            assert phases == {SCANS[0]: scan, SCANS[1]: scan, SCANS[2]: scan | {"encode", "write"}}
        with subtests.test("scans and trainings are spans, and tasks are of one"):
            spans = [(span.kind, span.name) for span in run.spans if span.kind != "step" and span.name != "footers"]
            first, second, write = (("scan", label) for label in SCANS)
            assert spans == [first, second, ("train", "train LogisticRegression"), write]
            assert {row["kind"] for row in tasks if run.spans[row["span"]].kind == "train"} == {"rank"}
        with subtests.test("what is merged is recorded where it is merged"):
            merges = [row for row in tasks if row["kind"] == "merge"]
            assert [row["label"] for row in merges] == ["scan 1 of 2", "scan 2 of 2"]  # of four states each, by eights
            assert all(row["merge"] == row["seconds"] for row in merges)
        with subtests.test("the engine is named with its slots"):
            assert run.info["engine"] == {"name": engine.name, "device": str(engine.device), "slots": engine.slots}

    def test_every_fragment_of_every_scan_is_there_once(self, local, fit):
        rows = counted(fit(local)[0])
        fragments = [(row["label"], row["fragment"]) for row in rows]
        assert fragments == sorted((label, each) for label in SCANS for each in range(4))
        assert sum(row["rows_in"] for row in rows) == len(SCANS) * ROWS

    def test_a_model_is_the_same_with_a_record(self, local, files, fit):
        model = PIPELINE.fit(local.read_parquet(files, fragment_bytes=FRAGMENT_BYTES))
        assert fit(local)[1].digest == model.digest

    def test_work_in_parts_is_recorded_once_a_task(self, engine):
        with recording(Recorder()) as recorder:
            assert reduce_partitioned_all(engine, Halves(), range(10), label="halves") == [20, 25]
        assert sum(task.kind == "task" for task in recorder.tasks) == 10


class TestTraining:
    def test_rank_0_returns_the_records_of_all_ranks(self, local):
        body = RecordedBody(lambda rank: rank.index, Ticket(0, "cpu"))
        first, _ = LocalGang(2).run(body, {"train": local.from_arrow(table())})
        assert first.value == 0
        assert [(record.kind, record.fragment) for record in first.records] == [("rank", 0), ("rank", 1)]

    def test_a_checkpoint_is_gone_on_from_whether_or_not_a_training_is_recorded(self, local):
        data = {"train": local.from_arrow(table())}
        assert fingerprint(RecordedBody(abs, Ticket(0, "cpu")), data, 1) == fingerprint(abs, data, 1)


@dataclass(frozen=True)
class Halves:
    """Sums even numbers in one part, and odd ones in the other."""

    parts: int = 2

    def __call__(self, number: int) -> list[int]:
        return [number * (1 - number % 2), number * (number % 2)]

    def merge(self, sums: list[int]) -> int:
        return sum(sums)

    def prune(self, total: int) -> int:
        return total


class TestRun:
    def test_inputs_and_outputs_have_their_rows_and_bytes(self, local, fit):
        run, _, out = fit(local)
        parts = [f"part-{part:05d}.parquet" for part in range(4)]
        assert [Path(file["path"]).name for file in run.info["inputs"]] == parts
        assert all(file["bytes"] == Path(file["path"]).stat().st_size for file in run.info["inputs"])
        (output,) = run.info["outputs"]
        assert (output["rows"], output["files"]) == (ROWS, 4)
        assert output["bytes"] == sum(path.stat().st_size for path in out.glob("*.parquet"))

    def test_an_error_is_recorded_and_raised(self, local, tmp_path):
        with pytest.raises(InputError), ps.runs.record(tmp_path) as recorded:
            local.read_parquet(tmp_path / "nothing")
        run = ps.runs.Run.load(recorded.path)
        assert run.status == "failed"
        assert run.info["error"].startswith("MissingInputError: ")

    def test_who_waits_for_its_end_is_given_a_run_that_was_not_interrupted(self, tmp_path):
        for error, told in ((None, ["done"]), (ValueError("bad"), ["failed"]), (KeyboardInterrupt(), [])):
            ended: list[ps.runs.Run] = []
            folder = tmp_path / type(error).__name__
            with suppress(ValueError, KeyboardInterrupt), ps.runs.record(folder, on_end=ended.append):
                if error is not None:
                    raise error
            assert [run.status for run in ended] == told
            assert len(ps.runs.RunStore(folder).ids()) == 1

    def test_a_folder_that_cannot_be_written_is_warned_of(self, local, tmp_path, caplog):
        (tmp_path / "file").touch()
        with ps.runs.record(tmp_path / "file"):
            rows = local.from_arrow(table()).count()
        assert rows == ROWS
        assert "the record of the run was not written to" in caplog.text

    def test_a_store_has_the_same_record_as_a_folder(self, local, tmp_path):
        with ps.runs.record("memory://recorded-runs") as recorded:
            local.from_arrow(table()).to_arrow()
        stored = ps.runs.RunStore("memory://recorded-runs").get("last")
        stored.save(tmp_path / "run")
        copied = ps.runs.Run.load(tmp_path / "run")
        assert (copied.info, copied.tasks) == (stored.info, stored.tasks)
        assert recorded.path.endswith(copied.id)

    def test_a_query_is_a_span_and_its_rows_are_no_inputs(self, local, files, monkeypatch):
        monkeypatch.setattr(results, "TABLE_BYTES", 0)  # so that its rows are staged
        with recording(Recorder()) as recorder:
            sums = local.read_parquet(files).group_by("kind").agg(x=nw.col("x").sum())
            assert sums.sort("kind").to_arrow()["kind"].to_pylist() == [f"k{each}" for each in range(7)]
        assert "query" in {span.kind for span in recorder.spans}
        assert len(recorder.inputs) == 4

    def test_a_span_is_as_long_as_what_is_done_inside(self, monkeypatch):
        now = iter([100.0, 107.5])
        monkeypatch.setattr(recorder_module, "time", SimpleNamespace(time=lambda: next(now)))
        recorder = Recorder()
        with recorder.span("plan"):
            pass
        assert [(span.start, span.seconds) for span in recorder.spans] == [(100.0, 7.5)]

    def test_threads_that_work_for_a_run_are_recorded_with_it(self, local):
        with recording(Recorder()) as recorder:
            found = map_all(local, lambda _: active_recorder() is recorder, [1, 2], label="threads")
            assert list(found) == [True, True]

    def test_a_scan_in_a_step_is_a_part_of_it_and_one_not_taken_to_its_end_no_parent_of_what_follows(self, local):
        with recording(Recorder()) as recorder, step("fit"):
            local.from_arrow(table()).to_arrow()
        assert [(span.name, span.parent) for span in recorder.spans] == [("fit", None), ("read", 0)]
        with recording(Recorder()) as recorder:
            results = map_all(local, abs, [-1, -2], label="first")
            next(results)
            list(map_all(local, abs, [-3], label="second"))
            list(results)
        assert [(span.name, span.parent) for span in recorder.spans] == [("first", None), ("second", None)]
