"""Which attempt at a task runs here, as its engine knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_attempt: ContextVar[int] = ContextVar("attempt", default=0)


@contextmanager
def on_attempt(number: int) -> Iterator[None]:
    """Record tasks inside as an attempt of a number: 0 is the first one.

    Examples
    --------
    >>> with on_attempt(2):
    ...     attempt_number()
    2
    """
    before = _attempt.set(number)
    try:
        yield
    finally:
        _attempt.reset(before)


def attempt_number() -> int:
    """Return the number of the attempt that runs here."""
    return _attempt.get()
