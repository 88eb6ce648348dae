"""Records of tasks by hand, of which only what counters said matters."""

from collections.abc import Mapping

from penstock.core.recording import TaskRecord


def task(
    start: float,
    seconds: float,
    energy: Mapping[str, tuple[float, float]] | None = None,
    *,
    host: str = "a",
    pid: int = 1,
    cpu: tuple[float, float] = (0.0, 0.0),
    peak_memory: int = 0,
    device: str = "cpu",
) -> TaskRecord:
    """Return the record of one task of the first span."""
    return TaskRecord(
        0, "task", 0, host, pid, start, seconds, {"compute": seconds}, {}, cpu, peak_memory, device, energy or {}
    )
