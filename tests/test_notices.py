"""Warnings, log records and lines of a terminal: each leaves by one door, which nothing goes around."""

import ast
import logging
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock
from penstock import LocalEngine
from penstock.cli.doctor import Diagnosis, Finding
from penstock.cli.results import DatasetOutput, EvaluateResult, ExplainResult, FitResult, Scored, ScoreResult
from penstock.cli.tables import show
from penstock.core.console import PlainConsole
from penstock.core.notices import get_logger, warn
from penstock.core.progress import RichProgress

PACKAGE = Path(penstock.__file__).parent
HOSTILE = "\x1b[31mred\x07\x7f\x9b\u202e[bold]:smile:\nmodel  fake"
SHOWN = r"\x1b[31mred\x07\x7f\x9b\u202e[bold]:smile:\nmodel  fake"
URL = "s3://me:hunter2@bucket/a.parquet"
DOORS = {
    "warn": {"core/notices.py"},
    "warn_explicit": set(),
    "getLogger": {"core/notices.py"},
    "Console": {"core/console.py"},
    "print": {"cli/reporting.py"},
    "format_exception": {"cli/reporting.py", "dataset/task_errors.py"},
    "format_exc": set(),
    "print_exc": set(),
    "print_exception": set(),
}


@pytest.mark.thorough
def test_no_module_goes_around_a_door():
    for path in PACKAGE.rglob("*.py"):
        name = str(path.relative_to(PACKAGE))
        for call in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)):
            function = call.func
            if isinstance(function, ast.Name) and function.id in ("print", "Console"):
                assert name in DOORS[function.id], f"{name}, line {call.lineno}"
            if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
                module = function.value.id
                if module in ("warnings", "logging", "traceback") and function.attr in DOORS:
                    assert name in DOORS[function.attr], f"{name}, line {call.lineno}"


def test_a_log_record_holds_no_secret_wherever_it_comes_from(caplog):
    get_logger("penstock.test").warning("password=%s of %s: %s", "hunter2", HOSTILE, OSError(URL))
    (record,) = caplog.records
    assert "hunter2" not in f"{record.getMessage()} {record.args}"
    assert record.getMessage() == f"password=*** of {SHOWN}: s3://me:***@bucket/a.parquet"
    assert (record.pathname, record.name) == (__file__, "penstock.test")


def test_a_level_that_is_not_logged_costs_no_text(caplog):
    class Costly:
        def __str__(self) -> str:
            raise AssertionError

    logging.getLogger("penstock.test").setLevel(logging.WARNING)
    get_logger("penstock.test").debug("%s", Costly())
    assert not caplog.records


def test_a_warning_names_its_place_and_no_secret():
    with pytest.warns(UserWarning, match=r"^left out: s3://me:\*\*\*@bucket/a.parquet$") as caught:
        warn(f"left out: {URL}")
    assert caught[0].filename == __file__


@pytest.mark.parametrize("other", ["extra", "missing"])
def test_reading_files_that_differ_tells_of_them_without_their_password(other, caplog, recwarn):
    import fsspec

    folder = f"memory://me:hunter2@{other}"
    for name, columns in (("a", {"x": [1]}), ("b", {"x": [1], "y": [2]})):
        with fsspec.open(f"{folder}/{name}.parquet", "wb") as file:
            pq.write_table(pa.table(columns), file)
    paths = [f"{folder}/{name}.parquet" for name in ("ab" if other == "extra" else "ba")]
    LocalEngine(device="cpu").read_parquet(paths, extra_columns="warn", missing_columns="null")
    told = "".join([*(str(warning.message) for warning in recwarn.list), caplog.text])
    assert f"me:***@{other}" in told
    assert "hunter2" not in told


RESULTS = {
    "fit": FitResult(
        metrics={HOSTILE: 0.5, "none": None}, undefined={"none": HOSTILE}, bounds={}, labels={},
        intervals={HOSTILE: (0.0, 1.0)},
        slices={HOSTILE: [{HOSTILE: HOSTILE, "rows": 1}]}, report=HOSTILE, pipeline=HOSTILE, parameters={},
        model=HOSTILE, manifest="", digest="", preprocessing_digest="", rows=1, rows_read=1,
        dropped={HOSTILE: 1}, quarantined={HOSTILE: 1},
        scans=1, seconds=1.0, seconds_of={HOSTILE: 1.0}, counts=[HOSTILE], notes=[HOSTILE, "two"], engine=HOSTILE,
        device=HOSTILE, device_reason=HOSTILE,
        scored=Scored(
            path=HOSTILE, rows=1, rows_read=1, dropped={}, quarantined={}, nulled={}, quarantine=HOSTILE, run_id="",
        ),
    ),
    "evaluate": EvaluateResult(
        metrics={HOSTILE: 0.5}, undefined={}, bounds={}, labels={}, intervals={},
        slices={HOSTILE: [{HOSTILE: HOSTILE}]}, report=None, pipeline=HOSTILE, model=HOSTILE, digest="", seconds=1.0,
        engine=HOSTILE, device=HOSTILE,
    ),
    "score": ScoreResult(
        model=HOSTILE, digest="", seconds=1.0, engine="", device="",
        scored=DatasetOutput(
            path=URL, rows=1, rows_read=1, dropped={HOSTILE: 1}, quarantined={}, nulled={HOSTILE: 1},
            quarantine=None, run_id="", format="parquet", files=1, partitions=1, rows_replaced=0, rows_unchanged=0,
            check={"outcomes": [{"status": "failed", "rule": HOSTILE, "expected": HOSTILE, "message": HOSTILE}]},
        ),
        drift={"alarms": [HOSTILE]},
    ),
    "explain": ExplainResult(pipeline="", plan=HOSTILE.replace("\n", "")),
    "doctor": Diagnosis([HOSTILE.replace("\n", "")], ["cpu"], [Finding("Java", False, HOSTILE, HOSTILE)]),
}  # fmt: skip


def test_no_result_acts_on_the_terminal_that_shows_it(capsys, subtests):
    for name, result in RESULTS.items():
        with subtests.test(name):
            show(result, PlainConsole())
            out = capsys.readouterr().out
            assert not set(out) & set("\x1b\x07\x7f\x9b\u202e")
            assert r"\x1b[31mred\x07\x7f\x9b\u202e[bold]:smile:" in out
            assert not any(line.startswith("model  fake") for line in out.splitlines())
            assert "hunter2" not in out


def test_no_line_of_progress_acts_on_the_terminal(capsys):
    progress = RichProgress()
    with progress.track(HOSTILE, 1) as track:
        track.advance(detail=HOSTILE)
        progress.note(f"{HOSTILE} {URL}")
    err = capsys.readouterr().err
    assert not set(err) & set("\x07\x7f\x9b\u202e")
    assert "\x1b[31m" not in err
    assert err.count(SHOWN) == 3
    assert "s3://me:***@bucket" in err


def test_a_plan_has_a_line_for_each_of_its_facts_whatever_columns_are_called():
    import penstock.stages as st

    name = "x\nfit on nothing\x1b[2J"
    data = LocalEngine(device="cpu").from_arrow(pa.table({name: [1.0, 2.0], "y": [0.0, 1.0]}))
    plan = penstock.Pipeline(st.StandardScaler([name])).explain(data)
    assert r"x\nfit on nothing\x1b[2J" in plan
    assert not any(line.startswith("fit on nothing") for line in plan.splitlines())
