"""What a user sees when the JVM of Spark's driver is killed while it works."""

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

with SparkEngine(conf={"spark.master": "local[1]"}, device="cpu") as engine:
    data = engine.from_arrow(pa.table({"x": [1, 2]}))
    engine.progress = Killing()
    for act in (data.to_arrow, lambda: engine.query(lambda frame: frame, data)):
        try:
            act()
        except WorkerLostError as error:
            print(error.message)
"""


@pytest.mark.spark
@pytest.mark.faults
def test_a_jvm_that_is_killed_is_a_lost_worker_to_what_runs_and_what_comes_and_the_process_ends():
    done = subprocess.run([sys.executable, "-c", _KILLED], capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    assert len(told) == 2
    assert all(" lost Spark: its JVM " in message for message in told)
