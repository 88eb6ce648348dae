"""What devices of this machine have used, in joules, by counters of the hardware: RAPL of CPUs, NVML of GPUs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from penstock.core.errors import ConfigError
from penstock.devices import nvml

RANGE = ".range"
"""Ends the name of what is no reading, but the joules after which the counter of that device begins again."""
POWERCAP = Path("/sys/class/powercap")
_MOST_WATTS = 1000.0
"""No CPU package uses more: a counter that is read as often as this says cannot begin again unseen."""


def energy_counters() -> dict[str, float]:
    """Return what devices of this machine have used since some time, in joules, by device.

    Differences are what counts: of two readings in one process, they are right however often a counter began again
    meanwhile. Readings of two processes differ by a multiple of the counter's range, which is there as
    ``<device>.range``.

    Returns
    -------
    dict of str to float
        ``package-0`` and ``dram-0`` of the first CPU, where Linux lets this process read RAPL [1]_; ``gpu-0`` of the
        first GPU of the driver's list, of those that ``CUDA_VISIBLE_DEVICES`` shows, where NVML counts it [2]_ (since
        Volta). Empty where nothing can be read, as on most virtual machines.

    Notes
    -----
    RAPL is updated each millisecond, NVML each 20 to 100 milliseconds. A slice of a GPU (MIG) has no counter.

    References
    ----------
    .. [1] Linux, Documentation/ABI/testing/sysfs-class-powercap; root alone may read it unless an administrator allows
       others: ``chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj``.
    .. [2] NVML API Reference, ``nvmlDeviceGetTotalEnergyConsumption``.

    Examples
    --------
    >>> first = energy_counters()
    >>> all(joules >= first[device] for device, joules in energy_counters().items())
    True
    """
    return _counters_of(os.getpid()).read()


class RaplZone:
    """The counter of one CPU package or of its memory.

    Parameters
    ----------
    folder : Path
        Of the zone, with ``energy_uj`` and ``max_energy_range_uj``.

    Raises
    ------
    OSError
        It cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._path, self._lock = folder / "energy_uj", Lock()
        self.range = int((folder / "max_energy_range_uj").read_text()) / 1e6
        self._last = self._wrapped = 0.0
        self.read()

    def read(self) -> float:
        """Return its joules, those before it began again included, as far as this object has seen them."""
        with self._lock:
            joules = int(self._path.read_text()) / 1e6
            if joules < self._last:
                self._wrapped += self.range
            self._last = joules
            return joules + self._wrapped


class EnergyCounters:
    """The counters that this process may read; found once.

    Parameters
    ----------
    powercap : Path
        Where RAPL's zones are.
    load : callable
        Gives the library of the NVIDIA driver.
    environ : mapping, optional
        Says which GPUs are visible; of this process unless given.
    """

    def __init__(
        self,
        *,
        powercap: Path = POWERCAP,
        load: Callable[[], Any] = nvml.load,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.zones = dict(_zones(powercap))
        self._session, self._gpus = _gpus(load, os.environ if environ is None else environ)

    def read(self) -> dict[str, float]:
        """Return joules by device; without those that cannot be read now."""
        found: dict[str, float] = {}
        for name, zone in self.zones.items():
            try:
                found[name], found[name + RANGE] = zone.read(), zone.range
            except (OSError, ValueError):
                continue
        for number in self._gpus:
            joules = self._session.energy(number)
            if joules is not None:
                found[f"gpu-{number}"] = joules
        return found

    def follow(self) -> None:
        """Read from now on as often as it takes to see each time that a counter begins again."""
        if self.zones:
            Thread(target=self._follow, name="penstock-energy", daemon=True).start()

    def _follow(self) -> None:
        pause = min(zone.range for zone in self.zones.values()) / _MOST_WATTS
        while True:
            time.sleep(max(1.0, pause))
            self.read()


@lru_cache(maxsize=1)
def _counters_of(pid: int) -> EnergyCounters:
    """Return the counters of a process: of one that was forked new ones, since it has no threads of the other's."""
    counters = EnergyCounters()
    counters.follow()
    return counters


def _zones(powercap: Path) -> Iterator[tuple[str, RaplZone]]:
    for folder in sorted(powercap.glob("intel-rapl:*")):
        try:
            name = _zone_name(folder)
            if name is not None:
                yield name, RaplZone(folder)
        except (OSError, ValueError):
            continue


def _zone_name(folder: Path) -> str | None:
    """Return what a zone is called here; None for a part of another one, or for what has others in it."""
    name = (folder / "name").read_text().strip()
    if name.startswith("package"):
        return name
    if name != "dram":
        return None
    package = folder.with_name(folder.name.rpartition(":")[0])
    return "dram" + (package / "name").read_text().strip().removeprefix("package")


def _gpus(load: Callable[[], Any], environ: Mapping[str, str]) -> tuple[Any, list[int]]:
    """Return a session with NVML, which stays open, and the numbers of the GPUs that count their energy."""
    try:
        session = nvml.Nvml(load()).__enter__()
        numbers = [gpu.number for gpu in nvml.visible(session, environ) if gpu.number is not None]
    except (ConfigError, nvml.NvmlError):
        return None, []
    return session, [number for number in numbers if session.energy(number) is not None]
