"""Logs as lines of JSON, which name the run and the task that they are of."""

import io
import json
import logging

import pyarrow as pa
import pyarrow.parquet as pq

import penstock as ps
from penstock.cli.commands import main
from penstock.core.notices import get_logger, json_logs
from penstock.core.recording import Recorder, recording
from penstock.core.scheduler import map_all
from penstock.io.fragments import Fragment

logger = get_logger("penstock.logs")


def _log(item: object) -> None:
    logger.warning("at work")


def test_a_log_record_of_a_task_names_its_run_its_scan_and_its_fragment(caplog):
    fragments = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1, 2]}), fragment_bytes=8).fragments
    assert len(fragments) == 2
    assert isinstance(fragments[0], Fragment)
    with recording(Recorder(run_id="r1")):
        list(map_all(ps.LocalEngine(device="cpu"), _log, fragments, label="log"))
    found = [(record.run_id, record.span, record.kind, record.fragment) for record in caplog.records]  # type: ignore[attr-defined]
    assert sorted(found) == [("r1", 0, "task", 0), ("r1", 0, "task", 1)]
    caplog.clear()
    with recording(Recorder(run_id="r1")):
        _log(None)  # between tasks
    _log(None)
    assert [getattr(record, "run_id", None) for record in caplog.records] == ["r1", None]


def test_a_line_is_json_without_the_secrets_of_other_libraries():
    stream = io.StringIO()
    with json_logs(stream):
        logging.getLogger("other").warning("cannot open %s", "s3://me:hunter2@bucket/a\n")
        logger.info("done")
        logging.getLogger("other").info("not worth a line")
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["level"], line["logger"]) for line in lines] == [("WARNING", "other"), ("INFO", "penstock.logs")]
    assert lines[0]["message"].startswith("cannot open s3://me:***@bucket/a")


def test_logs_are_as_before_when_it_is_left():
    before = logging.getLogger().handlers[:], logging.getLogger("penstock").level
    with json_logs(io.StringIO()):
        pass
    assert (logging.getLogger().handlers, logging.getLogger("penstock").level) == before


def test_a_command_logs_what_it_does_as_json(tmp_path, monkeypatch, capfd):
    pq.write_table(pa.table({"x": [1.0, 2.0]}), tmp_path / "a.parquet")
    monkeypatch.chdir(tmp_path)  # where there are no alarms
    monkeypatch.setenv("PENSTOCK_LOG", "json")
    options = ["--device", "cpu", "--json", "--runs", str(tmp_path / "runs")]
    assert main(["describe", f"{tmp_path}/a.parquet", *options]) == 0
    (run,) = (path.name for path in (tmp_path / "runs").iterdir())
    assert main(["describe", f"{tmp_path}/gone.parquet", *options]) == 3
    captured = capfd.readouterr()
    lines = [json.loads(line) for line in captured.err.splitlines()]
    assert run in {line.get("run_id") for line in lines if line["level"] == "INFO"}
    assert ["gone.parquet" in line["message"] for line in lines if line["level"] == "ERROR"] == [True]
    assert ["error" in json.loads(line) for line in captured.out.splitlines()] == [False, True]
