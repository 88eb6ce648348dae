"""The command line: what it prints, where, and its exit codes."""

import json
import os
import runpy
import signal
import subprocess
import sys
import time
from configparser import ConfigParser
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_projects import pipeline_module

from penstock import LocalEngine, Pipeline, PipelineModel, __version__
from penstock import stages as st
from penstock.__main__ import start
from penstock.cli import jobs
from penstock.cli.commands import main
from penstock.cli.reporting import EXIT_CODES, describe
from penstock.core import errors

ROOT = Path(__file__).parents[1]
PIPELINE = pipeline_module(
    'st.Imputer("x"), st.XGBoostRegressor("y", num_boost_round=parameters.rounds)',
    '[st.RegressionEvaluator(label="y")]',
    parameters="rounds: int = 3",
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "line.py").write_text(PIPELINE)
    x = np.arange(500.0)
    pq.write_table(pa.table({"x": x, "y": 2 * x}), tmp_path / "data.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


FIT = ["fit", "line", "--data", "data.parquet", "--out", "model", "--device", "cpu"]


def _last_line(text: str) -> dict[str, object]:
    return json.loads(text.splitlines()[-1])


def test_a_fit_prints_metrics_and_paths(project, capsys):
    assert main([*FIT, "--score", "scored"]) == 0
    out, err = capsys.readouterr()
    for text in ("rmse", "r2", "rows", "scans", "seconds", "sha256:", "model", "scored"):
        assert text in out
    for label in ("scan 1 of 1", "train XGBoostRegressor", "evaluate", "write"):
        assert any(line.startswith(label) for line in err.splitlines())
        assert not any(line.startswith(label) for line in out.splitlines())


@pytest.mark.thorough
def test_json_is_the_only_line_of_stdout_and_tables_go_to_stderr(project, capsys):
    assert main([*FIT, "--json"]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 1
    told = json.loads(out)
    assert {"digest", "rows", "scans", "seconds", "metrics", "model"} <= told.keys()
    assert list(told["metrics"])[:5] == ["rmse", "mse", "r2", "mae", "var"]
    assert "rmse" in err
    bare = PIPELINE.replace('[st.RegressionEvaluator(label="y")]', "[]")  # no evaluators, no table of metrics
    (project / "pipelines" / "line.py").write_text(bare)
    assert main([*FIT, "--overwrite", "--json"]) == 0
    out, err = capsys.readouterr()
    assert _last_line(out)["metrics"] == {}
    assert not any(line.startswith("metric") for line in err.splitlines())
    assert "sha256:" in err


@pytest.mark.thorough
def test_a_saved_model_is_evaluated_and_scores(project, capsys):
    main([*FIT, "--json"])
    manifest = _last_line(capsys.readouterr().out)["manifest"]
    evaluate = ["evaluate", "line", "--model", "model", "--data", "data.parquet", "--expect", manifest]
    assert main([*evaluate, "--json"]) == main(evaluate) == 0
    printed, table = capsys.readouterr().out.split("\n", 1)
    assert json.loads(printed)["metrics"]["r2"] > 0
    assert "r2" in table
    score = ["score", "model", "--data", "data.parquet", "--column", "prediction"]
    assert main([*score, "--out", "out", "--json"]) == main([*score, "--out", "t", "--out-format", "jsonl"]) == 0
    printed, table = capsys.readouterr().out.split("\n", 1)
    assert json.loads(printed)["scored"]["rows"] == 500
    assert "scored rows" in table
    parquet, text = (LocalEngine().read(name, out).to_arrow() for name, out in (("parquet", "out"), ("jsonl", "t")))
    assert parquet.schema.names == ["prediction"]
    assert text == parquet


@pytest.mark.thorough
def test_parameters_of_stages_are_set_as_in_python(project, capsys):
    given = ["--set", "Imputer.strategy=median", "--set", "XGBoostRegressor.max_depth=2", "--keep-statistics"]
    assert main([*FIT, "--test-fraction", "0", "--json", *given]) == 0
    told = _last_line(capsys.readouterr().out)
    params = {"Imputer.strategy": "median", "XGBoostRegressor.max_depth": 2}
    assert told["parameters"] == {"rounds": 3, **params}
    written = Pipeline(st.Imputer("x"), st.XGBoostRegressor("y", num_boost_round=3)).with_params(params)
    data = LocalEngine(device="cpu").read_parquet("data.parquet")
    assert told["digest"] == written.fit(data).digest
    assert PipelineModel.load("model").statistics.keys() == written.fit(data, keep_statistics=True).statistics.keys()


@pytest.mark.thorough
def test_an_unknown_parameter_of_a_stage_is_refused_by_every_command(project, capsys):
    main(FIT)
    evaluate = ["evaluate", "line", "--model", "model", "--data", "data.parquet"]
    for command in ([*FIT, "--overwrite"], evaluate, ["explain", "line", "--data", "data.parquet"]):
        assert main([*command, "--set", "Imputer.stratgy=median"]) == 2
        assert "--set Imputer.stratgy=median: Imputer has no parameter 'stratgy'. Did you mean 'strategy'?" in (
            capsys.readouterr().err
        )


@pytest.mark.thorough
def test_a_plan_is_explained(project, capsys):
    explain = ["explain", "line", "--data", "data.parquet"]
    assert main(explain) == 0
    assert "for Imputer" in capsys.readouterr().out
    assert main([*explain, "--memory-budget", "much", "--json"]) == 2
    assert "'much' is no size" in _last_line(capsys.readouterr().out)["error"]["message"]


def test_options_reach_the_request(project, monkeypatch):
    seen = {}
    monkeypatch.setattr(jobs, "fit", lambda request, progress: seen.update(request=request) or _stop())
    monkeypatch.setattr(jobs, "explain", lambda request, progress: seen.update(plan=request) or _stop())
    more = (
        "--data other.parquet --score s --test-fraction 0.3 --validation-fraction 0.1 --seed 5 --overwrite"
        " --format parquet --allow-unmanifested --max-bad-records 9 --engine dask --device gpu --conf a.yaml"
        " --conf b.yaml --set rounds=2 --memory-budget 1.5GiB"
        " --pipelines elsewhere --staging-dir /shared --world-size 3 --timeout 9 --max-restarts 1 --checkpoint-dir c"
        " --allow-insecure"
    )
    main(["fit", "line", "--data", "data.parquet", "--out", "model", *more.split()])
    main(["explain", "line", "--data", "data.parquet", "--memory-budget", "1.5GiB"])
    request = seen["request"]
    assert request.counting.memory_budget == seen["plan"].counting.memory_budget == 3 * 2**29
    assert list(request.data) == ["data.parquet", "other.parquet"]
    assert (request.pipeline, request.out, request.score, request.overwrite) == ("line", "model", "s", True)
    assert (request.test_fraction, request.validation_fraction, request.seed) == (0.3, 0.1, 5)
    assert (request.format, request.allow_unmanifested, request.max_bad_records) == ("parquet", True, 9)
    assert request.staging_dir == "/shared"
    assert (request.engine, request.device, list(request.conf)) == ("dask", "gpu", ["a.yaml", "b.yaml"])
    assert (list(request.set), request.pipelines) == (["rounds=2"], "elsewhere")
    spmd = request.spmd
    assert (spmd.world_size, spmd.timeout, spmd.max_restarts, spmd.checkpoint_dir) == (3, 9.0, 1, "c")
    assert spmd.allow_insecure


def _stop() -> None:
    raise errors.ConfigError("enough")


CODES = {
    errors.ConfigError: 2, errors.MissingExtraError: 2, errors.InputError: 3, errors.DataValueError: 3,
    errors.ExecutionError: 4, errors.UserCodeError: 4, errors.OutputError: 5, errors.DiskFullError: 5,
    errors.ArtifactError: 6, errors.UnsupportedStepError: 6, RuntimeError: 1, BaseException: 1, SystemExit: 1,
}  # fmt: skip


@pytest.mark.thorough
def test_an_error_has_the_exit_code_of_its_kind(capsys, monkeypatch, subtests):
    for kind, code in CODES.items():

        def fail(request: object, progress: object, kind: type[BaseException] = kind) -> None:
            raise kind("it is wrong")

        monkeypatch.setattr(jobs, "fit", fail)
        with subtests.test(kind.__name__):
            assert main([*FIT, "--json"]) == code
            out, err = capsys.readouterr()
            told = _last_line(out)["error"]
            assert (told["type"], told["exit_code"]) == (kind.__name__, code)
            assert "it is wrong" in told["message"]
            assert f"{kind.__name__}: " in err
            assert "Traceback" not in err


def test_every_kind_of_error_has_an_exit_code():
    codes = dict(EXIT_CODES)
    assert codes.pop(errors.AlarmError) == codes[errors.InputError]  # as of rules that are broken, and of drift
    assert set(errors.PenstockError.__subclasses__()) == set(codes)
    assert len(set(codes.values())) == len(codes)


def test_an_error_is_told_with_its_hint_and_place():
    error = errors.DataValueError("an infinity", hint="Drop it.", path="a.parquet", column="x", row=3)
    assert describe(error) == {
        "type": "DataValueError",
        "message": "an infinity (path 'a.parquet', column 'x', row 3)",
        "hint": "Drop it.",
        "exit_code": 3,
        "path": "a.parquet",
        "column": "x",
        "row": 3,
    }


def test_a_traceback_is_printed_when_asked(project, capsys):
    assert main([*FIT, "--set", "rounds=x", "--traceback"]) == 2
    err = capsys.readouterr().err
    assert "Traceback (most recent call last)" in err
    assert "--set rounds=x: rounds is read as 'x' (text), expected a valid integer" in err


@pytest.mark.thorough
@pytest.mark.filterwarnings("default")
def test_a_warning_is_one_line(project, capsys):
    for name, columns in (("a", {"x": [1.0], "y": [1.0]}), ("b", {"x": [1.0], "y": [1.0], "extra": [1]})):
        pq.write_table(pa.table(columns), f"{name}.parquet")
    assert main(["explain", "line", "--data", "a.parquet", "--data", "b.parquet"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if "extra" in line] == [
        f"Warning: columns that {project}/a.parquet lacks are left out: extra in {project}/b.parquet"
    ]


def test_a_wrong_use_exits_with_2_and_tells_it_in_json_too(capsys):
    for arguments in (["fit", "line"], ["fit", "line", "--data", "d", "--out", "m", "--seed", "x"], ["fitt"]):
        assert main(arguments) == 2
        assert capsys.readouterr().out == ""
        assert main([*arguments, "--json"]) == 2
        assert _last_line(capsys.readouterr().out)["error"]["type"] == "UsageError"


@pytest.mark.thorough
def test_no_command_prints_what_a_terminal_obeys(project, capsys, monkeypatch):
    name, red = "c\x1b[2J\x9b", "\x1b[31mred[bold]:smile:\u202e"
    x = np.arange(100.0)
    pq.write_table(pa.table({"x": x, "y": x, name: [red, "blue"] * 50}), "data.parquet")
    monkeypatch.setenv("JAVA_HOME", f"/nowhere/{red}")
    fit = ["fit", "line", "--data", "data.parquet", "--device", "cpu"]
    pieces = []
    for code, command in [
        (0, [*fit, "--out", "model", "--slice", name]),
        (0, ["doctor"]),
        (3, ["score", "model", "--data", "data.parquet", "--out", "o", "--column", f"{name}{red}", "--traceback"]),
        (3, ["fit", "line", "--data", f"{red}.parquet", "--out", "other"]),
        (2, [*fit, "--out", red, "--seed", red]),
        (2, [red]),
    ]:
        assert main(command) == code
        pieces += capsys.readouterr()
    printed = "".join(pieces)
    assert not set(printed) & set("\x1b\x9b\u202e")
    assert r"\x1b[31mred[bold]:smile:\u202e" in printed
    assert r"by c\x1b[2J\x9b" in printed


def test_the_program_lets_threads_that_wait_sleep_unless_told_otherwise(monkeypatch, capsys):
    for given, expected in [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")]:
        monkeypatch.setattr(os, "environ", {} if given is None else {"OMP_WAIT_POLICY": given})
        monkeypatch.setattr(sys, "argv", ["penstock", "--help"])
        assert start() == 0
        assert os.environ["OMP_WAIT_POLICY"] == expected


def test_the_console_script_is_the_program():
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    assert setup["options.entry_points"]["console_scripts"].split() == ["penstock", "=", "penstock.__main__:start"]


@pytest.mark.thorough
def test_help_is_quick_and_imports_nothing_heavy():
    code = "import sys; from penstock.cli.commands import main; main(['fit', '--help']); print([*sys.modules])"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    modules = made.stdout.splitlines()[-1]
    assert "'typer'" in modules
    for heavy in ("polars", "pyarrow", "numpy", "xgboost", "narwhals", "yaml"):
        assert f"'{heavy}'" not in modules


def test_help_tells_the_exit_codes_and_leaves_the_environment_as_it_was(capsys, monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    before = dict(os.environ)
    assert main(["--help"]) == 0
    assert main(["--version"]) == 0
    assert dict(os.environ) == before
    told = " ".join(capsys.readouterr().out.split())
    assert told.endswith(f" penstock {__version__}")
    for text in ("2 wrong use or configuration", "3 input", "4 execution", "5 output", "6 saved model", "130 and 143"):
        assert text in told


def test_a_signal_is_told_with_its_code_and_how_to_go_on(capsys, monkeypatch):
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        monkeypatch.setattr(jobs, "fit", lambda request, progress, number=number: signal.raise_signal(number))
        assert main([*FIT, "--json"]) == code
        told = _last_line(capsys.readouterr().out)["error"]
        assert (told["type"], told["exit_code"]) == (number.name, code)
        assert "--checkpoint-dir" in told["hint"]


@pytest.mark.faults
@pytest.mark.thorough
def test_a_signal_stops_a_training_and_leaves_nothing(project):
    command = [sys.executable, "-m", "penstock", *FIT, "--set", "rounds=1000000", "--json"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ, cwd=project
    )
    while not process.stderr.readline().startswith("scan 1 of 1"):  # told as it ends; the training comes next
        assert process.poll() is None
    spent = psutil.Process(process.pid).cpu_times
    began = spent().user
    while spent().user < began + 0.3:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 143
    assert _last_line(out)["error"]["type"] == "SIGTERM"
    assert sorted(path.name for path in project.iterdir()) == ["data.parquet", "pipelines"]


@pytest.mark.thorough
def test_a_job_file_is_the_command_of_its_name(capsys, monkeypatch):
    for job, command in {
        "fit": "fit",
        "score": "score",
        "evaluate": "evaluate",
        "check": "check",
        "etl": "run",
    }.items():
        monkeypatch.setattr(sys, "argv", [f"{job}.py", "--help"])
        with pytest.raises(SystemExit, match="0"):
            runpy.run_path(str(ROOT / "jobs" / f"{job}.py"), run_name="__main__")
        assert f"penstock {command}" in capsys.readouterr().out
