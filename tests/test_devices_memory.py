"""The memory that a process may take, read from its control group."""

import os

from penstock.devices import free_memory, memory_limit

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def limit(folder, group, **limits):
    folder.mkdir()
    (folder / "process").write_text(f"0::/{group}\n")
    for name, text in limits.items():
        inner = folder / "root" / name.strip("_").replace("_", "/")
        inner.mkdir(parents=True, exist_ok=True)
        (inner / "memory.max").write_text(text + "\n")
    return memory_limit(cgroup_root=folder / "root", cgroup_of_process=folder / "process")


def test_the_least_limit_of_the_control_group_and_those_around_it_holds(tmp_path):
    assert limit(tmp_path / "own", "jobs/one", jobs_one="123456789") == 123456789
    assert limit(tmp_path / "around", "jobs/one", jobs="5000000", jobs_one="123456789") == 5000000
    assert limit(tmp_path / "container", "", _="77777777") == 77777777  # whose group is the root


def test_without_a_limit_or_control_groups_it_is_the_memory_of_the_machine(tmp_path):
    for number, text in enumerate(("max", f"{2**62}")):
        assert limit(tmp_path / str(number), "jobs", jobs=text) == MACHINE
    assert memory_limit(cgroup_root=tmp_path, cgroup_of_process=tmp_path / "none") == MACHINE


def free(folder, **files):
    group = folder / "root" / "jobs"
    group.mkdir(parents=True)
    (folder / "process").write_text("0::/jobs\n")
    (folder / "meminfo").write_text("MemTotal: 4000 kB\nMemFree: 100 kB\nMemAvailable: 3000 kB\n")
    for name, text in files.items():
        (group / f"memory.{name}").write_text(text + "\n")
    return free_memory(meminfo=folder / "meminfo", cgroup_root=folder / "root", cgroup_of_process=folder / "process")


def test_what_the_kernel_calls_available_is_free_within_what_the_control_group_leaves(tmp_path):
    assert free(tmp_path / "no limit", max="max", current="12345") == 3000 * 1024
    left = free(tmp_path / "limit", max="1000000", current="700000", stat="anon 500000\nfile 200000")
    assert left == 500_000
    assert free(tmp_path / "beyond", max="1000000", current="1200000", stat="anon 1200000\nfile 0") == 0


def test_where_nothing_is_known_the_memory_of_the_machine_is_free(tmp_path):
    none = tmp_path / "none"
    assert free_memory(meminfo=none, cgroup_root=tmp_path, cgroup_of_process=none) <= MACHINE
