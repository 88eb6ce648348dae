"""Looking after the workers of a Dask cluster while tasks run on them: one that is frozen is started again.

Dask itself gives up a worker after five minutes without a heartbeat, and only on a cluster that is set so.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Self

import distributed

from penstock.core.notices import get_logger

_LOOKS = 4
_PAUSE = 0.5
_LONGEST_PAUSE = 5.0
_RESTART = 6.0

logger = get_logger(__name__)


class Watch:
    """Has the tasks of a worker run elsewhere when it has given no sign of life for too long.

    Workers send heartbeats from a thread of their own, so that one at work is never silent, however long its task.

    Parameters
    ----------
    client : distributed.Client
    label : str
        What runs.
    timeout : float
        Seconds of silence.

    Attributes
    ----------
    looks : list of callable
        Called every half second, too.
    threads : int
        Of all workers, as of a few seconds ago.
    """

    def __init__(self, client: distributed.Client, label: str, timeout: float) -> None:
        self._client, self._label, self._timeout = client, label, timeout
        self._heard: dict[str, tuple[float, float]] = {}
        self._next_look = 0.0
        self._ended = threading.Event()
        self.looks: list[Callable[[], object]] = [self._look]
        self.threads = 0

    def __enter__(self) -> Self:
        threading.Thread(target=self._keep_looking, name="penstock-watch", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    def _keep_looking(self) -> None:
        while not self._ended.wait(_PAUSE):
            for look in list(self.looks):
                try:
                    look()
                except Exception as error:  # a scheduler that goes away is told by whoever waits for a task
                    logger.debug("%s: its workers cannot be looked after: %s", self._label, error)

    def _look(self) -> None:
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + min(self._timeout / _LOOKS, _LONGEST_PAUSE)
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        self.threads = sum(worker["nthreads"] for worker in workers.values())
        for address, worker in workers.items():
            last, since = self._heard.get(address, (None, now))
            self._heard[address] = worker["last_seen"], since if worker["last_seen"] == last else now
            if now - self._heard[address][1] > self._timeout and not self._answers(address):
                self._replace(address, worker)

    def _answers(self, address: str) -> bool:
        """Ask a silent worker: it may be the scheduler that was too busy to hear it."""
        ask = self._client.run
        try:
            self._client.sync(ask, bool, workers=[address], on_error="return", callback_timeout=self._timeout / 2)
        except TimeoutError:
            return self._ended.is_set()
        return True

    def _replace(self, address: str, worker: dict[str, Any]) -> None:
        """Have the nanny of a worker start it again; one that has no nanny is given up."""
        del self._heard[address]
        logger.warning(
            "%s: worker %s gave no sign of life for %g s (frozen, or cut off); its tasks are run elsewhere",
            self._label,
            address,
            self._timeout,
        )
        if worker["nanny"]:
            self._client.restart_workers([address], timeout=_RESTART, raise_for_error=False)
            return
        stimulus = f"penstock-silent-{time.time()}"
        self._client.sync(self._client.scheduler.unregister, address=address, stimulus_id=stimulus)
