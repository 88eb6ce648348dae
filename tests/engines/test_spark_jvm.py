"""What a user sees when the JVM of Spark's driver is killed while it works."""

from __future__ import annotations

import subprocess
import sys

import pytest

_KILLED = """
import os, signal
from contextlib import contextmanager
import pyarrow as pa
from penstock.engines.spark import SparkEngine
from penstock.errors import WorkerLostError
from penstock.core.progress import Progress, Track

class Killing(Progress):
    @contextmanager
    def track(self, label, total):
        os.kill(engine.session.sparkContext._gateway.proc.pid, signal.SIGKILL)
        yield Track()

quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
with SparkEngine(conf={"spark.master": "local[1]", "spark.driver.extraJavaOptions": quick}, device="cpu") as engine:
    data = engine.from_arrow(pa.table({"x": [1, 2]}))
    engine.progress = Killing()
    try:
        data.to_arrow() if ACTION == "read" else engine.query(lambda frame: frame, data)
    except WorkerLostError as error:
        print(error.message)
"""


@pytest.mark.spark
@pytest.mark.parametrize("action", ["read", "query"])
def test_a_jvm_that_is_killed_is_a_lost_worker_and_the_process_ends(action: str) -> None:
    script = _KILLED.replace("ACTION", repr(action))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert " lost Spark: its JVM " in done.stdout
