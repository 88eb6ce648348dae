"""How much memory a process may take."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from penstock.devices.threads import group_folders, group_limits, text_of


def memory_limit(
    *, cgroup_root: Path = Path("/sys/fs/cgroup"), cgroup_of_process: Path = Path("/proc/self/cgroup")
) -> int:
    """Return the bytes of memory that this process can have: the machine's, or its control group's if they are fewer.

    Parameters
    ----------
    cgroup_root : Path
        Where the control group file system, version 2, is mounted.
    cgroup_of_process : Path
        The file that names the process's control group.

    Examples
    --------
    >>> memory_limit() > 2**20
    True
    """
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([machine, *(int(limit) for (limit,) in group_limits("memory.max", cgroup_root, cgroup_of_process))])


def free_memory(
    kind: Literal["cpu", "gpu"] = "cpu",
    *,
    meminfo: Path = Path("/proc/meminfo"),
    cgroup_root: Path = Path("/sys/fs/cgroup"),
    cgroup_of_process: Path = Path("/proc/self/cgroup"),
) -> int:
    """Return the bytes of memory that this process can still take, or that its GPU has free.

    Of the machine's it is what the kernel calls available; of a control group with a limit, what its processes leave of
    that, files in the page cache not counted.

    Examples
    --------
    >>> 0 < free_memory() < memory_limit()
    True
    """
    if kind == "gpu":
        import cupy

        return int(cupy.cuda.runtime.memGetInfo()[0])
    lines = [line.split() for line in text_of(meminfo).splitlines()]
    available = next((int(words[1]) * 1024 for words in lines if words[0] == "MemAvailable:"), memory_limit())
    groups = [folder for folder in group_folders(cgroup_root, cgroup_of_process) if _limit(folder) is not None]
    return max(0, min([available, *(_left(folder) for folder in groups)]))


def _limit(folder: Path) -> int | None:
    limit = text_of(folder / "memory.max").strip()
    return int(limit) if limit and limit != "max" else None


def _left(folder: Path) -> int:
    counts = dict(line.split() for line in text_of(folder / "memory.stat").splitlines())
    taken = int(text_of(folder / "memory.current") or 0)
    return (_limit(folder) or 0) - taken + int(counts.get("file", 0))
