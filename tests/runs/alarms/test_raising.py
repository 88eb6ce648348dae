"""Who is told of the alarms of a run, and how the command ends."""

import json
import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from alarm_runs import run_of
from eventually import until_ended

from penstock.cli.commands import main
from penstock.core import notifying
from penstock.runs.alarms import Alarm, check_alarms, raise_alarms

WRITE = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(sys.argv[2] + '\\n' + sys.stdin.read())"
FAIL = [sys.executable, "-c", "raise SystemExit(1)"]


def tell(**parameters: Any) -> list[str]:
    run = run_of()
    alarm = Alarm(**{"name": "slow", "value": "seconds", "above": 1} | parameters)
    return raise_alarms(check_alarms(run, [alarm]), run, "/runs/2")


def test_a_command_gets_the_path_of_the_record_and_the_alarm(tmp_path):
    assert tell(command=[sys.executable, "-c", WRITE, str(tmp_path / "told")]) == []
    path, about = (tmp_path / "told").read_text().splitlines()
    told = json.loads(about)
    assert path == "/runs/2/run.json"
    assert (told["run_id"], told["name"], told["measured"], told["raised"]) == ("2", "slow", 10.0, True)


def test_a_webhook_gets_the_alarm_without_its_url(monkeypatch):
    posted: list[Any] = []
    monkeypatch.setattr(notifying, "post", lambda url, body, seconds: posted.append((url, json.loads(body))))
    assert tell(webhook="https://host/secret") == []
    ((url, about),) = posted
    assert url == "https://host/secret"
    assert about["message"] == "seconds is 10, above 1"
    assert "secret" not in json.dumps(about)


def test_an_alarm_is_logged(caplog):
    for severity in ("error", "warn"):
        tell(severity=severity)
    said = "alarm slow of fit clicks: seconds is 10, above 1"
    found = [(each.levelno, each.getMessage()) for each in caplog.records]
    assert found == [(logging.ERROR, said), (logging.WARNING, said)]


def test_nobody_is_told_of_what_is_no_alarm(caplog):
    assert tell(above=100, command=FAIL) == []
    assert not caplog.records


def test_a_command_that_fails_keeps_no_webhook_from_being_told(monkeypatch):
    posted: list[Any] = []
    monkeypatch.setattr(notifying, "post", lambda *told: posted.append(told))
    (problem,) = tell(command=FAIL, webhook="https://host/hook")
    assert problem.startswith("alarm slow: not everybody was notified: CalledProcessError")
    assert len(posted) == 1


@pytest.mark.parametrize(("severity", "code"), [("error", 3), ("warn", 0)])
def test_the_command_ends_with_3_for_an_error(severity, code, tmp_path, capsys):
    run_of(format=1).save(tmp_path / "runs" / "2")
    (tmp_path / "alarms.yaml").write_text(
        f"alarms:\n- {{name: slow, value: seconds, above: 1, severity: {severity}}}\n"
        "- {name: skewed, value: skew, above: 9}\n"
    )
    options = ["--runs", str(tmp_path / "runs"), "--alarms", str(tmp_path / "alarms.yaml")]
    assert main(["alarms", "last", *options, "--json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert told["passed"] is (code == 0)
    assert [(each["name"], each["raised"]) for each in told["alarms"]] == [("slow", True), ("skewed", False)]
    assert main(["alarms", "last", *options]) == code
    assert "the run has no skew" in capsys.readouterr().out


def test_an_infinite_metric_is_told_as_a_text_and_so_is_it_in_the_record(tmp_path):
    run = run_of(metrics={"rmse": float("inf")}, format=1)
    command = [sys.executable, "-c", WRITE, str(tmp_path / "told")]
    alarms = [Alarm(name="it", value="metric:rmse", above=1, command=command)]
    run.save(tmp_path / "2")
    assert raise_alarms(check_alarms(run, alarms), run, str(tmp_path / "2")) == []
    path, about = (tmp_path / "told").read_text().splitlines()
    assert json.loads(about)["measured"] == json.loads(Path(path).read_text())["metrics"]["rmse"] == "inf"


@pytest.mark.faults
def test_a_webhook_that_answers_a_byte_at_a_time_has_one_limit_for_all_of_it(tarpit):
    run = run_of()
    alarms = [Alarm(name="slow", value="seconds", above=1, webhook=tarpit)]
    began = time.monotonic()
    (problem,) = raise_alarms(check_alarms(run, alarms), run, "/runs/2", seconds=0.5)
    assert "TimeoutError" in problem
    assert time.monotonic() - began < 5


@pytest.fixture
def tarpit() -> Iterator[str]:
    """The URL of a server whose answer never ends."""
    over = threading.Event()

    def answer() -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while not over.wait(0.1):
                connection.sendall(b"a")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        over.set()
        thread.join()


@pytest.mark.faults
def test_a_command_that_takes_too_long_ends_with_its_children(tmp_path):
    script = f"sleep 600 & echo $! > {tmp_path}/child; wait"
    with pytest.raises(subprocess.TimeoutExpired):
        notifying.run_command(["sh", "-c", script], b"", 1.0)
    child = int((tmp_path / "child").read_text())
    until_ended([child])
