"""Who is told of drift: a function, a command, a webhook; what goes wrong there loses nothing."""

import json
import logging
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.cli.commands import main
from penstock.errors import ConfigError
from penstock.pipeline.drift.alarm import raise_alarm
from penstock.pipeline.drift.drift_report import DriftReport
from penstock.pipeline.drift.monitor import Monitor


@pytest.fixture(scope="module")
def sides(engines):
    rng = np.random.default_rng(0)
    return [engines.get("local").from_arrow(pa.table({"x": rng.normal(mean, 1, 800)})) for mean in (0, 1)]


@pytest.fixture(scope="module")
def model(sides):
    return ps.Pipeline(st.Clip("x", lower=-9.0)).fit(sides[0], keep_profile=True)


@pytest.fixture
def webhook() -> Iterator[tuple[str, list[bytes]]]:
    """The URL of a server, and the bodies of the requests that it got; /broken answers with an error."""
    bodies: list[bytes] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(500 if self.path == "/broken" else 204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Hook)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", bodies
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_function_is_called_with_a_report_that_has_alarms(model, sides):
    told: list[DriftReport] = []
    reports = [model.drift(side, alarm=told.append) for side in sides]
    assert told == reports[1:]


def test_a_monitor_tells_in_the_pass(model, sides, tmp_path):
    told: list[DriftReport] = []
    written = model.transform(sides[1], monitor=Monitor(alarm=told.append)).write_parquet(tmp_path / "out")
    assert told == [written.drift]


def test_a_webhook_gets_the_report(model, sides, webhook):
    url, bodies = webhook
    report = model.drift(sides[1], alarm=f"{url}/hook")
    assert [json.loads(body) for body in bodies] == [report.to_dict()]


def test_a_command_gets_the_report(model, sides, tmp_path):
    script = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(sys.stdin.read())"
    report = model.drift(sides[1], alarm=[sys.executable, "-c", script, str(tmp_path / "told.json")])
    assert json.loads((tmp_path / "told.json").read_text()) == report.to_dict()


def test_an_alarm_that_fails_is_logged_and_loses_nothing(model, sides, webhook, caplog):
    for alarm in (f"{webhook[0]}/broken", "false", "no-such-command-anywhere", lambda report: 1 / 0):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            report = model.drift(sides[1], alarm=alarm)
        assert not report.passed
        assert "the alarm of drift failed" in caplog.text
        assert "the alarm of drift failed" in (raise_alarm(alarm, report) or "")


def test_what_can_tell_nobody_is_refused_before_anything_is_read(model, sides):
    with pytest.raises(ConfigError, match="alarm is int, expected a function, the URL of a webhook, or a command"):
        model.drift(sides[1], alarm=7)


@pytest.mark.thorough
def test_the_command_line_compares_tells_and_ends_with_a_code(model, sides, tmp_path, capsys):
    model.save(tmp_path / "model")
    for name, side in zip(("before", "now"), sides, strict=True):
        side.write_parquet(tmp_path / name)
    common = ["drift", str(tmp_path / "model"), "--json", "--data"]
    assert main([*common, str(tmp_path / "before")]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["passed"]
    page, told = tmp_path / "page.html", tmp_path / "told.json"
    code = main([*common, str(tmp_path / "now"), "--report", str(page), "--alarm", f"tee {told}"])
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (code, result["passed"], result["alarm_error"]) == (3, False, None)
    assert json.loads(told.read_text())["alarms"] == result["alarms"]
    assert "<h1>model</h1>" in page.read_text()


@pytest.mark.thorough
def test_scores_are_monitored_from_the_command_line(model, sides, tmp_path, capsys):
    model.save(tmp_path / "model")
    sides[1].write_parquet(tmp_path / "now")
    limits = tmp_path / "limits.yaml"
    limits.write_text("limits: {psi: 99}")
    command = ["score", str(tmp_path / "model"), "--data", str(tmp_path / "now"), "--json", "--monitor", "--out"]
    assert main([*command, str(tmp_path / "out")]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["drift"]["alarms"]
    assert main([*command, str(tmp_path / "other"), "--limits", str(limits)]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["drift"]["alarms"] == []
    assert main([*command[:-2], "--out", str(tmp_path / "third"), "--alarm", "true"]) == 2


@pytest.mark.thorough
def test_a_profile_is_made_of_other_rows_from_the_command_line(model, sides, tmp_path):
    model.save(tmp_path / "model")
    sides[1].write_parquet(tmp_path / "now")
    now, made = str(tmp_path / "now"), str(tmp_path / "made")
    assert main(["drift", str(tmp_path / "model"), "--data", now, "--save-profile", made]) == 0
    assert main(["drift", made, "--data", now]) == 0
    assert main(["drift", str(tmp_path / "model"), "--data", now]) == 3
