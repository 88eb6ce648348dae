"""What a piece of work costs, with all the processes that it starts: wall and CPU seconds, peak memory, joules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import psutil

from penstock.devices.energy import energy_counters

_EVERY = 0.1


@dataclass
class Cost:
    """Seconds, bytes and counted joules, by device, of one piece of work."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    counted_joules: dict[str, float] = field(default_factory=dict)


def _tree() -> list[psutil.Process]:
    here = psutil.Process()
    return [here, *here.children(recursive=True)]


def cpu_seconds() -> float:
    """Return the CPU seconds of this process so far, and of those that it has started."""
    own = os.times()
    total = time.process_time() + own.children_user + own.children_system  # which is finer than what the tree tells
    for process in _tree()[1:]:
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def _memory() -> int:
    """Return the proportional set size of the tree: pages that processes share count once."""
    total = 0
    for process in _tree():
        try:
            total += process.memory_full_info().pss
        except psutil.Error:
            continue
    return total


@contextmanager
def measured() -> Iterator[Cost]:
    """Measure the block, its threads and its child processes."""
    cost, stop = Cost(), threading.Event()

    def watch() -> None:
        while not stop.wait(_EVERY):
            cost.peak_bytes = max(cost.peak_bytes, _memory())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    counters, cpu, began = energy_counters(), cpu_seconds(), time.perf_counter()
    yield cost
    cost.seconds, cost.cpu_seconds = time.perf_counter() - began, cpu_seconds() - cpu
    cost.counted_joules = {device: value - counters.get(device, value) for device, value in energy_counters().items()}
    stop.set()
    watcher.join()
    cost.peak_bytes = max(cost.peak_bytes, _memory())


def report(
    start_seconds: float, cost: Cost, check: dict[str, Any], details: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Print the outcome of a contender as the last line, for the parent to read."""
    line = {
        "start_seconds": start_seconds,
        "seconds": cost.seconds,
        "cpu_seconds": cost.cpu_seconds,
        "peak_bytes": cost.peak_bytes,
        "counted_joules": cost.counted_joules,
        "check": check,
        **details,
    }
    print(json.dumps(line))
    sys.stdout.flush()
    os._exit(0)  # engines take seconds to go away, and nothing is left to be saved


def figures(cost: Cost) -> dict[str, float]:
    """Return what a piece of work cost, by name."""
    return {"seconds": cost.seconds, "cpu_seconds": cost.cpu_seconds, "peak_bytes": cost.peak_bytes}


def run_alone(script: str, side: str, folder: object) -> dict[str, Any]:
    """Return what a benchmark prints that is told to do one side, in a process of its own."""
    command = [sys.executable, script, "--alone", side, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    if done.returncode:
        raise SystemExit(f"{side}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]
