"""The process of one part of `gpu.py`: warms up, measures up to three runs, and reports each as soon as it is over."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from benchmarks.on_gpu.job import Job, Task, Works
from benchmarks.on_gpu.meter import Meter, metered

RUNS = 3


def report(job: Job, **found: Any) -> None:
    """Append a line to the reports of the job; what is there stays when the process is ended."""
    with Path(job.reports).open("a") as file:
        file.write(json.dumps(found) + "\n")


def measure(job: Job, task: Task, meter: Meter) -> None:
    """Run the task as often as the deadline allows, at most three times; report the answer after the first run."""
    longest = 0.0
    for number in range(1 if job.once else RUNS):
        if number and time.time() + 1.2 * longest > job.deadline:  # another run may take a little longer
            break
        with metered(meter) as figures:
            result = task.run(job.all)
        report(job, run=figures.as_dict())
        longest = max(longest, figures.cost.seconds)
        if not number:
            report(job, answer=task.answer(result))


def work(job: Job) -> None:
    """Do the job; starting and the warm-up are timed apart."""
    began = time.perf_counter()
    works: Works = importlib.import_module(job.module).WORKS
    task = works[job.work](job)
    if not job.once:
        task.run(job.sample)
    report(job, start_seconds=time.perf_counter() - began)
    measure(job, task, Meter.open())


def main(text: str) -> None:
    job = Job.loads(text)
    try:
        work(job)
    except BaseException as error:
        traceback.print_exc()
        first = (str(error).strip().splitlines() or [""])[0]
        report(job, error=f"{type(error).__name__}: {first}".rstrip(": "))
        code = 1
    else:
        code = 0
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # engines take seconds to go away, and nothing is left to be saved


if __name__ == "__main__":
    main(sys.argv[1])
