"""Groups of rows on a GPU, added up there."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from penstock.statistics.groups import Groups

_LANES = 128
"""Sums of each group that are added up side by side: all rows of a class on one place would wait for each other."""


class DeviceGroups(Groups):
    """:class:`Groups` whose arrays are CuPy's; each group has a part.

    Last digits of sums may differ from run to run: a GPU adds in no fixed order.

    Examples
    --------
    >>> groups = DeviceGroups.of(np.array([0, 1, 0]), np.array([1.0, 1.0, 3.0]), 2)  # NumPy's work as well
    >>> groups.means(np.array([2.0, 7.0, 6.0]), 0.0)[0].tolist(), groups.weight.tolist()
    ([5.0, 7.0], [4.0, 1.0])
    """

    @classmethod
    def of(cls, place: Any, parts: Any, number: int) -> DeviceGroups:
        """Return so many groups; the first part of each by a sort, as a GPU writes to one place in no fixed order."""
        bins = _bins(place)
        weight = _sums(bins, parts, number)
        return cls(place, np.unique(place, return_index=True)[1], parts, weight, parts / weight[place])

    def sums(self, values: Any) -> Any:
        """Return the sum of the values of each group."""
        return _sums(self._bins, values, len(self.first))

    @cached_property
    def _bins(self) -> Any:
        return _bins(self.place)


def grouped(place: Any, parts: Any, number: int) -> Groups:
    """Return so many groups, each of which has a part, where the arrays are."""
    return (Groups if isinstance(place, np.ndarray) else DeviceGroups).of(place, parts, number)


def _bins(place: Any) -> Any:
    return place * _LANES + np.arange(len(place), like=place) % _LANES


def _sums(bins: Any, values: Any, number: int) -> Any:
    added = np.bincount(bins, values, number * _LANES).astype(np.float64, copy=False)  # which without rows counts
    return added.reshape(number, _LANES).sum(axis=1)
