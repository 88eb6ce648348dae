"""Who is told of the alarms of a run, and how the command ends."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest
from alarm_runs import run_of

from penstock.cli.commands import main
from penstock.pipeline.drift import alarm as drift_alarm
from penstock.runs.alarms import Alarm, check_alarms, raise_alarms

WRITE = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(sys.argv[2] + '\\n' + sys.stdin.read())"
FAIL = [sys.executable, "-c", "raise SystemExit(1)"]


def tell(**parameters: Any) -> list[str]:
    run = run_of()
    alarm = Alarm(**{"name": "slow", "value": "seconds", "above": 1} | parameters)
    return raise_alarms(check_alarms(run, [alarm]), run, "/runs/2")


def test_a_command_gets_the_path_of_the_record_and_the_alarm(tmp_path: Path) -> None:
    assert tell(command=[sys.executable, "-c", WRITE, str(tmp_path / "told")]) == []
    path, about = (tmp_path / "told").read_text().splitlines()
    told = json.loads(about)
    assert path == "/runs/2/run.json"
    assert (told["run_id"], told["name"], told["measured"], told["raised"]) == ("2", "slow", 10.0, True)


def test_a_webhook_gets_the_alarm_without_its_url(monkeypatch: pytest.MonkeyPatch) -> None:
    posted: list[Any] = []
    monkeypatch.setattr(drift_alarm, "post", lambda url, body, seconds: posted.append((url, json.loads(body))))
    assert tell(webhook="https://host/secret") == []
    ((url, about),) = posted
    assert url == "https://host/secret"
    assert about["message"] == "seconds is 10, above 1"
    assert "secret" not in json.dumps(about)


def test_an_alarm_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    for severity in ("error", "warn"):
        tell(severity=severity)
    said = "alarm slow of fit clicks: seconds is 10, above 1"
    found = [(each.levelno, each.getMessage()) for each in caplog.records]
    assert found == [(logging.ERROR, said), (logging.WARNING, said)]


def test_nobody_is_told_of_what_is_no_alarm(caplog: pytest.LogCaptureFixture) -> None:
    assert tell(above=100, command=FAIL) == []
    assert not caplog.records


def test_a_command_that_fails_keeps_no_webhook_from_being_told(monkeypatch: pytest.MonkeyPatch) -> None:
    posted: list[Any] = []
    monkeypatch.setattr(drift_alarm, "post", lambda *told: posted.append(told))
    (problem,) = tell(command=FAIL, webhook="https://host/hook")
    assert problem.startswith("alarm slow: not everybody was notified: CalledProcessError")
    assert len(posted) == 1


@pytest.mark.parametrize(("severity", "code"), [("error", 3), ("warn", 0)])
def test_the_command_ends_with_3_for_an_error(
    severity: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
