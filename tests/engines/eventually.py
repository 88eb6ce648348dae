"""Waiting for what other threads and processes do, however long a busy machine takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 120.0


def until(is_so: Callable[[], Any]) -> None:
    """Wait until something is so; fail after two minutes."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.02)
