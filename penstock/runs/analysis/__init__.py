"""Numbers from the record of a run: where its time went, by phase, span and slot of a worker, and what stands out."""

from penstock.runs.analysis.findings import Remark, find_notable
from penstock.runs.analysis.process_time import ProcessTime, process_time
from penstock.runs.analysis.slot_time import SlotTime, slot_times
from penstock.runs.analysis.span_time import SpanTime, phase_seconds, slowest_tasks, span_times

__all__ = [
    "ProcessTime",
    "Remark",
    "SlotTime",
    "SpanTime",
    "find_notable",
    "phase_seconds",
    "process_time",
    "slot_times",
    "slowest_tasks",
    "span_times",
]
