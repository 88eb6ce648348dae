"""SPMD body for tests of gangs: sums rows, with injected faults."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import psutil

from penstock.errors import DataValueError
from penstock.spmd import Rank


@dataclass(frozen=True)
class AddUp:
    """Adds the values of ``x`` on all ranks once a round; gives the total, and the rows and threads of each rank.

    ``fault`` ("kill", "kill executor", "freeze", "bad value" or "crash") befalls ``rank`` after round ``at``; where
    ``marker`` is given, only as long as that file is not there, and it is made then.
    """

    rounds: int = 3
    fault: str = ""
    rank: int = 1
    at: int = 1
    marker: str = ""

    def __call__(self, rank: Rank) -> dict[str, Any]:
        values = [value for batch in rank.batches("train", ["x"], _values) for value in batch]
        mine = float(sum(values))
        first, total = _resumed(rank)
        rows = np.zeros(rank.size)
        rows[rank.index] = len(values)
        rows = rank.allreduce(rows)
        for done in range(first + 1, self.rounds + 1):
            total += float(rank.allreduce(np.array([mine]))[0])
            if done % rank.checkpoint_interval == 0:
                rank.save(done, str(total).encode())
            rank.report(done)
            if done == self.at and rank.index == self.rank:
                self._suffer()
        return {"total": total, "rows": rows.tolist(), "threads": rank.threads, "from": first}

    def _suffer(self) -> None:
        if not self.fault or (self.marker and Path(self.marker).exists()):
            return
        if self.marker:
            Path(self.marker).touch()
        match self.fault:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "kill executor":
                if os.fork() == 0:  # holds the connection open, so that its end tells nobody anything
                    os.setsid()
                    time.sleep(60)
                    os._exit(0)
                os.kill(psutil.Process(os.getppid()).ppid(), signal.SIGKILL)
                time.sleep(300)  # until Spark's daemon, which has lost the executor, ends its workers
            case "freeze":
                os.kill(os.getpid(), signal.SIGSTOP)
            case "bad value":
                raise DataValueError("x is infinite", column="x")
            case "crash":
                raise ZeroDivisionError("seven by nothing")


def _values(frame: nw.DataFrame) -> list[float]:
    return frame["x"].to_list()


def _resumed(rank: Rank) -> tuple[int, float]:
    return (0, 0.0) if rank.checkpoint is None else (rank.checkpoint.rounds, float(rank.checkpoint.data))
