"""Joules of a piece of work: by the counters of the machine where it has any, else by CPU time and memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.devices.energy import RANGE, energy_counters
from penstock.runs.energy.cpu_power import cpu_name
from penstock.runs.energy.estimate import Process, estimate

_HERE = "here"


def method() -> str:
    """Return whether joules of CPUs on this machine are "measured" or "estimated"."""
    return "measured" if any(device.startswith("package") for device in energy_counters()) else "estimated"


def joules(found: Mapping[str, Any]) -> float:
    """Return what a contender has used by its figures: what was counted, and an estimate of what no counter tells.

    That of a whole machine is counted, the idle share of it too, and what others used meanwhile; an estimate is of its
    processes alone. GPUs are left out: see `on_gpu/meter.py`.
    """
    counted = {
        f"{_HERE}/{device}": value
        for device, value in found["counted_joules"].items()
        if not device.endswith(RANGE) and not device.startswith("gpu")
    }
    work = Process(_HERE, found["cpu_seconds"], found["peak_bytes"])
    guessed, _ = estimate([work], found["seconds"], cpu_name(), counted)
    return sum(counted.values()) + sum(guessed.values())
