"""When a training begins again, from a checkpoint, on workers that came after it had begun."""

from __future__ import annotations

import time
from collections.abc import Callable


class Grown(Exception):
    """A training that goes on, from its last checkpoint, on more ranks than it began with.

    Attributes
    ----------
    size : int
        How many ranks.
    """

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class Growth:
    """Tells at a checkpoint whether it is sooner to begin again on more ranks than to go on.

    To begin takes as long as it took until the first round was over: ranks are started, and read and prepare their
    rows. Rounds are expected to take so much less time as there are more ranks; what these exchange is not counted.

    Parameters
    ----------
    size : int
        How many ranks there are.
    rounds : int
        Of the whole training; 0 where it cannot be told, and then there is no growth.
    room : callable
        Returns how many ranks there could be now.
    clock : callable
        Returns seconds; it is called when the ranks are asked for, which is now.
    """

    def __init__(
        self, size: int, rounds: int, room: Callable[[], int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._size, self._rounds, self._room, self._clock = size, rounds, room, clock
        self._began = clock()
        self._first: tuple[float, int] | None = None

    def advanced(self, rounds: int) -> None:
        """Note that this many rounds of the training are over; of the first time it is kept when that was."""
        if self._first is None:
            self._first = self._clock(), rounds

    def size_from(self, rounds: int) -> int | None:
        """Return on how many ranks to begin again from a checkpoint of so many rounds, or None to go on.

        Examples
        --------
        >>> seconds = iter([0.0, 5.0, 15.0])  # asked for ranks; after the first round; after round 11
        >>> growth = Growth(1, 100, lambda: 2, lambda: next(seconds))
        >>> growth.advanced(1)
        >>> growth.size_from(11)  # 89 rounds take 89 s here, and 5 and 44.5 s on two ranks
        2
        """
        if self._first is None or rounds <= self._first[1]:
            return None
        moment, first = self._first
        left = (self._rounds - rounds) * (self._clock() - moment) / (rounds - first)
        size = self._room()
        sooner = size > self._size and (moment - self._began) + left * self._size / size < left
        return size if sooner else None
