"""Polling of conditions that other threads and processes bring about."""

import time
from collections.abc import Callable, Iterable
from typing import Any

import psutil

PATIENCE = 120.0


def until(condition: Callable[[], Any]) -> None:
    """Wait until a condition holds; fail after two minutes."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "the condition does not hold after two minutes"
        time.sleep(0.02)


def until_ended(pids: Iterable[int]) -> None:
    """Wait until none of the processes runs."""
    until(lambda pids=list(pids): not any(map(_runs, pids)))


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
