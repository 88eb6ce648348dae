"""What a piece of work costs on a GPU, beside what `measure.py` tells: joules, and peak memory of the GPU.

Both come from NVML, by the package `nvidia-ml-py`, and are of the whole GPU, whoever uses it: memory that RMM's pool
keeps counts, and joules of work on the CPU are those of a GPU that idles. Without the package or the driver, and where
a GPU does not tell (a MIG slice has no joules), they are None.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks.measure import Cost, measured
from penstock import devices
from penstock.errors import PenstockError

_EVERY = 0.05


class Meter:
    """The first GPU that this process sees, as NVML tells of it; ``library`` is pynvml, or None where there is none."""

    def __init__(self, library: Any = None, handle: Any = None) -> None:
        self._library, self._handle = library, handle

    @classmethod
    def open(cls) -> Meter:
        """Return the meter of the GPU, or one that knows nothing."""
        try:
            import pynvml
        except ImportError:
            return cls()
        try:
            uuid = devices.choose("gpu").uuid
            pynvml.nvmlInit()
            return cls(pynvml, pynvml.nvmlDeviceGetHandleByUUID(uuid))
        except (PenstockError, pynvml.NVMLError):
            return cls()

    def joules(self) -> float | None:
        """Return what the GPU has used since the driver was loaded."""
        millijoules = self._ask("nvmlDeviceGetTotalEnergyConsumption")
        return None if millijoules is None else millijoules / 1000

    def used_bytes(self) -> int | None:
        """Return how much of the GPU's memory is taken."""
        memory = self._ask("nvmlDeviceGetMemoryInfo")
        return None if memory is None else int(memory.used)

    def _ask(self, function: str) -> Any:
        if self._library is None:
            return None
        try:
            return getattr(self._library, function)(self._handle)
        except self._library.NVMLError:
            return None


@dataclass
class Figures:
    """What one run has cost; those of the GPU are None where they are not known."""

    cost: Cost = field(default_factory=Cost)
    gpu_joules: float | None = None
    gpu_peak_bytes: int | None = None

    def as_dict(self) -> dict[str, float | int | None]:
        """Return the figures by name."""
        mine = {"gpu_joules": self.gpu_joules, "gpu_peak_bytes": self.gpu_peak_bytes}
        names = ("seconds", "cpu_seconds", "peak_bytes")
        return {name: getattr(self.cost, name) for name in names} | mine


@contextmanager
def metered(meter: Meter) -> Iterator[Figures]:
    """Measure the block on the host and on the GPU."""
    figures, stop = Figures(gpu_peak_bytes=meter.used_bytes()), threading.Event()

    def watch() -> None:
        while not stop.wait(_EVERY):
            figures.gpu_peak_bytes = max(figures.gpu_peak_bytes or 0, meter.used_bytes() or 0)

    watcher = threading.Thread(target=watch, daemon=True)
    if figures.gpu_peak_bytes is not None:
        watcher.start()
    before = meter.joules()
    with measured() as figures.cost:
        yield figures
    after = meter.joules()
    stop.set()
    if watcher.is_alive():
        watcher.join()
    figures.gpu_joules = None if before is None or after is None else after - before
