"""The ranks of a training as Dask tasks: each is bound to a worker, and none outlives its attempt."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from penstock.core.notices import get_logger
from penstock.engines.dask.tasks import Tasks
from penstock.spmd import RankAssignment, run_rank

_ANSWER = 2.0
_PATIENCE = 5.0
_RESTART = 6.0

logger = get_logger(__name__)


class RankTasks:
    """A task for each rank, on the worker of the same place in `workers`."""

    def __init__(self, tasks: Tasks, places: Sequence[RankAssignment], workers: Sequence[str]) -> None:
        self._tasks, self._client = tasks, tasks.client
        self._workers = {
            tasks.submit(run_rank, place, tasks.shared, workers=[worker]): worker
            for place, worker in zip(places, workers, strict=True)
        }

    def problem(self) -> str | None:
        """Return why a rank is lost: its task failed, or its worker is gone."""
        for index, (future, worker) in enumerate(self._workers.items()):
            if future.status == "error":
                error = future.exception()
                return f"rank {index} on {worker}: {type(error).__name__}: {error}"
            if future.status == "cancelled":
                return f"rank {index} on {worker} was cancelled"
        return self._gone()

    def _gone(self) -> str | None:
        alive = self._client.nthreads()
        for index, (future, worker) in enumerate(self._workers.items()):
            if worker not in alive and not future.done():
                return f"rank {index}: its worker {worker} is gone{self._tasks.losses.last_words()}"
        return None

    def stop(self) -> None:
        """Drop the ranks that have not started; those that do not end soon, or are frozen, end with their worker."""
        running = {future.key: worker for future, worker in self._workers.items() if not future.done()}
        self._tasks.release()
        deadline = time.monotonic() + _PATIENCE
        while running and time.monotonic() < deadline:
            running = self._still_running(running)
            time.sleep(0.1)
        self._restart(set(running.values()))

    def _still_running(self, running: dict[Any, str]) -> dict[Any, str]:
        """Return those of the ranks that still run; the worker of one that does not answer is started again."""
        alive = self._client.nthreads()
        left = {}
        for key, worker in running.items():
            answer = self._ask(key, worker) if worker in alive else False
            if answer is None:
                self._restart({worker})
            elif answer:
                left[key] = worker
        return left

    def _ask(self, key: Any, worker: str) -> bool | None:
        """Return whether a worker executes a task, or None when it does not answer."""
        try:
            found = self._client.sync(
                self._client.run, executes, key, workers=[worker], on_error="return", callback_timeout=_ANSWER
            )
        except TimeoutError:
            return None
        return found.get(worker) is True

    def _restart(self, workers: set[str]) -> None:
        gone = sorted(workers & self._client.nthreads().keys())
        if not gone:
            return
        logger.warning("starting %s again: its rank does not end", ", ".join(gone))
        try:
            self._client.restart_workers(gone, timeout=_RESTART, raise_for_error=False)
        except (KeyError, ValueError) as error:  # it went away meanwhile, or has no nanny
            logger.warning("%s cannot be started again: %s", ", ".join(gone), error)


def executes(key: Any, dask_worker: Any) -> bool:
    """Return whether this worker executes a task, even one that was cancelled meanwhile."""
    state = dask_worker.state
    return state.tasks.get(key) in state.executing
