"""SIGKILL at every step of a write: the target is always whole, and the next run cleans up."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE

import pytest

import penstock.io.sinks
from penstock.io.sinks import file_entry, read_manifest
from tests.outputs.alone import StagedDirectory, verify_content

pytestmark = pytest.mark.thorough

PACKAGE = Path(penstock.io.sinks.__file__).parent

# The steps of a write in their order. "file-synced" is passed for a file and the steps from "swept" to
# "directories-synced" for a directory, "kept" where a file of the old output is one of the new too, "set-aside" only
# where two paths cannot be exchanged at once, "removed" only when something was replaced or a write was given up, and
# "settled" only where a run completes what a dead one began.
STEPS = (
    "entered",
    "settled",
    "recorded",
    "staged",
    "file-synced",
    "committing",
    "sealed",
    "kept",
    "swept",
    "files-synced",
    "manifest-written",
    "directories-synced",
    "locked",
    "checked",
    "journal-written",
    "journal-synced",
    "set-aside",
    "swapped",
    "parents-synced",
    "journal-removed",
    "unlocked",
    "removed",
    "finished",
)

# "new": nothing at the target; "exchange" and "aside": the two ways to replace an output; "keep": to add to one.
OTHERS = {"settled", "file-synced"}
SKIPPED = {
    "new": {"set-aside", "removed", "kept"} | OTHERS,
    "exchange": {"set-aside", "kept"} | OTHERS,
    "aside": {"kept"} | OTHERS,
    "keep": {"set-aside"} | OTHERS,
}
CASES = [(way, step) for way, skipped in SKIPPED.items() for step in STEPS if step not in skipped]


Run = Callable[..., int]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """A function that writes in a process of its own, and returns how that ended."""
    environment = os.environ | {"PYTHONPATH": str(PACKAGE.parents[2])}
    command = [sys.executable, str(Path(__file__).with_name("killed_writes.py"))]
    with subprocess.Popen(command, env=environment, stdin=PIPE, stdout=PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        told, ended = process.stdin, process.stdout

        def write(target: Path, run_id: str, way: str, failpoint: str | None = None) -> int:
            told.write(json.dumps([str(target), run_id, way, failpoint]) + "\n")
            return int(ended.readline())

        yield write
        told.close()


def save(target: Path, run_id: str) -> None:
    with StagedDirectory(target, overwrite=True, run_id=run_id) as staged:
        path = staged.path / "part-0.csv"
        path.write_text(run_id)
        staged.commit([file_entry(path, staged.path, rows=1, kind="csv")])


def whole(target: Path) -> str | None:
    """Return the run whose output the target is, None for no target; fail on anything in between."""
    if not target.exists():
        return None
    manifest = read_manifest(target)
    assert manifest is not None
    verify_content(target, manifest)
    return manifest.run_id


@pytest.mark.parametrize(("way", "step"), CASES)
def test_killed_write_leaves_the_old_or_the_new_output_and_the_next_run_cleans_up(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str, step: str
) -> None:
    target = tmp_path / "out"
    if way != "new":
        save(target, "old")
    assert run(target, "killed", way, step) == -signal.SIGKILL

    before = None if way == "new" or step == "set-aside" else "old"
    assert whole(target) == (before if STEPS.index(step) < STEPS.index("swapped") else "killed")

    save(target, "next")
    assert whole(target) == "next"
    assert os.listdir(tmp_path) == ["out"]
    warnings = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert any("run killed died" in message for message in warnings) is (step not in ("entered", "finished"))


def test_next_run_completes_a_replacement_that_was_half_done(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "out"
    save(target, "old")
    run(target, "killed", "aside", "set-aside")
    with StagedDirectory(target, overwrite=True, run_id="next"):
        assert whole(target) == "killed"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("way", SKIPPED)
def test_write_that_is_not_killed_succeeds(run: Run, tmp_path: Path, way: str) -> None:
    if way != "new":
        save(tmp_path / "out", "old")
    assert run(tmp_path / "out", "new", way) == 0
    assert whole(tmp_path / "out") == "new"


def test_failpoint_can_be_given_by_its_number(run: Run, tmp_path: Path) -> None:
    assert run(tmp_path / "out", "killed", "new", "2") == -signal.SIGKILL
    assert sorted(os.listdir(tmp_path)) == [".out.commit-lock", ".out.staging-killed.owner"]


def test_every_failpoint_of_the_source_is_a_step_of_the_loop() -> None:
    # Loads of a database are killed by the tests of databases.
    sources = [path.read_text() for path in PACKAGE.glob("*.py") if path.name not in ("failpoints.py", "sql.py")]
    called = re.findall(r'^\s+failpoint\("([a-z-]+)"\)$', "\n".join(sources), flags=re.MULTILINE)
    assert sorted(called) == sorted(STEPS)
