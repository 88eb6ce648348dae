"""Jobs of Spark in threads of their own."""

from threading import Event, Thread
from typing import Any

import pytest

from penstock.engines.spark.job import CANCELLING, ENDING, Job


class Waiting(Job):
    """Runs until it is stopped."""

    def __init__(self, thread: type[Thread]) -> None:
        super().__init__("wait", (), {}, thread)  # type: ignore[arg-type]
        self._stopped = Event()

    def collect(self) -> list[Any]:
        return [self._stopped.wait(CANCELLING)]

    def completed(self) -> int:
        return 0

    def stop(self, patience: float = ENDING) -> None:
        self._stopped.set()
        self.wait(CANCELLING)


class Interrupted(Thread):
    """Is interrupted where it waits until it has started."""

    def start(self) -> None:
        super().start()
        raise KeyboardInterrupt


def test_a_job_is_cancelled_whose_start_is_interrupted():
    job = Waiting(Interrupted)
    with pytest.raises(KeyboardInterrupt), job:
        pass
    assert job.has_ended
    assert job.rows() == [True]
