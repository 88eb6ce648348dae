"""SIGKILL at every step of a write: the target is always whole, and the next run cleans up."""

import logging
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock.io.sinks
from tests.outputs.alone import StagedDirectory, save, verified
from tests.outputs.workers import Worker, worker

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


@pytest.fixture(scope="module")
def run() -> Iterator[Worker]:
    with worker("tests.outputs.killed_writes") as write:
        yield write


def whole(target: Path) -> str | None:
    """Return the run whose output the target is, None for no target; fail on anything in between."""
    return verified(target).run_id if target.exists() else None


@pytest.mark.faults
@pytest.mark.parametrize("way", SKIPPED)
def test_killed_write_leaves_the_old_or_the_new_output_and_the_next_run_cleans_up(run, tmp_path, caplog, subtests, way):
    for step in (step for step in STEPS if step not in SKIPPED[way]):
        target = tmp_path / step / "out"
        caplog.clear()
        with subtests.test(step=step):
            target.parent.mkdir()
            if way != "new":
                save(target, "old")
            assert run(target, "killed", way, step) == -signal.SIGKILL
            before = None if way == "new" or step == "set-aside" else "old"
            assert whole(target) == (before if STEPS.index(step) < STEPS.index("swapped") else "killed")
            save(target, "next")
            assert whole(target) == "next"
            assert os.listdir(target.parent) == ["out"]
            warnings = [record.message for record in caplog.records if record.levelno == logging.WARNING]
            told = any("run killed died" in message for message in warnings)
            assert told is (step not in ("entered", "finished"))


@pytest.mark.faults
def test_next_run_completes_a_replacement_that_was_half_done(run, tmp_path):
    target = tmp_path / "out"
    save(target, "old")
    run(target, "killed", "aside", "set-aside")
    with StagedDirectory(target, overwrite=True, run_id="next"):
        assert whole(target) == "killed"
    assert os.listdir(tmp_path) == ["out"]


def test_every_failpoint_of_the_source_is_a_step_of_the_loop():
    # Loads of a database are killed by the tests of databases, stagings in a store by those of stores.
    others = ("failpoints.py", "sql.py", "staging_place.py")
    sources = [path.read_text() for path in PACKAGE.glob("*.py") if path.name not in others]
    called = re.findall(r'^\s+failpoint\("([a-z-]+)"\)$', "\n".join(sources), flags=re.MULTILINE)
    assert sorted(called) == sorted(STEPS)
