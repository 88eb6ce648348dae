"""Jobs as tasks of Airflow: what their ends mean, and what they are told; `make test-airflow` runs them in Airflow."""

import importlib.util
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import typer
from eventually import until_ended

from penstock.cli.commands import app
from penstock.cli.reporting import EXIT_CODES, NOTHING_NEW, UNEXPECTED
from penstock.errors import ConfigError, MissingExtraError
from penstock.integrations.airflow.job import JOBS, JobProcess, PenstockJob, raise_unless_done, run_id_of, with_identity

README = Path(__file__).parents[1] / "jobs" / "README.md"
ERROR = {"error": {"type": "SchemaError", "message": "no column 'x'", "hint": "Look.", "exit_code": 3}}
FAIL, SKIP, AGAIN = "AirflowFailException", "AirflowSkipException", "AirflowException"


@pytest.fixture
def exceptions(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The exceptions of Airflow, or classes of the same names where it is not installed."""
    try:
        return importlib.import_module("airflow.exceptions")
    except ImportError:
        stand_in = ModuleType("airflow.exceptions")
        stand_in.AirflowException = type(AGAIN, (Exception,), {})  # type: ignore[attr-defined]
        for name in (FAIL, SKIP):
            setattr(stand_in, name, type(name, (stand_in.AirflowException,), {}))  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "airflow", ModuleType("airflow"))
        monkeypatch.setitem(sys.modules, "airflow.exceptions", stand_in)
        return stand_in


def context(day: int = 5, task: str = "etl", map_index: int = -1, **more: object) -> dict[str, object]:
    instance = SimpleNamespace(dag_id="trips", task_id=task, map_index=map_index)
    return {"ti": instance, "logical_date": datetime(2024, 1, day, tzinfo=UTC), **more}


def test_an_exit_code_fails_skips_or_tries_again_and_success_raises_nothing(exceptions):
    raise_unless_done(0, {})
    ends = {1: FAIL, 2: FAIL, 3: FAIL, 4: AGAIN, 5: AGAIN, 6: FAIL, 99: SKIP, 143: AGAIN, -9: AGAIN}
    for code, raised in ends.items():
        with pytest.raises(exceptions.AirflowException) as caught:
            raise_unless_done(code, {})
        assert type(caught.value).__name__ == raised, code


def test_the_documented_column_of_tries_is_what_airflow_does(exceptions):
    again = {}
    for line in README.read_text().splitlines():
        if match := re.match(r"\| ([\d, ]+) \|.*\| ([^|]*) \|$", line):
            again.update({int(code): match[2] for code in match[1].split(",")})
    assert {UNEXPECTED, NOTHING_NEW, *(code for _, code in EXIT_CODES)} <= again.keys()
    for code, answer in again.items():
        if code:
            with pytest.raises(exceptions.AirflowException) as caught:
                raise_unless_done(code, {})
            is_final = type(caught.value).__name__ != AGAIN
            assert is_final == answer.startswith(("no", "when it is repaired")), code


def test_an_error_is_told_with_its_hint(exceptions):
    with pytest.raises(exceptions.AirflowFailException, match=r"SchemaError: no column 'x' \(bad input.*Hint: Look"):
        raise_unless_done(3, ERROR)


def test_a_run_gets_its_date_and_its_name_and_a_fit_gets_neither():
    words = with_identity("run", ["trips"], context())
    assert words[:3] == ["trips", "--date", "2024-01-05"]
    assert words[3:] == ["--run-id", run_id_of(context())]
    assert with_identity("promote", ["a", "b"], context())[2] == "--run-id"
    assert with_identity("fit", ["trips"], context()) == ["trips"]


def test_what_is_given_stays():
    given = ["trips", "--date=2024-01-04", "--run-id", "mine"]
    assert with_identity("run", given, context()) == given
    assert "--date" not in with_identity("run", ["trips", "--from", "2024-01-01", "--to", "2024-01-02"], context())


def test_a_date_with_a_time_keeps_it_and_a_run_without_one_goes_by_its_id():
    hour = {**context(), "logical_date": datetime(2024, 1, 5, 6, tzinfo=UTC)}
    assert with_identity("run", [], hour)[1] == "2024-01-05T06:00:00+00:00"
    manual = {**context(), "logical_date": None, "dag_run": SimpleNamespace(run_id="manual__1")}
    assert with_identity("run", [], manual) == ["--run-id", run_id_of(manual)]


def test_a_name_is_the_same_for_a_try_and_differs_by_day_task_and_place_in_a_map():
    others = [context(), context(6), context(task="fit"), context(map_index=0), context(map_index=1)]
    names = [run_id_of(each) for each in others]
    assert len(set(names)) == 5
    assert names[0] == run_id_of(context())
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", run_id_of(context(task="t" * n))) for n in (1, 200))


def test_every_command_that_ends_is_a_job_and_prints_json():
    commands = typer.main.get_command(app).commands
    assert set(commands) - set(JOBS) == {"serve", "watch", "init", "list", "doctor", "models", "runs"}
    assert all("as_json" in {option.name for option in commands[job].params} for job in JOBS)


def test_a_job_that_is_none_and_arguments_that_are_no_texts_are_refused():
    with pytest.raises(ConfigError, match="Did you mean 'score'"):
        PenstockJob(job="scroe")
    for wrong in ("trips --date x", [1]):
        with pytest.raises(ConfigError, match="expected a list of texts"):
            PenstockJob(job="fit").command(wrong, context())  # type: ignore[arg-type]


def python(code: str) -> JobProcess:
    return JobProcess([sys.executable, "-c", code], environment={"TOLD": "by the task"})


def test_the_last_line_is_the_result_and_all_else_the_log():
    log: list[str] = []
    aside = "import os, sys, json; print('first'); print('aside', file=sys.stderr)"
    code = f"{aside}; print(json.dumps({{'a': os.environ['TOLD']}}))"
    assert python(code).run(log.append) == (0, {"a": "by the task"})
    assert sorted(log) == ["aside", "first"]


def test_a_last_line_that_is_no_object_is_no_result():
    for printed in ("", "no json", "[1]"):
        assert python(f"print({printed!r}); raise SystemExit(4)").run(lambda line: None) == (4, {}), printed


@pytest.mark.faults
def test_a_child_that_would_outlive_the_job_is_ended():
    """The job is waited for no longer than its child: not at all, or for an hour, which is over the limit of a test."""
    child = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)'])"
    log: list[str] = []
    code = f"import subprocess, sys; print({child}.pid); print('{{}}', flush=True)"
    assert python(code).run(log.append) == (0, {})
    until_ended(map(int, log[0].split(",")))


@pytest.mark.faults
def test_a_job_that_is_stopped_ends_by_sigterm():
    process = python("import time; print('up', flush=True); print('more', flush=True); time.sleep(3600)")
    assert process.run(lambda line: process._process.terminate()) == (-15, {})  # type: ignore[union-attr]


@pytest.mark.thorough
def test_bad_input_of_a_real_job_fails_its_task(exceptions, tmp_path):
    with pytest.raises(exceptions.AirflowFailException, match="MissingInputError"):
        PenstockJob(job="evaluate", cwd=str(tmp_path)).run(["nowhere", "--data", "x"], context(), lambda line: None)


def test_what_is_missing_is_told_when_the_operator_is_used(monkeypatch):
    if importlib.util.find_spec("airflow") is not None:
        pytest.skip("Airflow is installed")
    package = importlib.import_module("penstock.integrations.airflow")
    assert package.__all__ == ["PenstockOperator", "penstock_task"]
    for name in package.__all__:
        with pytest.raises(MissingExtraError, match="airflow"):
            getattr(package, name)
