"""Trains two ranks, each on an executor of its own, one of which dies, and prints what came of it and was noted."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pyarrow as pa
from gang_bodies import AddUp

from penstock import runs
from penstock.core.progress import Progress
from penstock.engines.spark import SparkEngine
from penstock.spmd import SpmdOptions

CONF = {"spark.master": "local-cluster[2,1,1024]", "spark.executor.memory": "700m"}


class Notes(Progress):
    """Prints what is noted, with the time."""

    def note(self, text: str) -> None:
        print(f"{time.time():.2f} {text}")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    body = AddUp(rounds=10, fault="kill executor", at=5, marker=str(folder / "killed"))
    options = SpmdOptions(world_size=2, timeout=30, checkpoint_interval=1)
    with SparkEngine(conf=CONF, device="cpu", progress=Notes()) as engine, runs.record(folder / "runs") as recording:
        trained = engine.spmd(body, {"train": engine.from_arrow(pa.table({"x": range(4)}))}, options)
    print(json.dumps({"trained": trained, "killed": (folder / "killed").stat().st_mtime, "run": recording.path}))
