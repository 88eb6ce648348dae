"""Joules of CPUs and memory that no counter tells of: by CPU time and by memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from penstock.runs.energy.cpu_power import watts_of_thread

WATTS_OF_GB = 3 / 8
"""Of memory: CodeCarbon 2, after Crucial, "How much power does memory use": 3 W for 8 GB."""


@dataclass(frozen=True)
class Process:
    """What one process of a run has used: seconds of CPU time, and bytes of memory at most."""

    host: str
    cpu_seconds: float
    peak_memory: int


def processes_of(tasks: pa.Table) -> dict[str, Process]:
    """Return the processes of a table of tasks, by worker."""
    sums = tasks.group_by(["worker", "host"]).aggregate([("cpu_seconds", "sum"), ("peak_memory", "max")])
    return {
        row["worker"]: Process(row["host"], row["cpu_seconds_sum"], row["peak_memory_max"]) for row in sums.to_pylist()
    }


def estimate(
    processes: Iterable[Process], seconds: float, cpu: str, measured: Mapping[str, float]
) -> tuple[dict[str, float], list[str]]:
    """Return joules by machine and device of what is not measured, and in words what they follow from.

    Parameters
    ----------
    processes : iterable of Process
    seconds : float
        How long the run took.
    cpu : str
        Name of the CPU, which all machines are taken to have.
    measured : mapping of str to float
        What counters tell of: a machine with a CPU package among it has no estimate of CPU time, one with memory none
        of memory.
    """
    watts, reason = watts_of_thread(cpu)
    joules: dict[str, float] = {}
    for process in processes:
        for device, counter, amount in _parts(process, seconds, watts):
            if not any(name.startswith(f"{process.host}/{counter}") for name in measured):
                name = f"{process.host}/{device}"
                joules[name] = joules.get(name, 0.0) + amount
    said = {
        "cpu": f"CPUs are estimated: a second of CPU time takes {reason}.",
        "memory": "Memory is estimated: 3 W for 8 GB of each process's peak, all the time (Crucial, as CodeCarbon 2).",
    }
    devices = {name.rpartition("/")[2] for name in joules}
    return joules, [text for device, text in said.items() if device in devices]


def _parts(process: Process, seconds: float, watts: float) -> Iterator[tuple[str, str, float]]:
    yield "cpu", "package", process.cpu_seconds * watts
    yield "memory", "dram", process.peak_memory / 1e9 * WATTS_OF_GB * seconds
