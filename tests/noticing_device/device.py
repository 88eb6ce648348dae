"""The device that notices."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from noticing_device.allowed import Allowed, Sizes
from noticing_device.crossings import watch
from noticing_device.trips import Trip, UnexpectedTripError


class NoticingDevice:
    """Fails at trips between host and device that are not allowed; the stand-in for cuDF has to be in place.

    Parameters
    ----------
    allowed : sequence of Allowed
    sizes : Sizes

    Attributes
    ----------
    trips : list of Trip
        All that were made while it watched, in order.
    """

    def __init__(self, allowed: Sequence[Allowed], sizes: Sizes) -> None:
        self.trips: list[Trip] = []
        self._allowed, self._sizes = allowed, sizes
        self._unexpected: list[str] = []
        self._times = Counter[int]()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Notice what crosses while inside; what was caught, or became another error, is raised at the end."""
        try:
            with pytest.MonkeyPatch.context() as patch:
                watch(patch, self._notice)
                yield
        finally:
            if self._unexpected:
                raise UnexpectedTripError("\n".join(self._unexpected))

    def _notice(self, way: str, numbers: int) -> None:
        trip = Trip.here(way, numbers)
        self.trips.append(trip)
        if problem := self._problem(trip):
            self._unexpected.append(f"{trip}: {problem}")
            raise UnexpectedTripError(self._unexpected[-1])

    def _problem(self, trip: Trip) -> str | None:
        """Return what is wrong with a trip, if anything is."""
        places = [place for place, each in enumerate(self._allowed) if each.covers(trip.place, trip.way)]
        if not places:
            return "no trip by this way is allowed here"
        self._times[places[0]] += 1
        allowed = self._allowed[places[0]]
        most, times = allowed.most(self._sizes), allowed.times(self._sizes)
        if trip.numbers > most:
            return f"at most {most:,} numbers may cross here"
        return f"only {times:,} times may numbers cross here" if self._times[places[0]] > times else None
