"""What stands out in a run, in sentences: where its time went, tasks that lag behind, waits, memory that ran short."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from penstock.core.sizes import show_bytes
from penstock.runs.analysis.process_time import ProcessTime, process_time
from penstock.runs.analysis.slot_time import SlotTime, slot_times
from penstock.runs.analysis.span_time import SpanTime, phase_seconds, span_times
from penstock.runs.analysis.task_arrays import column, series
from penstock.runs.run import Run

_LAGGING = 3.0
"""Tasks that take so many times the median lag behind."""
_NOTABLE = 0.05
"""What takes a smaller share of the time of the run is not worth a sentence."""
_WAITING, _MEMORY = 0.2, 0.8
_MOST = 3


class Remark(NamedTuple):
    """What is noticed, and what is said of it."""

    subject: str
    text: str


def find_notable(run: Run) -> list[Remark]:
    """Return what stands out in a run, what takes most of the time first.

    Examples
    --------
    >>> import penstock as ps
    >>> info = {"spans": [], "started": 0.0, "seconds": 2.0, "error": "ValueError: no", "machine": {}}
    >>> find_notable(ps.runs.Run(info, ps.runs.TASKS.empty_table()))[0].text
    'ValueError: no'
    """
    slots, spans, process = slot_times(run), span_times(run), process_time(run)
    told = [*_error(run), *_events(run)]
    return [*told, *_phases(run), *_lagging(run, spans), *_waits(slots), *_process(process), *_memory(run)]


def _error(run: Run) -> Iterator[Remark]:
    if run.info.get("error"):
        yield Remark("error", str(run.info["error"]))


def _events(run: Run) -> Iterator[Remark]:
    """Yield what befell the run, in order; `runs show` has a line a subject, so that each has its second in it."""
    for event in run.info.get("events") or []:
        yield Remark(f"after {event['time'] - run.info['started']:.1f} s", str(event["text"]))


def _phases(run: Run) -> Iterator[Remark]:
    phases = phase_seconds(run)
    total = sum(phases.values())
    if total:
        name = max(phases, key=phases.__getitem__)
        yield Remark(name, f"takes {phases[name] / total:.0%} of the time of tasks: {_both(phases[name], total)}")
        cores = float(column(run.tasks, "cpu_seconds").sum()) / total
        if not 1 - _WAITING <= cores <= 1 + _WAITING:
            yield Remark("cpu", f"a task keeps {cores:.2f} cores busy on average")


def _lagging(run: Run, spans: list[SpanTime]) -> Iterator[Remark]:
    """Yield for the scans that lose most by it how many tasks take long, and which one takes longest."""
    lost = {each.place: each.slowest - each.median for each in spans if each.tasks > 1 and each.skew >= _LAGGING}
    for place in sorted(lost, key=lost.__getitem__, reverse=True)[:_MOST]:
        each = next(span for span in spans if span.place == place)
        if lost[place] >= _NOTABLE * run.seconds:
            yield Remark(each.name, _told_of_lagging(run, each))


def _told_of_lagging(run: Run, span: SpanTime) -> str:
    is_own = ((series(run.tasks, "span") == span.place) & (series(run.tasks, "kind") != "merge")).to_numpy()
    seconds = column(run.tasks, "seconds") * is_own
    count, slowest = int(np.sum(seconds >= _LAGGING * span.median)), int(np.argmax(seconds))
    many = "1 task takes" if count == 1 else f"{count:,} tasks take"
    fragment = run.tasks["fragment"][slowest].as_py()
    which = "" if fragment is None else f", of fragment {fragment}"
    longest = f"the slowest{which}, takes {span.slowest:.2f} s, {span.skew:.1f} times the median"
    return f"{many} {_LAGGING:g} times the median or more, of {span.tasks:,}; {longest}"


def _waits(slots: list[SlotTime]) -> Iterator[Remark]:
    total = sum(each.busy + each.wait for each in slots)
    for name, waited in (
        ("for a task", sum(each.wait_for_task for each in slots)),
        ("for other workers to end theirs", sum(each.wait_for_others for each in slots)),
    ):
        if total and waited >= _WAITING * total:
            yield Remark(
                "wait",
                f"in scans and trainings, slots wait {waited / total:.0%} of the time {name}: {_both(waited, total)}",
            )


def _process(process: ProcessTime) -> Iterator[Remark]:
    for name, seconds in sorted(process.steps.items(), key=lambda pair: -pair[1])[:_MOST]:
        if seconds > _NOTABLE * process.wall:
            yield Remark(name, f"workers wait for this step of the driver: {_both(seconds, process.wall)}")
    if process.outside > _NOTABLE * process.wall:
        yield Remark("driver", f"no scan, training or step is under way for {_both(process.outside, process.wall)}")


def _memory(run: Run) -> Iterator[Remark]:
    limit = run.info["machine"].get("memory")
    peak = int(column(run.tasks, "peak_memory").max(initial=0.0))
    if limit and peak >= _MEMORY * limit:
        yield Remark("memory", f"a process had {show_bytes(peak)}, of {show_bytes(limit)} that there are")


def _both(seconds: float, total: float) -> str:
    return f"{seconds:.2f} of {total:.2f} s"
