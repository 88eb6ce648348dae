"""Watts of a busy hardware thread of a CPU, by its name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

WATTS_OF_UNKNOWN = 4.0
"""Of a core of a CPU that is not in the table: ``DEFAULT_POWER_PER_CORE`` of CodeCarbon 3, ``core/cpu.py``."""


class CpuPower(NamedTuple):
    """The thermal design power of a CPU in watts, and its hardware threads."""

    watts: float
    threads: int


CPUS = {
    "Platinum 8175M": CpuPower(240, 48),
    "Platinum 8259CL": CpuPower(210, 48),
    "Platinum 8272CL": CpuPower(195, 52),
    "Platinum 8375C": CpuPower(300, 64),
    "Platinum 8168": CpuPower(205, 48),
    "Platinum 8280": CpuPower(205, 56),
    "Platinum 8380": CpuPower(270, 80),
    "Platinum 8480+": CpuPower(350, 112),
    "Platinum 8592+": CpuPower(350, 128),
    "Gold 6148": CpuPower(150, 40),
    "Gold 6248": CpuPower(150, 40),
    "Gold 6338": CpuPower(205, 64),
    "EPYC 7B12": CpuPower(240, 128),
    "EPYC 7R13": CpuPower(225, 96),
    "EPYC 7402": CpuPower(180, 48),
    "EPYC 7713": CpuPower(225, 128),
    "EPYC 7742": CpuPower(225, 128),
    "EPYC 7763": CpuPower(280, 128),
    "EPYC 9354": CpuPower(280, 64),
    "EPYC 9554": CpuPower(360, 128),
    "EPYC 9654": CpuPower(360, 192),
}
"""CPUs of servers and of clouds. Watts are from CodeCarbon's ``data/hardware/cpu_power.csv`` of August 2026, threads
from the makers' lists, or, of CPUs that only clouds have, half of what their machines with two of them have."""


def cpu_name(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return what this machine's CPU calls itself; empty where it does not say.

    Parameters
    ----------
    cpuinfo : Path
        The kernel's description of CPUs.
    """
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE)
    except OSError:
        return ""
    return found[1].strip() if found else ""


def watts_of_thread(name: str) -> tuple[float, str]:
    """Return the watts of a busy hardware thread of a CPU, and in words what they follow from.

    Examples
    --------
    >>> watts_of_thread("Intel(R) Xeon(R) Platinum 8175M CPU @ 2.50GHz")
    (5.0, "5 W: 240 W of 'Platinum 8175M' over its 48 threads")
    >>> watts_of_thread("Intel(R) Xeon(R) Processor")[0]
    4.0
    """
    for known, power in CPUS.items():
        if re.search(rf"(?<!\S){re.escape(known)}(?!\S)", name):
            watts = power.watts / power.threads
            return watts, f"{watts:.3g} W: {power.watts:g} W of {known!r} over its {power.threads} threads"
    return WATTS_OF_UNKNOWN, f"{WATTS_OF_UNKNOWN:g} W: what CodeCarbon takes of a CPU that it does not know, {name!r}"
