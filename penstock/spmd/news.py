"""Failure reports of an engine on its ranks, polled at most once a second."""

from __future__ import annotations

import time
from collections.abc import Callable

_PAUSE = 1.0
"""Seconds between two questions, which cost an engine a call or two."""
_GRACE = 1.0
"""Seconds in which messages of the ranks may still arrive: they name the cause better."""


class News:
    """Failure reports of one attempt.

    Parameters
    ----------
    ask : callable
        Returns why the engine has given up on a rank, if it has; `Launch.problem`.
    clock : callable
        Returns seconds.

    Examples
    --------
    >>> seconds = iter([0.0, 0.5, 1.0, 1.5, 2.0, 3.0])  # before and after each question, and between them
    >>> answers = iter([None, "an executor is gone"])
    >>> news = News(lambda: next(answers), lambda: next(seconds))
    >>> [news.bad() for _ in range(4)]
    [None, None, None, 'an executor is gone']
    """

    def __init__(self, ask: Callable[[], str | None], clock: Callable[[], float] = time.monotonic) -> None:
        self._ask, self._clock = ask, clock
        self._next = float("-inf")
        self._problem: str | None = None

    def bad(self, grace: float = _GRACE) -> str | None:
        """Return the problem, once the engine has known of it for so many seconds."""
        now = self._clock()
        if self._problem is None and now >= self._next:
            self._problem, now = self._ask(), self._clock()  # which may have taken its time
            self._next = now + (_PAUSE if self._problem is None else grace)
        return self._problem if now >= self._next else None
