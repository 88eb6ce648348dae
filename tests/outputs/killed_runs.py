"""Kill a run with four outputs at every step, let others follow, and print as JSON what is at each target then.

Run by test_joint_commit in a process of its own, which forks: `python killed_runs.py FOLDER`.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.io.sinks import JointCommit, StagedDirectory, StagedFile, file_entry, read_manifest, swap
from penstock.io.sinks.failpoints import VARIABLE
from tests.outputs.alone import no_exchange, verified

NAMES = ("models/clicks", "scores", "scores.quarantine", "pages/report.html")


def fit(folder: Path, run_id: str, *, bad_rows: bool) -> None:
    """Do as a fit does: a model, scores with their quarantine, and a page."""
    model, scores, bad, page = outputs = [stage(folder, name, run_id) for name in NAMES]
    with JointCommit(*outputs) as joint:
        for staged in (model, scores, bad) if bad_rows else (model, scores):
            path = staged.path / "part.csv"
            path.write_text(run_id)
            staged.seal([file_entry(path, staged.path, kind="csv")])
        if not bad_rows:
            bad.omit()
        page.seal(run_id.encode())
        joint.commit()


def state(folder: Path) -> list[str | None]:
    """Return the run whose output is at each target, None for nothing there; fail on what is not whole."""
    found = []
    for name in NAMES[:3]:
        found.append(verified(folder / name).run_id if read_manifest(folder / name) else None)
    page = folder / NAMES[3]
    return [*found, page.read_text() if page.exists() else None]


def left_over(folder: Path) -> list[str]:
    """Return what lies beside the targets."""
    return sorted(str(path) for path in folder.rglob(".*"))


def killed_at(step: str, work: Callable[[], None]) -> bool:
    """Do work in a process that kills itself at a step; return whether it did."""
    child = os.fork()
    if child == 0:
        os.environ[VARIABLE] = step
        work()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return os.WIFSIGNALED(status)


def stage(folder: Path, name: str, run_id: str) -> Any:
    """Return the output of a run at one of the targets."""
    if name.endswith(".html"):
        return StagedFile(folder / name, run_id=run_id)
    return StagedDirectory(folder / name, overwrite=True, run_id=run_id)


def enter(folder: Path, *names: str) -> None:
    """Begin a run that writes to some of the targets, and give up."""
    with JointCommit(*(stage(folder, name, "next") for name in names)):
        pass


def kill_everywhere(folder: Path, *, earlier: bool, first: int = 1) -> list[object]:
    """Kill at the n-th step for every n from the first, and give what `follow` does."""
    outcomes: list[object] = []
    for step in range(first, 1000):
        fresh(folder, earlier=earlier)
        if not killed_at(str(step), lambda: fit(folder, "killed", bad_rows=False)):
            return outcomes
        outcomes.append(follow(folder, NAMES[step % len(NAMES)]))
    raise AssertionError("the run has no end")


def kill_twice(folder: Path, first: str) -> list[object]:
    """Kill a run, then the next at its n-th step for every n, and give what `follow` does."""
    outcomes: list[object] = []
    for step in range(1, 1000):
        fresh(folder, earlier=True)
        assert killed_at(first, lambda: fit(folder, "killed", bad_rows=False))
        if not killed_at(str(step), lambda: enter(folder, NAMES[0])):
            return outcomes
        outcomes.append(follow(folder, NAMES[step % len(NAMES)]))
    raise AssertionError("the run has no end")


def follow(folder: Path, name: str) -> list[object]:
    """Let a run enter one target, and one enter all; return the state before, between and after, and what is left."""
    killed = state(folder)
    enter(folder, name)
    settled = state(folder)
    enter(folder, *NAMES)
    return [killed, settled, state(folder), left_over(folder)]


def fresh(folder: Path, *, earlier: bool) -> None:
    """Empty the folder, or bring back what an earlier run wrote there."""
    shutil.rmtree(folder, ignore_errors=True)
    if earlier:
        shutil.copytree(folder.with_name("earlier"), folder)
    else:
        folder.mkdir()


if __name__ == "__main__":
    os.fsync = lambda _: None  # type: ignore[assignment]  # what is killed is the process, not the machine
    place = Path(sys.argv[1])
    fit(place.with_name("earlier"), "old", bad_rows=True)
    told: dict[str, object] = {
        "exchange": kill_everywhere(place, earlier=True),
        "nothing there": kill_everywhere(place, earlier=False),
        "twice": kill_twice(place, "swapped"),
    }
    swap._renameat2 = no_exchange
    told["set aside"] = kill_everywhere(place, earlier=True, first=25)  # until then the file system does not matter
    told["twice set aside"] = kill_twice(place, "set-aside")
    print(json.dumps(told))
