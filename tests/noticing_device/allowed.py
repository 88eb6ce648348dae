"""Which trips may be made, how large they may be and how many."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """What bounds of trips are made of; rows are none of it.

    Parameters
    ----------
    features : int
    outputs : int
        Clusters, components, or classes that have coefficients of their own.
    sample : int
        Rows that are drawn, whatever the number of all.
    rounds : int
    fragments : int
    distinct : int
        Numbers that a state keeps one by one, as a curve keeps its scores, or cells that it puts them in.
    """

    features: int
    outputs: int
    sample: int
    rounds: int
    fragments: int
    distinct: int = 0


Bound = Callable[[Sizes], int]


@dataclass(frozen=True)
class Allowed:
    """Trips by one way, made in one function.

    Parameters
    ----------
    place : str
        How the file and the function begin, as a `Trip` has them: ``io/`` is for all that is in that folder.
    way : str
    most : callable
        How many numbers may cross at once.
    times : callable
        How often.
    """

    place: str
    way: str
    most: Bound
    times: Bound

    def covers(self, place: str, way: str) -> bool:
        """Return whether it is for such trips."""
        return way == self.way and place.startswith(self.place)
