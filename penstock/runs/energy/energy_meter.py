"""Counters and CPU time of this process, from the start of a run to its end."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from penstock.core.recording import TaskRecord
from penstock.core.recording.process import host_name, peak_memory
from penstock.core.recording.task_recording import Counters
from penstock.devices.energy import RANGE, energy_counters
from penstock.runs.energy.cpu_power import cpu_name
from penstock.runs.energy.energy import Energy
from penstock.runs.energy.estimate import Process, estimate, processes_of
from penstock.runs.shares import CounterReading, counts, energy_readings, shared

_MEASURED = (
    "Counters are of whole devices: what other programs used of them meanwhile is in it. Those of the machine that"
    " began the run count from its start to its end, those of others while tasks of the run are there."
)
_GPUS_LEFT_OUT = "GPUs are left out: no counter of theirs could be read."


class EnergyMeter:
    """Reads the counters of this machine now, and tells at the end of a run what was used since, here and elsewhere.

    Parameters
    ----------
    counters : callable
        Gives joules by device.
    """

    def __init__(self, counters: Counters = energy_counters) -> None:
        self._counters, self._first, self._cpu = counters, counters(), time.process_time()

    def energy(self, records: Sequence[TaskRecord], tasks: pa.Table, seconds: float) -> Energy:
        """Return what a run has used.

        Parameters
        ----------
        records : sequence of TaskRecord
        tasks : pyarrow.Table
            The same as a table, see `penstock.runs.run_recording`.
        seconds : float
            How long it took.
        """
        measured = _of_records(records) | self._of_this_machine(records)
        processes = processes_of(tasks)
        here = f"{host_name()}:{os.getpid()}"
        processes[here] = self._this_process(processes.get(here))
        estimated, reasons = estimate(processes.values(), seconds, cpu_name(), measured)
        if measured:
            reasons.insert(0, _MEASURED)
        if any(_lacks_gpu(record) for record in records):
            reasons.append(_GPUS_LEFT_OUT)
        return Energy(measured, estimated, tuple(reasons))

    def _of_this_machine(self, records: Sequence[TaskRecord]) -> dict[str, float]:
        host, last = host_name(), self._counters()
        kind = "gpu" if any(record.host == host and record.device == "gpu" for record in records) else "cpu"
        return {
            f"{host}/{device}": max(0.0, joules - self._first[device])
            for device, joules in last.items()
            if device in self._first and not device.endswith(RANGE) and counts(device, kind)
        }

    def _this_process(self, working: Process | None) -> Process:
        """Return what this process has used, in which there may have been tasks, and what is done around them."""
        own = Process(host_name(), time.process_time() - self._cpu, peak_memory())
        if working is None:
            return own
        return replace(own, cpu_seconds=max(own.cpu_seconds, working.cpu_seconds))


def _of_records(records: Sequence[TaskRecord]) -> dict[str, float]:
    """Return what the devices of each machine have used while tasks ran there."""
    by_counter: dict[str, list[CounterReading]] = defaultdict(list)
    for reading in energy_readings(sorted(records, key=lambda record: record.start)):
        by_counter[str(reading.counter)].append(reading)
    return {counter: sum(shared(readings).values()) for counter, readings in by_counter.items()}


def _lacks_gpu(record: TaskRecord) -> bool:
    return record.device == "gpu" and not any(device.startswith("gpu") for device in record.energy)
