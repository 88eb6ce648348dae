"""The memory that a process may take, read from its control group."""

from __future__ import annotations

import os

import pytest

from penstock.devices import free_memory, memory_limit

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def limit(folder, group, **limits):
    (folder / "process").write_text(f"0::/{group}\n")
    for name, text in limits.items():
        inner = folder / "root" / name.strip("_").replace("_", "/")
        inner.mkdir(parents=True, exist_ok=True)
        (inner / "memory.max").write_text(text + "\n")
    return memory_limit(cgroup_root=folder / "root", cgroup_of_process=folder / "process")


def test_the_limit_of_the_control_group_holds(tmp_path):
    assert limit(tmp_path, "jobs/one", jobs_one="123456789") == 123456789


def test_that_of_a_group_around_it_holds_too(tmp_path):
    assert limit(tmp_path, "jobs/one", jobs="5000000", jobs_one="123456789") == 5000000


def test_in_a_container_the_group_is_the_root(tmp_path):
    assert limit(tmp_path, "", _="77777777") == 77777777


@pytest.mark.parametrize("text", ["max", f"{2**62}"])
def test_without_a_limit_it_is_the_memory_of_the_machine(tmp_path, text):
    assert limit(tmp_path, "jobs", jobs=text) == MACHINE


def test_without_control_groups_it_is_the_memory_of_the_machine(tmp_path):
    assert memory_limit(cgroup_root=tmp_path, cgroup_of_process=tmp_path / "none") == MACHINE


def free(folder, **files):
    (folder / "process").write_text("0::/jobs\n")
    (folder / "meminfo").write_text("MemTotal: 4000 kB\nMemFree: 100 kB\nMemAvailable: 3000 kB\n")
    group = folder / "root" / "jobs"
    group.mkdir(parents=True)
    for name, text in files.items():
        (group / f"memory.{name}").write_text(text + "\n")
    return free_memory(meminfo=folder / "meminfo", cgroup_root=folder / "root", cgroup_of_process=folder / "process")


def test_what_the_kernel_calls_available_is_free(tmp_path):
    assert free(tmp_path, max="max", current="12345") == 3000 * 1024


def test_of_a_control_group_what_its_processes_leave_is_free(tmp_path):
    assert free(tmp_path, max="1000000", current="700000", stat="anon 500000\nfile 200000") == 500_000


def test_nothing_is_free_in_a_group_that_has_more_than_its_limit(tmp_path):
    assert free(tmp_path, max="1000000", current="1200000", stat="anon 1200000\nfile 0") == 0


def test_where_nothing_is_known_the_memory_of_the_machine_is_free(tmp_path):
    assert free_memory(meminfo=tmp_path / "none", cgroup_root=tmp_path, cgroup_of_process=tmp_path / "none") <= MACHINE
