"""What became of the workers of a Dask cluster that ended, as their nannies tell it."""

from __future__ import annotations

import time
from typing import Any

import distributed
from distributed.scheduler import KilledWorker

from penstock.core.errors import MemoryLimitError, WorkerLostError
from penstock.core.sizes import show_bytes
from penstock.dataset.task_errors import place_of
from penstock.engines.task_items import describe_with_size
from penstock.io.memory_errors import HINT

_LAST_WORDS = ("killed by", "exited with status", "exceeded")
_BY_NANNY = "worker-restart-memory"
_LISTEN = 3.0


class Losses:
    """The workers that have ended since this was made.

    Parameters
    ----------
    client : distributed.Client
    label : str
        What runs.
    """

    def __init__(self, client: distributed.Client, label: str) -> None:
        self._client, self._label = client, label
        self._began = time.strftime("%Y-%m-%d %H:%M:%S")

    def error_of(self, error: KilledWorker, item: Any) -> WorkerLostError:
        """Return the error of a task that ended every worker that ran it; MemoryLimitError if the last had too much."""
        worker = error.last_worker
        what = "one of its tasks" if item is None else describe_with_size(item)
        ended = f"{self._label}: {what} ended {error.allowed_failures + 1} workers, or ran beside what did;"
        place = {"stage": self._label, "engine": "dask", **place_of(item)}
        if (taken := self._taken(worker.address)) is not None:
            limit = f"the last, {worker.address}, had {show_bytes(taken)} of its memory_limit of"
            return MemoryLimitError(f"{ended} {limit} {show_bytes(worker.memory_limit)}", hint=HINT, **place)
        return WorkerLostError(
            f"{ended} the last was {worker.address}{self.last_words()}",
            hint="It may need more memory than a worker has, or crash the process: try it alone, on the local engine.",
            **place,
        )

    def _taken(self, address: str) -> int | None:
        """Return how many bytes a worker had that its nanny ended for them."""
        events = self._client.get_events(_BY_NANNY)
        return next((event["rss"] for _, event in reversed(events) if event["worker"] == address), None)

    def last_words(self) -> str:
        """Return what the nannies said of the last end of a worker, such as its signal; an empty text for nothing."""
        deadline = time.monotonic() + _LISTEN  # a nanny answers again when its next worker runs
        while time.monotonic() < deadline:
            lines = [line for line in self._nanny_log() if any(word in line for word in _LAST_WORDS)]
            if lines:
                return f" ({max(lines).split(' - ')[-1]})"
            time.sleep(0.2)
        return ""

    def _nanny_log(self) -> list[str]:
        """Return the lines since this was made; each starts with its time."""
        try:
            logs = self._client.get_worker_logs(nanny=True)
        except Exception:  # workers without nannies, or gone: there is no more to tell
            return []
        return [line for log in logs.values() for _, line in log if line >= self._began]
