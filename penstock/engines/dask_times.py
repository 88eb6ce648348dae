"""How long the tasks of one call of the Dask engine take, as its workers know it."""

from __future__ import annotations

import functools
import time
from collections import deque
from collections.abc import Callable, Container
from typing import Any, ParamSpec, TypeVar

import distributed

from penstock.engines.stragglers import median_of

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_ANSWER = 5.0

_latest: deque[tuple[str, float]] = deque(maxlen=1000)
"""On a worker: the call of each of the last tasks that are done, and its seconds."""


def timed(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return a function that does the same as a task on a worker, and is among the times of its call."""

    @functools.wraps(function, updated=())
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        started = time.monotonic()
        result = function(*args, **kwargs)
        _latest.append((distributed.get_worker().get_current_task()[0], time.monotonic() - started))
        return result

    return call


class WorkerTimes:
    """The times of the tasks of one call; those that a worker took with it when it was lost are not known.

    Parameters
    ----------
    client : distributed.Client
    call : str
        With which the keys of all of its tasks begin.
    keys : container
        Those of the tasks that are asked about.
    """

    def __init__(self, client: distributed.Client, call: str, keys: Container[Any]) -> None:
        self._client, self._call, self._keys = client, call, keys
        self._seconds: list[float] = []

    def running(self) -> dict[Any, float]:
        """Ask all workers at once; return the seconds since each task that runs was started."""
        ask = self._client.run
        answers = self._client.sync(ask, _times, self._call, on_error="ignore", callback_timeout=_ANSWER).values()
        self._seconds = [seconds for _, done in answers for seconds in done]
        return {key: seconds for running, _ in answers for key, seconds in running.items() if key in self._keys}

    def done(self) -> tuple[int, float]:
        """Return how many tasks were done when the workers were asked, and the median of their seconds."""
        return median_of(self._seconds)


def _times(call: str, dask_worker: Any) -> tuple[dict[Any, float], list[float]]:
    now = time.time()
    tasks = [task for task in dask_worker.state.executing if task.key[0] == call and task.start_time]
    return {task.key: now - task.start_time for task in tasks}, [
        seconds for name, seconds in list(_latest) if name == call
    ]
