"""Counters of a machine: zones of RAPL in a folder, GPUs by a stand-in for NVML."""

import pickle
from pathlib import Path
from typing import Any

import pytest
from test_devices import Card, FakeNvml

from penstock.devices.energy import EnergyCounters, energy_counters
from penstock.errors import ConfigError


class CountingNvml(FakeNvml):
    """Has a counter for each GPU; None where it counts nothing."""

    def __init__(self, *cards: Card, millijoules: list[int | None]) -> None:
        super().__init__(*cards)
        self.millijoules = millijoules

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: Any, energy: Any) -> int:
        counted = self.millijoules[handle.value - 1]
        energy._obj.value = counted or 0
        return 3 if counted is None else 0


def no_driver() -> Any:
    raise ConfigError("the NVIDIA driver is not installed")


def zone(powercap: Path, folder: str, name: str, microjoules: int, largest: int = 10_000_000) -> Path:
    """Write a zone as Linux has it, and return its counter."""
    path = powercap / folder
    path.mkdir()
    (path / "name").write_text(f"{name}\n")
    (path / "energy_uj").write_text(f"{microjoules}\n")
    (path / "max_energy_range_uj").write_text(f"{largest}\n")
    return path / "energy_uj"


def test_packages_and_their_memory_are_read_in_joules(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", 1_500_000)
    zone(tmp_path, "intel-rapl:0:0", "core", 700_000)
    zone(tmp_path, "intel-rapl:0:1", "dram", 250_000)
    zone(tmp_path, "intel-rapl:1", "psys", 9_000_000)
    read = EnergyCounters(powercap=tmp_path, load=no_driver).read()
    assert read == {"package-0": 1.5, "package-0.range": 10.0, "dram-0": 0.25, "dram-0.range": 10.0}


def test_a_counter_that_begins_again_goes_on(tmp_path: Path) -> None:
    path = zone(tmp_path, "intel-rapl:0", "package-0", 9_000_000)
    counters = EnergyCounters(powercap=tmp_path, load=no_driver)
    first = counters.read()["package-0"]
    for microjoules in (1_000_000, 8_000_000, 2_000_000):
        path.write_text(str(microjoules))
        last = counters.read()["package-0"]
    assert last - first == pytest.approx(2.0 + 7.0 + 4.0)


def test_a_zone_without_its_range_or_that_cannot_be_read_any_more_is_left_out(tmp_path: Path) -> None:
    path = zone(tmp_path, "intel-rapl:0", "package-0", 9_000_000)
    (zone(tmp_path, "intel-rapl:1", "package-1", 9_000_000).parent / "max_energy_range_uj").unlink()
    counters = EnergyCounters(powercap=tmp_path, load=no_driver)
    assert list(counters.read()) == ["package-0", "package-0.range"]
    path.unlink()
    assert counters.read() == {}


def test_visible_gpus_that_count_are_read_in_joules(tmp_path: Path) -> None:
    for millijoules, environ, joules in (
        ([1_234, 5_000], {}, {"gpu-0": 1.234, "gpu-1": 5.0}),
        ([1_000, 5_000], {"CUDA_VISIBLE_DEVICES": "1"}, {"gpu-1": 5.0}),
        ([None, 5_000], {}, {"gpu-1": 5.0}),
    ):
        driver = CountingNvml(Card("GPU-a"), Card("GPU-b"), millijoules=millijoules)
        assert EnergyCounters(powercap=tmp_path, load=lambda: driver, environ=environ).read() == joules  # noqa: B023


def test_a_driver_that_knows_no_counter_of_energy_or_is_not_loaded_gives_none(tmp_path: Path) -> None:
    broken = CountingNvml(Card("GPU-a"), millijoules=[1])
    broken.init = 9
    for driver in (FakeNvml(Card("GPU-a")), broken):
        assert EnergyCounters(powercap=tmp_path, load=lambda: driver, environ={}).read() == {}  # noqa: B023


def test_counters_go_to_workers() -> None:
    assert pickle.loads(pickle.dumps(energy_counters)) is energy_counters
