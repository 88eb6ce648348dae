"""Run a study in children that are killed at their work, then in one that comes to the end; run as a script."""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path

import optuna.distributions  # noqa: F401 - imported before the first child, so that they are killed at their work

from tests.search.toy_studies import SPACES, outcome_of, table


def child(name: str, storage: str, journal: Path, end: str, seconds: float) -> None:
    """Tell trials until the kernel kills this process: at its first trial, or so many seconds after an alarm is set."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    if end == "opening":
        signal.setitimer(signal.ITIMER_REAL, seconds)
    study = SPACES[name]().start({"data": "toy"}, "minimize", storage)
    with journal.open("a") as log:
        while batch := study.ask():
            for trial in batch:
                print("start", trial.number, file=log, flush=True)
                if end == "trial":
                    os.kill(os.getpid(), signal.SIGKILL)
                if end == "telling":
                    signal.setitimer(signal.ITIMER_REAL, seconds)
                study.tell(trial, outcome_of(study, trial))
                print("told", trial.number, file=log, flush=True)
                while end:
                    signal.pause()
    Path(f"{journal}.table").write_text(table(study))


def main(name: str, storage: str, kills: int, seed: int) -> None:
    journal, generator = Path(f"{storage}.runs"), random.Random(seed)
    ends = [("telling", "opening", "trial")[place % 3] for place in range(kills)]
    for end in (*ends, ""):
        seconds = generator.uniform(1e-4, 0.02 if end == "telling" else 0.1)
        pid = os.fork()
        if pid == 0:
            child(name, storage, journal, end, seconds)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status) != bool(end) or (not end and status):
            raise SystemExit(f"a child that was to end by {end or 'itself'} ended with {status}")


if __name__ == "__main__":
    for name, storage in zip(sys.argv[2::2], sys.argv[3::2], strict=True):
        main(name, storage, int(sys.argv[1]), seed=1)
