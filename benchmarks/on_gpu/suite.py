"""The test suite as a part of `gpu.py`: how many tests passed, failed and were skipped, also where time ran out."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

from benchmarks.on_gpu.job import Answer, Job, Task, Works
from benchmarks.side_by_side import ROOT
from penstock import devices

PROCESSES = 6
"""At most, which share a GPU: each has a CUDA context of half a GiB."""
_ENDING = 30.0  # seconds that pytest gets to stop and to write its report
_REHEARSED = ("tests/test_sizes.py", "--engines", "local")


def suite(job: Job) -> Task:
    """Run the tests on the device of the job until they or the time end."""
    report = Path(job.reports).with_suffix(".xml")

    def run(_: object) -> bool:
        return _run(_command(job.device, report), job.deadline - _ENDING - time.time())

    return Task(run, lambda ended: {"ended": ended, **count_tests(report)})


def count_tests(report: Path) -> Answer:
    """Return how many tests passed, failed, had an error and were skipped, by a report as of JUnit; all 0 without it.

    ``not_passed`` names the first hundred of those that failed or had an error.
    """
    cases = list(ElementTree.parse(report).getroot().iter("testcase")) if report.exists() else []
    ends = {id(case): _end(case) for case in cases}
    counts = Counter(ends.values())
    bad = [f"{case.get('classname')}::{case.get('name')}" for case in cases if ends[id(case)] in ("failed", "errors")]
    return {name: counts[name] for name in ("passed", "failed", "errors", "skipped")} | {"not_passed": bad[:100]}


def _end(case: ElementTree.Element) -> str:
    names = {"failure": "failed", "error": "errors", "skipped": "skipped"}
    return next((end for tag, end in names.items() if case.find(tag) is not None), "passed")


def _command(device: str, report: Path) -> list[str]:
    asked = ("--engines", "local,dask") if device == "gpu" else _REHEARSED
    processes = min(PROCESSES, devices.usable_cores()) if device == "gpu" and find_spec("xdist") else 0
    parallel = ("-n", str(processes), "--dist", "loadgroup") if processes > 1 else ()
    wanted = ("--device", device, *asked, *parallel, "-W", "default", "-q", f"--junitxml={report}")
    return [sys.executable, "-m", "pytest", *wanted]


def _run(command: list[str], seconds: float) -> bool:
    """Run pytest, and interrupt it when the time is over; return whether it came to its end."""
    process = subprocess.Popen(command, cwd=ROOT, stdout=sys.stderr, stderr=sys.stderr)
    try:
        process.wait(max(seconds, 1.0))
        return True
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # after which it writes the report of the tests so far
        process.wait()
        return False


WORKS: Works = {"suite": suite}
