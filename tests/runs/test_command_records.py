"""The records that commands leave: where, and what they say."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock.cli.commands import main

FIT = ["fit", "line", "--data", "data.parquet", "--out", "model", "--device", "cpu", "--overwrite"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_pipeline) -> Path:
    stages = 'st.Imputer("x"), st.LinearRegression(features=["x"], label="y")'
    write_pipeline(tmp_path, stages, 'st.RegressionEvaluator(label="y")')
    x = np.arange(500.0)
    pq.write_table(pa.table({"x": x, "y": 2 * x}), tmp_path / "data.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PENSTOCK_RUNS", raising=False)
    return tmp_path


def the_run(folder: str = "runs") -> ps.runs.Run:
    (run,) = ps.runs.RunStore(folder)
    return run


def test_a_fit_leaves_a_record_beside_the_pipelines(project, capsys):
    assert main([*FIT, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    run = the_run()
    assert (run.kind, run.name, run.status) == ("fit", "line", "done")
    assert run.info["digests"]["digest"] == result["digest"]
    assert run.info["metrics"] == result["metrics"]
    assert [file["rows"] for file in run.info["inputs"]] == [500]
    assert [Path(output["path"]).name for output in run.info["outputs"]] == ["model"]
    assert run.info["configuration"] == {
        "pipeline": "line", "data": ["data.parquet"], "out": "model", "device": "cpu", "overwrite": True
    }  # fmt: skip


@pytest.mark.thorough
def test_a_score_leaves_one_too(project, monkeypatch):
    monkeypatch.setenv("PENSTOCK_RUNS", "none")
    main(FIT)
    monkeypatch.delenv("PENSTOCK_RUNS")
    assert main(["score", "model", "--data", "data.parquet", "--out", "scores"]) == 0
    run = the_run()
    assert (run.kind, run.name) == ("score", "model")
    assert [(output["path"], output["rows"]) for output in run.info["outputs"]] == [("scores", 500)]


def test_a_job_that_fails_leaves_one_that_says_so(project):
    assert main([*FIT[:3], "nothing.parquet", *FIT[4:]]) == 3
    run = the_run()
    assert run.status == "failed"
    assert "nothing.parquet" in run.info["error"]


def test_the_option_says_in_which_store_before_the_environment_does(project, monkeypatch):
    monkeypatch.setenv("PENSTOCK_RUNS", "of-environment")
    assert main([*FIT, "--runs", "memory://runs-of-commands"]) == 0
    assert the_run("memory://runs-of-commands").kind == "fit"
    assert not (project / "of-environment").exists()
    assert not (project / "runs").exists()


@pytest.mark.thorough
def test_no_record_is_written_where_none_is_asked_for(project, monkeypatch):
    assert main([*FIT, "--runs", "none"]) == 0
    assert main(["explain", "line", "--data", "data.parquet"]) == 0
    monkeypatch.setenv("PENSTOCK_RUNS", "none")
    assert main(["describe", "data.parquet"]) == 0
    monkeypatch.delenv("PENSTOCK_RUNS")
    (project / "pipelines").rename(project / "elsewhere")
    assert main(["describe", "data.parquet"]) == 0
    assert not (project / "runs").exists()


def test_no_secret_is_in_a_record(project):
    secret = "hunter2-of-a-test"
    main([*FIT, "--set", f"Imputer.password={secret}"])
    main(["describe", f"s3://me:{secret}@no-such-bucket/rows"])
    written = [path.read_bytes() for path in (project / "runs").rglob("*") if path.is_file()]
    assert len(written) == 4
    assert not any(secret.encode() in content for content in written)


class TestAlarms:
    ALARM = "alarms:\n  - {name: bad, value: 'metric:r2', below: 2, severity: SEVERITY}\n"

    @pytest.fixture
    def alarms(self, project: Path) -> Path:
        (project / "conf").mkdir()
        return project / "conf" / "alarms.yaml"

    def test_one_of_severity_error_ends_a_job_that_is_done_and_the_command_says_the_same(self, project, alarms, capsys):
        alarms.write_text(self.ALARM.replace("SEVERITY", "error"))
        assert main([*FIT, "--json"]) == 3
        error = json.loads(capsys.readouterr().out)["error"]
        assert (error["type"], the_run().status) == ("AlarmError", "done")
        assert "bad: metric:r2 is 1, below 2" in error["message"]
        assert ps.PipelineModel.load("model").digest == the_run().info["digests"]["digest"]
        assert main(["alarms", "last", "--json"]) == 3
        (alarm,) = json.loads(capsys.readouterr().out)["alarms"]
        assert (alarm["raised"], alarm["message"]) == (True, "metric:r2 is 1, below 2")

    def test_a_warning_is_logged(self, project, alarms, caplog):
        alarms.write_text(self.ALARM.replace("SEVERITY", "warn"))
        assert main(FIT) == 0
        assert "metric:r2 is 1, below 2" in caplog.text

    def test_a_file_that_is_none_of_alarms_is_refused_before_any_work(self, project, alarms):
        alarms.write_text("alarms: [{name: bad, value: speed}]\n")
        assert main(FIT) == 2
        assert not (project / "model").exists()
        assert (the_run().status, the_run().info["error"][:11]) == ("failed", "ConfigError")

    @pytest.mark.parametrize("damage", ["{}", "[]", "null", "[" * 100_000])
    def test_a_damaged_record_fails_no_later_job(self, project, alarms, damage, caplog):
        alarms.write_text("alarms: [{name: slow, value: seconds, above: 1000, relative_to: history}]\n")
        (project / "runs" / "20200101T000000000000-00000000").mkdir(parents=True)
        (project / "runs" / "20200101T000000000000-00000000" / "run.json").write_text(damage)
        assert main(FIT) == 0
        assert the_run().status == "done"
        assert "20200101T000000000000-00000000" in caplog.text

    @pytest.mark.parametrize("broken", ["ended_run.send", "ended_run.history_of", "ended_run.raise_alarms"])
    def test_whatever_fails_at_the_end_of_a_run_fails_no_job_that_is_done(
        self, project, alarms, broken, caplog, monkeypatch
    ):
        def fail(*_: object, **__: object) -> None:
            raise RuntimeError("sesame-0815 of the store")

        alarms.write_text("alarms: [{name: slow, value: seconds, above: 1000, relative_to: history}]\n")
        monkeypatch.setattr(f"penstock.cli.{broken}", fail)
        assert main(FIT) == 0
        assert "the end of the run was not reported: RuntimeError" in caplog.text

    def test_alarms_of_a_run_without_a_record_are_refused(self, project, alarms, capsys):
        alarms.write_text(self.ALARM.replace("SEVERITY", "error"))
        assert main([*FIT, "--runs", "none", "--alarms", "conf/alarms.yaml", "--json"]) == 2
        assert "no record of the run" in json.loads(capsys.readouterr().out)["error"]["message"]

    def test_the_option_names_another_file(self, project, alarms):
        alarms.with_name("mine.yaml").write_text(self.ALARM.replace("SEVERITY", "error"))
        assert main([*FIT, "--alarms", "conf/mine.yaml"]) == 3

    def test_of_a_job_that_fails_the_error_is_its_own(self, project, alarms, capsys):
        alarms.write_text("alarms: [{name: failed, value: failed, above: 0}]\n")
        assert main([*FIT[:3], "nothing.parquet", *FIT[4:], "--json"]) == 3
        assert json.loads(capsys.readouterr().out)["error"]["type"] == "MissingInputError"
