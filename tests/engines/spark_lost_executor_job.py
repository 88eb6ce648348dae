"""Trains two ranks, each on an executor of its own, ends one of these, and prints what was noticed, and when."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa

from penstock import runs
from penstock.core.progress import Progress
from penstock.engines.spark import SparkEngine
from penstock.spmd import Rank, SpmdOptions

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
CONF = {
    "spark.master": "local-cluster[2,1,1024]",
    "spark.executor.memory": "700m",
    "spark.executor.cores": 1,
    "spark.driver.extraJavaOptions": QUICK,
    "spark.executor.extraJavaOptions": QUICK,
}


class Ten:
    """Adds up the ranks in ten rounds; in the first attempt, rank 0 waits before the sixth until it is ended."""

    rounds = 10

    def __repr__(self) -> str:
        return "Ten"

    def __call__(self, rank: Rank) -> list[float]:
        first, total = (0, 0.0) if rank.checkpoint is None else (rank.checkpoint.rounds, float(rank.checkpoint.data))
        for done in range(first + 1, self.rounds + 1):
            total += float(rank.allreduce(np.array([1.0]))[0])
            rank.save(done, str(total).encode())
            rank.report(done)
            time.sleep(300.0 if done == 5 and not first else 0.0)
        return [float(first), total]


class Told(Progress):
    """Ends an executor once five rounds are done, and keeps what is told, each with the seconds since then."""

    def __init__(self) -> None:
        self.notes: list[tuple[float, str]] = []
        self.rounds, self.ended = 0, 0.0

    def track(self, label: str, total: int):  # type: ignore[no-untyped-def]
        from contextlib import nullcontext

        return nullcontext(self)

    def advance(self, parts: int = 1, detail: str = "") -> None:
        self.rounds += parts
        if self.rounds == 5:
            executors = [each for each in psutil.Process().children(recursive=True) if _is_executor(each)]
            self.ended = time.monotonic()
            executors[0].kill()

    def note(self, text: str) -> None:
        self.notes.append((time.monotonic() - self.ended, text))


def _is_executor(process: psutil.Process) -> bool:
    try:
        return any("CoarseGrainedExecutorBackend" in each for each in process.cmdline())
    except psutil.Error:
        return False


if __name__ == "__main__":
    told, folder = Told(), Path(sys.argv[1])
    with SparkEngine(conf=CONF, device="cpu", progress=told) as engine, runs.record(folder) as recording:
        table = engine.from_arrow(pa.table({"x": range(4)}))
        trained = engine.spmd(Ten(), {"train": table}, SpmdOptions(world_size=2, timeout=200))
    print(json.dumps({"trained": trained, "notes": told.notes, "run": recording.path}))
