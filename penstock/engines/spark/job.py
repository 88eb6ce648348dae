"""A Spark job in a thread of its own, so that its caller can watch it, give up on it and be interrupted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import Any, Self
from uuid import uuid4

from penstock.core.errors import StageTimeoutError
from penstock.core.progress import Track
from penstock.engines.spark.job_errors import SettingLookup, cause, job_error

ENDING = 1.0
"""Seconds that a job which is about to end is given before it is cancelled."""
CANCELLING = 20.0
"""Seconds that are waited at most until the tasks of a cancelled job have ended."""
_NO_WORKERS = 300.0
_TICK = 0.1


class Job(ABC):
    """Collects rows in the background from when it is entered, and cancels what still runs when it is left.

    Parameters
    ----------
    label : str
        What runs.
    items : sequence
        What the tasks of its first stage work on; empty where that is not known.
    settings : SettingLookup
    thread : callable
        Makes the thread, as `threading.Thread` does.
    """

    def __init__(
        self, label: str, items: Sequence[Any], settings: SettingLookup, thread: Callable[..., Thread] = Thread
    ) -> None:
        self.label, self._items, self._settings = label, items, settings
        self.name = f"penstock-{uuid4().hex}"
        self._rows: list[Any] = []
        self._error: Exception | None = None
        self._ended = Event()
        self._thread = thread(target=self._run, name="penstock-spark-job", daemon=True)

    @abstractmethod
    def collect(self) -> list[Any]:
        """Run the job to its end, in this thread, and return its rows."""

    @abstractmethod
    def completed(self) -> int:
        """Return how many tasks of the job's first stage are complete."""

    @abstractmethod
    def stop(self, patience: float = ENDING) -> None:
        """Cancel the job unless it ends by itself within `patience`; wait, not for ever, until its slots are free."""

    def failed_item(self, text: str) -> int | None:
        """Return the number of the item that the failed task worked on, if what Spark says tells it."""
        return None

    def start(self) -> Self:
        """Submit the job; who is interrupted meanwhile has it cancelled, as who is later."""
        try:
            self._thread.start()
        except KeyboardInterrupt:
            self.stop(patience=0.0)
            raise
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop(patience=0.0)

    @property
    def has_ended(self) -> bool:
        """Whether it has succeeded, failed or been cancelled."""
        return self._ended.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the job, at most so long; return whether it has ended."""
        return self._ended.wait(seconds)

    def rows(self) -> list[Any]:
        """Return what was collected, once the job has ended; raise `job_error` where it has failed."""
        if (error := self._error) is None:
            return self._rows
        place = self.failed_item(str(error))
        item = None if place is None or place >= len(self._items) else self._items[place]
        raise job_error(self.label, error, place, item, self._settings) from error

    def rows_of(self, workers: str) -> list[Any]:
        """Return what the job collects; raise StageTimeoutError where no worker takes a task for too long."""
        if not self.wait(_NO_WORKERS):
            raise StageTimeoutError(
                f"no worker of {workers} took a task within {_NO_WORKERS:g} s",
                hint="Look whether the cluster has free executors for this application.",
            )
        return self.rows()

    def followed(self, track: Track, total: int, look: Callable[[], object] = lambda: None) -> list[Any]:
        """Return what the job collects, and show meanwhile how many of its tasks are complete; `look` now and then."""
        shown = 0
        while not self.wait(_TICK):
            look()
            done = min(total, self.completed())
            track.advance(done - shown)
            shown = done
        rows = self.rows()
        track.advance(total - shown)
        return rows

    def problem(self) -> str | None:
        """Return why the job failed, if it has."""
        return None if self._error is None else cause(self._error)

    def _run(self) -> None:
        try:
            self._rows = self.collect()
        except Exception as error:
            self._error = error
        finally:
            self._ended.set()
