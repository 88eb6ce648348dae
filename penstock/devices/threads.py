"""How many cores this process may use, and how to tell the libraries of the processes it starts."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.core.errors import ConfigError

# Polars; OpenMP (Arrow, XGBoost and scikit-learn too); the BLAS libraries of NumPy and SciPy; numexpr; numba.
_VARIABLES = (
    "POLARS_MAX_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
    "NUMBA_NUM_THREADS",
)

PATIENT = {"OMP_WAIT_POLICY": "PASSIVE"}
"""Threads of OpenMP that wait for each other sleep. By default they spin: on cores that are busy with anything else,
boosting a small matrix with two of them took five times as long."""


def thread_environment(threads: int) -> dict[str, str]:
    """Return the environment variables that hold the libraries of a new process to this many threads each.

    They also let threads that wait for each other sleep. Most are read once, when a library is imported: give them to
    the process, do not set them in it.

    Parameters
    ----------
    threads : int
        Threads for each library, at least 1.

    Raises
    ------
    ConfigError
        `threads` is less than 1.

    Examples
    --------
    >>> thread_environment(2)["POLARS_MAX_THREADS"]
    '2'
    """
    if threads < 1:
        raise ConfigError(f"threads is {threads}, expected at least 1", hint="usable_cores() says how many there are.")
    return {**dict.fromkeys(_VARIABLES, str(threads)), **PATIENT}


def usable_cores(
    *, cgroup_root: Path = Path("/sys/fs/cgroup"), cgroup_of_process: Path = Path("/proc/self/cgroup")
) -> int:
    """Return how many cores this process may use, at least 1.

    The smaller of its CPU affinity and its CPU quota in control groups version 2, rounded down; `os.cpu_count` knows
    neither, and in a container counts the whole machine.

    Parameters
    ----------
    cgroup_root : Path
        Where the control group file system is mounted.
    cgroup_of_process : Path
        The file that names the process's control group.

    Examples
    --------
    >>> 1 <= usable_cores() <= os.cpu_count()
    True
    """
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limits = group_limits("cpu.max", cgroup_root, cgroup_of_process)
    return max(1, int(min([affinity, *(int(quota) / int(period) for quota, period in limits)])))


def group_limits(file: str, root: Path, of_process: Path) -> list[list[str]]:
    """Return the words of a file of limits in the process's version 2 group and in those around it: all of them hold.

    Left out is where there is no limit.
    """
    limits = [text_of(folder / file).split() for folder in group_folders(root, of_process)]
    return [words for words in limits if words and words[0] != "max"]


def group_folders(root: Path, of_process: Path) -> list[Path]:
    """Return the folders of the process's version 2 control group and of those around it."""
    names = [line.removeprefix("0::/") for line in text_of(of_process).splitlines() if line.startswith("0::/")]
    folders = [folder for name in names for folder in (root / name, *(root / name).parents)]
    return [folder for folder in folders if folder.is_relative_to(root)]


def text_of(path: Path) -> str:
    """Return the text of a file of the kernel, none where there is no such file."""
    try:
        return path.read_text()
    except OSError:
        return ""
