"""Second attempts at tasks of a scan that take far longer than the others, on workers that have nothing to do."""

from __future__ import annotations

import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import distributed

from penstock.core.notices import get_logger

LEAST = 1.0
"""Seconds that a task may always take."""
FACTOR = 2
"""How many times the median is far longer."""

logger = get_logger(__name__)


class Speculation:
    """Starts tasks again that have been on their worker for more than a second and twice the median.

    Half of the tasks that were begun are done by then, and another worker has a free thread, which takes the second
    attempt. Dask's scheduler is asked where tasks are, and no worker, so that a frozen one is no hindrance. A task that
    waits on its worker, behind one of somebody else, counts as one that runs.

    Parameters
    ----------
    client : distributed.Client
    start_again : callable
        Submits a task once more, given its key and the worker that is to run it, and returns the future.
    clock : callable
        Gives the time in seconds.
    """

    def __init__(
        self,
        client: distributed.Client,
        start_again: Callable[[Any, str], distributed.Future],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._start_again, self._clock = client, start_again, clock
        self._running: dict[Any, distributed.Future] = {}
        self._attempts: dict[Any, tuple[distributed.Future, distributed.Future]] = {}
        self._placed: dict[Any, tuple[str, float]] = {}
        self._seconds: list[float] = []
        self._lock = threading.Lock()

    def add(self, future: distributed.Future) -> None:
        """Look after a task that was submitted."""
        with self._lock:
            self._running[future.key] = future

    def second(self, future: distributed.Future) -> distributed.Future | None:
        """Return the second attempt at a task, if there is one."""
        attempts = self._attempts.get(future.key)
        return None if attempts is None else attempts[1]

    def take(self, future: distributed.Future) -> tuple[distributed.Future, ...]:
        """Look after a task no longer, as its result is there; return both attempts at it where there are two."""
        with self._lock:
            self._end(future.key)
            return self._attempts.pop(future.key, ())

    def look(self) -> None:
        """Start those tasks again that it is time for."""
        processing = self._client.processing()
        with self._lock:
            places = self._note({key: worker for worker, keys in processing.items() for key in keys})
            slow = self._slow(places)
        if slow:
            threads = self._client.nthreads()
            if len(self._seconds) >= _running(places, threads):
                free = {worker: count - len(processing.get(worker, ())) for worker, count in threads.items()}
                self._start(slow, free)

    def _note(self, processing: Mapping[Any, str]) -> dict[Any, str]:
        """Note which tasks are done, and since when the others are on their workers; return those workers."""
        now = self._clock()
        for key, future in list(self._running.items()):
            if future.done():
                self._end(key)
            elif key in processing and self._placed.get(key, ("",))[0] != processing[key]:
                self._placed[key] = processing[key], now
        return {key: processing[key] for key in self._running if key in processing}

    def _slow(self, places: Mapping[Any, str]) -> list[Any]:
        """Return the tasks that take too long, the longest first."""
        now = self._clock()
        taken = {key: now - self._placed[key][1] for key in places if key not in self._attempts}
        slow = [key for key, seconds in taken.items() if seconds > LEAST]
        if not slow or not self._seconds:
            return []
        limit = FACTOR * statistics.median(self._seconds)
        return sorted((key for key in slow if taken[key] > limit), key=taken.__getitem__, reverse=True)

    def _end(self, key: Any) -> None:
        if self._running.pop(key, None) is not None:
            now = self._clock()
            self._seconds.append(now - self._placed.pop(key, ("", now))[1])

    def _start(self, slow: Sequence[Any], free: dict[str, int]) -> None:
        with self._lock:
            for key in slow:
                if key not in self._running:  # its result has been taken meanwhile
                    continue
                place, since = self._placed[key]
                others = [worker for worker in free if worker != place and free[worker] > 0]
                if not others:
                    continue
                worker = max(others, key=free.__getitem__)
                free[worker] -= 1
                self._attempts[key] = self._running[key], self._start_again(key, worker)
                taken = self._clock() - since
                logger.info("%s has been on %s for %.1f s; it is run on %s too", key, place, taken, worker)


def _running(places: Mapping[Any, str], threads: Mapping[str, int]) -> int:
    """Return how many of the tasks on workers have a thread; others wait there behind them."""
    return sum(min(count, threads.get(worker, 0)) for worker, count in Counter(places.values()).items())
