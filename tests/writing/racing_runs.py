"""Appends by the command line from several processes at the same moment, round by round.

Run by test_racing_runs, or by hand with more rounds: `python -m tests.writing.racing_runs FOLDER|URL ROUNDS`. Each
process has sealed its outputs before one of them commits, so that all but the first have to go on from what others did.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from penstock.cli.commands import main
from penstock.cli.etl import outputs
from penstock.dataset.writing import StagedDataset, commit_together

NAMES = ("a", "b")
JOB = """
def run(inputs, parameters):
    rows = inputs["rows"]
    return {"rows": rows, "by_day": rows, "own": rows}
"""
CONF = """
catalog:
  inputs:
    rows: '{run_id}.csv'
  outputs:
    rows: {path: 'OUT/rows', mode: append}
    by_day: {path: 'OUT/by_day', mode: append, partition_by: day}
    own: {path: 'OUT/own-{run_id}', overwrite: true}
"""


def race(out: str, rounds: int) -> list[int]:
    """Let two processes append, a day a round, to the same outputs; return their exit codes."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        (project / "job.py").write_text(JOB)
        (project / "conf" / "pipelines").mkdir(parents=True)
        (project / "conf" / "pipelines" / "job.yaml").write_text(CONF.replace("OUT", out))
        for number in range(rounds):
            for name in NAMES:
                (project / f"{name}{number}.csv").write_text(f"day,n\n{number},{ord(name)}\n")
        command = [sys.executable, "-m", "tests.writing.racing_runs", folder, str(rounds)]
        racers = [subprocess.Popen([*command, name]) for name in NAMES]
        return [racer.wait(timeout=60 + 20 * rounds) for racer in racers]


def _run(project: Path, name: str, rounds: int) -> None:
    os.chdir(project)
    for number in range(rounds):
        _meet(project, name, f"start-{number}")

        def together(joint: Any, staged: Iterable[StagedDataset], number: int = number) -> None:
            _meet(project, name, f"sealed-{number}")
            commit_together(joint, staged)

        outputs.commit_together = together
        given = ["run", "job.py", "--run-id", f"{name}{number}", "--engine", "local", "--device", "cpu", "--json"]
        if code := main([*given, "--pipelines", "."]):
            sys.exit(code)


def _meet(project: Path, name: str, point: str) -> None:
    """Wait until all processes are at a point."""
    (project / f"{point}-{name}").touch()
    deadline = time.monotonic() + 60
    while not all((project / f"{point}-{each}").exists() for each in NAMES):
        if time.monotonic() > deadline:
            sys.exit(f"{name} waited in vain at {point}")
        time.sleep(0.001)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        _run(Path(sys.argv[1]), sys.argv[3], int(sys.argv[2]))
    else:
        print(race(sys.argv[1], int(sys.argv[2])))
