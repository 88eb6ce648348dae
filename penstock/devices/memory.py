"""How much memory a process may take."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.devices.threads import group_limits


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
