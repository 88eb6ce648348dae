"""Counting the cores of a process, and holding the libraries of other processes to a number of them."""

import os
import subprocess
import sys

import pytest

from penstock.devices import thread_environment, usable_cores
from penstock.errors import ConfigError


@pytest.mark.thorough
def test_the_thread_environment_holds_polars_and_arrow():
    code = "import polars, pyarrow; print(polars.thread_pool_size(), pyarrow.cpu_count())"
    environment = {**os.environ, **thread_environment(3)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3", "3"]


def test_the_thread_environment_names_every_library_with_one_number_and_has_threads_sleep_that_wait():
    environment = thread_environment(1)
    assert {"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"} <= set(environment)
    assert {value for name, value in environment.items() if name.endswith("THREADS")} == {"1"}
    assert environment["OMP_WAIT_POLICY"] == "PASSIVE"
    for threads in (0, -1):
        with pytest.raises(ConfigError, match=f"threads is {threads}, expected at least 1"):
            thread_environment(threads)


@pytest.mark.parametrize(
    ("member_of", "quotas", "cores"),
    [
        pytest.param("0::/", {}, 8, id="without a quota the affinity counts"),
        pytest.param("0::/", {"": "350000 100000"}, 3, id="a quota is rounded down"),
        pytest.param("0::/", {"": "50000 100000"}, 1, id="a quota of less than a core leaves one"),
        pytest.param("0::/", {"": "6400000 100000"}, 8, id="a quota above the affinity changes nothing"),
        pytest.param(
            "0::/pod/task",
            {"pod": "200000 100000", "pod/task": "max 100000", "": "500000 100000"},
            2,
            id="the tightest quota of the enclosing groups holds",
        ),
        pytest.param("1:cpu:/pod", {"": "100000 100000"}, 8, id="groups of version 1 are not read as version 2"),
    ],
)
def test_cores_are_those_of_the_affinity_and_of_quotas(tmp_path, monkeypatch, member_of, quotas, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    for group, quota in quotas.items():
        (tmp_path / group).mkdir(parents=True, exist_ok=True)
        (tmp_path / group / "cpu.max").write_text(quota + "\n")
    (tmp_path / "membership").write_text(member_of + "\n")
    assert usable_cores(cgroup_root=tmp_path, cgroup_of_process=tmp_path / "membership") == cores


def test_no_control_groups_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 5}, raising=False)
    assert usable_cores(cgroup_root=tmp_path, cgroup_of_process=tmp_path / "missing") == 2
