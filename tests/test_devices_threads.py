"""Counting the cores of a process, and holding the libraries of other processes to a number of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.devices import thread_environment, usable_cores
from penstock.errors import ConfigError


@pytest.mark.thorough
def test_the_thread_environment_holds_polars_and_arrow() -> None:
    code = "import polars, pyarrow; print(polars.thread_pool_size(), pyarrow.cpu_count())"
    environment = {**os.environ, **thread_environment(3)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3", "3"]


def test_the_thread_environment_names_every_library_with_one_number() -> None:
    environment = thread_environment(1)
    assert {"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"} <= set(environment)
    assert {value for name, value in environment.items() if name.endswith("THREADS")} == {"1"}


def test_threads_that_wait_for_each_other_sleep() -> None:
    assert thread_environment(2)["OMP_WAIT_POLICY"] == "PASSIVE"


@pytest.mark.parametrize("threads", [0, -1])
def test_fewer_threads_than_one_is_an_error(threads: int) -> None:
    with pytest.raises(ConfigError, match=f"threads is {threads}, expected at least 1"):
        thread_environment(threads)


@pytest.fixture
def cgroup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Return a function that counts cores on a machine of eight, under the quotas given by group."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)

    def count(member_of: str, **quotas: str) -> int:
        for group, quota in quotas.items():
            folder = tmp_path / group.replace("root", "").replace("_", "/")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "cpu.max").write_text(quota + "\n")
        (tmp_path / "membership").write_text(member_of + "\n")
        return usable_cores(cgroup_root=tmp_path, cgroup_of_process=tmp_path / "membership")

    return count


def test_without_a_quota_the_affinity_counts(cgroup: Callable[..., int]) -> None:
    assert cgroup("0::/") == 8


def test_a_quota_is_rounded_down(cgroup: Callable[..., int]) -> None:
    assert cgroup("0::/", root="350000 100000") == 3


def test_a_quota_of_less_than_a_core_leaves_one(cgroup: Callable[..., int]) -> None:
    assert cgroup("0::/", root="50000 100000") == 1


def test_a_quota_above_the_affinity_changes_nothing(cgroup: Callable[..., int]) -> None:
    assert cgroup("0::/", root="6400000 100000") == 8


def test_the_tightest_quota_of_the_enclosing_groups_holds(cgroup: Callable[..., int]) -> None:
    assert cgroup("0::/pod/task", pod="200000 100000", pod_task="max 100000", root="500000 100000") == 2


def test_control_groups_of_version_1_are_not_read_as_version_2(cgroup: Callable[..., int]) -> None:
    assert cgroup("1:cpu:/pod", root="100000 100000") == 8


def test_no_control_groups_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 5}, raising=False)
    assert usable_cores(cgroup_root=tmp_path, cgroup_of_process=tmp_path / "missing") == 2
