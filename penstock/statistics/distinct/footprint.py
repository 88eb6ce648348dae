"""What a state has of the different values of a column, of which there may be very many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Held:
    """What a state has for each different value.

    Parameters
    ----------
    bytes : int, default 8
        Beside the value itself.
    rows : int, default 1
        How often the value is there, at most, each time with so many bytes.
    most : int, optional
        How many different values there are at most; None where that hangs on the data.
    sharded : bool
        Whether very many are added up shard by shard, so that nothing else of them is in memory at the same time.
    prunable : bool
        Whether `Partitionable.prune` leaves out those that nobody asks for.

    Examples
    --------
    >>> Held(bytes=24, rows=5).of(12.0)
    180.0
    """

    bytes: int = 8
    rows: int = 1
    most: int | None = None
    sharded: bool = True
    prunable: bool = False

    def of(self, width: float) -> float:
        """Return the bytes of a value that by itself takes so many."""
        return self.rows * (width + self.bytes)


class Found(NamedTuple):
    """How many different values there were, where that is known, and by how much their counts may be too low."""

    distinct: int | None
    error: int = 0
