"""The energy of a run: by counters, by an estimate, and what is said of it."""

import os
from collections.abc import Callable

import pyarrow as pa
import pytest
from energy_records import task

import penstock as ps
from penstock.core.recording import Recorder, Span, TaskRecord, recording
from penstock.core.recording.process import host_name
from penstock.runs.energy import Energy, EnergyMeter, run_energy
from penstock.runs.energy.cpu_power import CPUS, WATTS_OF_UNKNOWN, cpu_name, watts_of_thread
from penstock.runs.energy.estimate import Process, estimate
from penstock.runs.run import TASKS, Run
from penstock.runs.run_recording import task_table

HERE = host_name()


def of(meter: EnergyMeter, *records: TaskRecord, seconds: float = 10.0) -> Energy:
    return meter.energy(records, task_table(records, [Span("scan", "scan", 0.0)]), seconds)


def counting(*readings: dict[str, float]) -> Callable[[], dict[str, float]]:
    """Return counters that say these in turn."""
    left = list(readings)
    return lambda: left.pop(0)


def test_this_machine_counts_all_through_a_run_and_others_while_their_tasks_run():
    meter = EnergyMeter(counting({"package-0": 100.0}, {"package-0": 160.0}))
    energy = of(meter, task(2, 3, {"package-0": (110.0, 120.0)}, host=HERE))
    assert energy.measured == {f"{HERE}/package-0": 60.0}
    meter = EnergyMeter(counting({}, {}))
    energy = of(meter, task(0, 3, {"package-0": (0.0, 9.0)}), task(5, 1, {"package-0": (20.0, 22.0)}))
    assert energy.measured == {"a/package-0": 11.0}
    meter = EnergyMeter(counting({"dram-0": 1.0, "dram-0.range": 9.0}, {"dram-0": 2.0, "dram-0.range": 9.0}))
    assert of(meter).measured == {f"{HERE}/dram-0": 1.0}


def test_a_gpu_counts_where_a_task_ran_on_one_and_is_said_to_be_left_out_without_a_counter():
    for device, measured in (("cpu", {}), ("gpu", {f"{HERE}/gpu-0": 40.0})):
        meter = EnergyMeter(counting({"gpu-0": 0.0}, {"gpu-0": 40.0}))
        assert of(meter, task(0, 1, {"gpu-0": (0.0, 40.0)}, host=HERE, device=device)).measured == measured
    told = of(EnergyMeter(counting({}, {})), task(0, 1, device="gpu")).assumptions
    assert [text for text in told if text.startswith("GPUs are left out")] == list(told[-1:])


def test_the_process_of_a_run_is_counted_once_if_it_is_a_worker():
    record = task(0, 1, host=HERE, pid=os.getpid(), cpu=(0.0, 1e6))
    watts, _ = watts_of_thread(cpu_name())
    assert of(EnergyMeter(counting({}, {})), record).estimated[f"{HERE}/cpu"] == pytest.approx(watts * 1e6)


def test_an_estimate_is_cpu_seconds_and_memory_by_watts_of_what_is_not_measured():
    processes = [Process("a", 30.0, 4_000_000_000), Process("a", 10.0, 4_000_000_000), Process("b", 5.0, 0)]
    joules, _ = estimate(processes, 100.0, "", {})
    assert joules == {"a/cpu": 40.0 * 4, "a/memory": 3.0 * 100, "b/cpu": 5.0 * 4, "b/memory": 0.0}
    joules, _ = estimate([Process("a", 1.0, 8), Process("b", 1.0, 8)], 1.0, "", {"a/package-0": 1.0, "a/dram-0": 1.0})
    assert sorted(joules) == ["b/cpu", "b/memory"]
    _, told = estimate([Process("a", 1.0, 8)], 1.0, "AMD EPYC 7R13 Processor", {})
    assert "225 W of 'EPYC 7R13' over its 96 threads" in told[0]


def test_names_of_cpus_are_whole_words_and_the_kernels_own(tmp_path):
    assert watts_of_thread("AMD EPYC 7402P 24-Core Processor")[0] == WATTS_OF_UNKNOWN
    assert watts_of_thread("AMD EPYC 7402 24-Core Processor")[0] == 180 / 48
    assert all(1 < power.watts / power.threads < 8 for power in CPUS.values())
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("".join(f"processor\t: {place}\nmodel name\t: Some CPU @ 2 GHz\n" for place in range(2)))
    assert cpu_name(cpuinfo) == "Some CPU @ 2 GHz"
    assert cpu_name(tmp_path / "none") == ""


def test_energy_is_measured_if_all_of_it_is_and_has_the_grams_of_the_intensity():
    assert Energy({"a/package-0": 3.6e6}, intensity=321.0).co2_grams == 321.0
    assert Energy({"a/gpu-0": 1.0}).method == "measured"
    assert Energy({"a/gpu-0": 1.0}, {"a/cpu": 1.0}).method == Energy({}).method == "estimated"


def test_a_record_says_again_what_was_written_or_is_estimated_by_its_tasks():
    energy = Energy({"a/gpu-0": 1.0}, {"a/cpu": 2.0}, ("because",), 30.0)
    run = Run({"energy": energy.to_dict()}, TASKS.empty_table())
    assert run_energy(run) == energy
    assert run_energy(run, intensity=60.0).co2_grams == 2 * energy.co2_grams
    table = task_table([task(0, 1, cpu=(0.0, 7.0))], [Span("scan", "scan", 0.0)])
    watts, _ = watts_of_thread(cpu_name())
    assert run_energy(Run({"seconds": 10.0}, table)).estimated == {"a/cpu": 7.0 * watts, "a/memory": 0.0}


def test_tasks_read_the_counters_that_a_recorder_has_and_a_run_has_its_energy(local, tmp_path):
    joules = iter(range(1000))
    with recording(Recorder(lambda: {"package-0": float(next(joules))})) as recorder:
        local.from_arrow(pa.table({"x": [1, 2]})).to_polars()
    assert [record.energy for record in recorder.tasks] == [{"package-0": (0.0, 1.0)}]
    with ps.runs.record(tmp_path) as under_way:
        local.from_arrow(pa.table({"x": [1, 2]})).to_polars()
    energy = run_energy(Run.load(under_way.path))
    assert energy.total > 0
    assert energy.assumptions
