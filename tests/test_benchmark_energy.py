"""Joules of a contender: counted where the machine does, else estimated."""

from typing import Any

import pytest

from benchmarks import energy, measure
from penstock.runs.energy.cpu_power import cpu_name, watts_of_thread


def figures(**counted: float) -> dict[str, Any]:
    return {"seconds": 10.0, "cpu_seconds": 4.0, "peak_bytes": 8_000_000_000, "counted_joules": counted}


def test_without_a_counter_it_is_cpu_time_and_memory() -> None:
    watts, _ = watts_of_thread(cpu_name())
    assert energy.joules(figures()) == pytest.approx(4.0 * watts + 10.0 * 3.0)  # 3 W for 8 GB


def test_what_is_counted_is_not_estimated() -> None:
    assert energy.joules(figures(**{"package-0": 120.0, "dram-0": 20.0, "package-0.range": 9e9})) == 140.0
    assert energy.joules(figures(**{"package-0": 120.0, "gpu-0": 900.0})) == pytest.approx(120.0 + 30.0)


def test_counters_are_read_around_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter([{"package-0": 5.0}, {"package-0": 12.5}])
    monkeypatch.setattr(measure, "energy_counters", lambda: next(readings))
    with measure.measured() as cost:
        pass
    assert cost.counted_joules == {"package-0": 7.5}


def test_the_method_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for counters, expected in (({"package-0": 1.0}, "measured"), ({"gpu-0": 1.0}, "estimated")):
        monkeypatch.setattr(energy, "energy_counters", lambda counters=counters: counters)
        assert energy.method() == expected
