"""Run a study in children that are killed with SIGKILL at random, until one comes to the end; run as a script."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from tests.search.toy_studies import SPACES, outcome_of, table


def child(name: str, storage: str, journal: Path) -> None:
    study = SPACES[name]().start({"data": "toy"}, "minimize", storage)
    with journal.open("a") as log:
        while batch := study.ask():
            for trial in batch:
                print("start", trial.number, file=log, flush=True)
                time.sleep(0.008)
                study.tell(trial, outcome_of(study, trial))
                print("told", trial.number, file=log, flush=True)
    Path(f"{journal}.table").write_text(table(study))


def wait_for_work(journal: Path, generator: random.Random) -> None:
    """Wait for a moment in the work of a child, or now and then in its start, before it has opened the study."""
    size, patience = journal.stat().st_size if journal.exists() else 0, time.monotonic() + generator.choice([0.1, 5, 5])
    while time.monotonic() < patience and (not journal.exists() or journal.stat().st_size == size):
        time.sleep(0.001)
    time.sleep(generator.uniform(0, 0.02))


def main(name: str, storage: str, kills: int, seed: int) -> None:
    journal, generator = Path(f"{storage}.runs"), random.Random(seed)
    killed = 0
    while not Path(f"{journal}.table").exists():
        pid = os.fork()
        if pid == 0:
            child(name, storage, journal)
            os._exit(0)
        if killed < kills:
            wait_for_work(journal, generator)
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        killed += os.WIFSIGNALED(status)
        if not os.WIFSIGNALED(status) and status != 0:
            raise SystemExit(f"a child ended with {status}")
    print(killed)


if __name__ == "__main__":
    # What children import is imported before the first of them, so that they are killed at their work.

    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
