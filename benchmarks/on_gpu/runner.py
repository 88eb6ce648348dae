"""Runs the parts of `gpu.py` one after the other within a budget: what fails or is cut off does not stop the others."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.on_gpu.job import Job
from benchmarks.on_gpu.parts import Part
from benchmarks.side_by_side import ROOT

LEAST_SECONDS = 10.0
"""With less than this left a part is not begun: libraries alone take some of it to be imported."""
FLOOR_SECONDS = 30.0
"""What a part gets at least, while there is so much: those that are more telling come before those that follow."""
_LOG_CHARACTERS = 3000

Record = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """What all parts of a run share: where data lies and what is thrown away, the rows, and whether a GPU is used."""

    folder: Path
    scratch: Path
    rows: int
    rehearsed: bool = False


def run_parts(
    parts: Sequence[Part], setting: Setting, seconds: float, done: Callable[[Record], None]
) -> dict[str, Record]:
    """Run the parts within so many seconds, tell `done` of each as it ends, and return what is known by name.

    A record has the part's ``status``: ``done``; ``cut off``, with the runs that it came to; ``failed``; or
    ``skipped``. All but the first have a ``reason``.
    """
    deadline, records = time.time() + seconds, dict[str, Record]()
    for place, part in enumerate(parts):
        limit = limit_of(parts[place:], deadline - time.time())
        reason = why_skipped(part, records, limit, rehearsed=setting.rehearsed)
        record = {"status": "skipped", "reason": reason} if reason else run_part(part, setting, limit)
        records[part.name] = {"part": part.name, "work": part.work, "side": part.side, **record}
        done(records[part.name])
    return records


def limit_of(parts: Sequence[Part], left: float) -> float:
    """Return the seconds that the first of the parts gets of those that are left.

    It is twice its share, as most parts take less than theirs, and what they leave goes to those that follow; and at
    least `FLOOR_SECONDS`, if there are as many.

    Examples
    --------
    >>> limit_of([Part("a", "gpu", "", share=1), Part("b", "gpu", "", share=3)], 600)
    300.0
    """
    share = 2 * left * parts[0].share / sum(part.share for part in parts)
    return max(0.0, min(left, max(share, FLOOR_SECONDS)))


def why_skipped(part: Part, records: dict[str, Record], limit: float, *, rehearsed: bool) -> str | None:
    """Return why a part is not begun, or None."""
    if reason := part.why_not(rehearsed=rehearsed):
        return reason
    if part.reads is not None and records[part.reads]["status"] != "done":
        return f"{part.reads}, which makes its data, was not done"
    if limit < LEAST_SECONDS:
        return f"{limit:.0f} s of the budget are left for it, expected {LEAST_SECONDS:.0f} or more; raise --minutes"
    return None


def run_part(part: Part, setting: Setting, limit: float) -> Record:
    """Run a part in a process of its own, for so many seconds at most, and return its record."""
    began = time.time()
    job = Job(
        module=part.module,
        work=part.side if part.work == "data" else part.work,
        device="cpu" if setting.rehearsed else part.device,
        folder=str(setting.folder),
        rows=setting.rows,
        once=part.once,
        deadline=began + limit,
        reports=str(setting.scratch / f"{part.name}.jsonl"),
    )
    code, log = _run_process(job, setting.scratch / f"{part.name}.log", limit)
    shutil.rmtree(job.out, ignore_errors=True)
    taken = {"limit_seconds": limit, "taken_seconds": time.time() - began}
    return taken | summarise(_reports(Path(job.reports)), code, limit, log)


def _run_process(job: Job, log: Path, limit: float) -> tuple[int | None, str]:
    """Return the exit code of the process, None where it was cut off, and the end of what it printed."""
    paths = [str(ROOT), str(ROOT / "data"), *filter(None, [os.environ.get("PYTHONPATH")])]
    settings = {"OMP_WAIT_POLICY": "PASSIVE", "PYTHONWARNINGS": "ignore", "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "benchmarks.on_gpu.worker", job.dumps()]
    with log.open("w+") as file:
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **settings}, stdout=file, stderr=file, start_new_session=True
        )
        try:
            code: int | None = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            with contextlib.suppress(ProcessLookupError):  # those that it started have ended, too
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return code, log.read_text(errors="replace")[-_LOG_CHARACTERS:]


def _reports(file: Path) -> list[Record]:
    """Return what a process has reported; a line that it did not come to end is left out."""
    lines = file.read_text().split("\n")[:-1] if file.exists() else []
    return [json.loads(line) for line in lines]


def summarise(reports: Sequence[Record], code: int | None, limit: float, log: str) -> Record:
    """Return the figures of a part: its runs, their medians and peaks, its answer, and how it ended."""
    found = {name: value for report in reports for name, value in report.items() if name != "run"}
    runs = [report["run"] for report in reports if "run" in report]
    error = found.pop("error", None)
    record = {"status": "done", **found, "runs": runs, **_figures(runs)}
    if code is None:
        reason = f"took more than its {limit:.0f} s, {len(runs)} runs ended; raise --minutes, or take fewer --rows"
        return record | {"status": "cut off", "reason": reason}
    if code:
        how = f"ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return record | {"status": "failed", "reason": error or how, "log": log}
    return record


def _figures(runs: Sequence[Record]) -> Record:
    """Return medians of seconds and joules, and the largest peaks; None where a run does not know."""
    figures: Record = {}
    for name in runs[0] if runs else ():
        values = [run[name] for run in runs if run[name] is not None]
        reduce = max if name.endswith("bytes") else statistics.median
        figures[name] = reduce(values) if values else None
    return figures
