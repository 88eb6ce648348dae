"""Dask client that finishes tasks at once and records submissions."""

from collections.abc import Mapping
from typing import Any

from penstock.engines.dask.tasks import TaskOptions, Tasks, apply


class Done:
    """A finished future."""

    def __init__(self, key: Any) -> None:
        self.key, self.is_released = key, False

    def exception(self, timeout: float | None = None) -> None:
        return None

    def cancelled(self) -> bool:
        return False

    def release(self) -> None:
        self.is_released = True


class InstantClient:
    """Has workers, by name with their threads; `asked` are the item of each task, its workers, and whether others may.

    What is submitted for items stays in `futures`.
    """

    def __init__(self, workers: Mapping[str, int]) -> None:
        self.workers = dict(workers)
        self.asked: list[tuple[Any, list[str] | None, bool]] = []
        self.futures: list[Done] = []

    def nthreads(self) -> dict[str, int]:
        return self.workers

    def submit(
        self, function: Any, *arguments: Any, key: Any, workers: Any, allow_other_workers: bool, **_: Any
    ) -> Done:
        future = Done(key)
        if function is apply:
            self.asked.append((arguments[1], workers, allow_other_workers))
            self.futures.append(future)
        return future

    def tasks(self) -> Tasks:
        """Return a call of a scan."""
        return Tasks(self, "scan", abs, TaskOptions(1.0, 1.0, 0, speculation=False), print)  # type: ignore[arg-type]
