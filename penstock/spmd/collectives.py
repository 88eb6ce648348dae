"""The collective calls of a gang: what its ranks have handed in, until every one has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.spmd.messages import Answer, Gather, Ready, Reduce

Contribution = Ready | Gather | Reduce


class Collectives:
    """Completes each collective call when its last rank has come.

    Parameters
    ----------
    size : int
        How many ranks there are.
    rendezvous : callable
        Gives the arguments of XGBoost's communicator, when all ranks are ready.

    Examples
    --------
    >>> calls = Collectives(2, dict)
    >>> calls.add(1, Gather("b"))
    >>> calls.add(0, Gather("a"))
    Answer(value=['a', 'b'])
    """

    def __init__(self, size: int, rendezvous: Callable[[], dict[str, Any]]) -> None:
        self._size, self._rendezvous = size, rendezvous
        self._waiting: dict[type, dict[int, Any]] = {}

    def add(self, index: int, contribution: Contribution) -> Answer | None:
        """Take what one rank hands in, and return the answer for all where that was the last."""
        waiting = self._waiting.setdefault(type(contribution), {})
        waiting[index] = contribution
        if len(waiting) < self._size:
            return None
        del self._waiting[type(contribution)]
        return Answer(self._result([waiting[index] for index in range(self._size)]))

    def _result(self, contributions: Sequence[Any]) -> Any:
        match contributions[0]:
            case Ready():
                return self._rendezvous()
            case Gather():
                return [each.value for each in contributions]
            case _:
                return _sum([each.values for each in contributions])


def _sum(terms: Sequence[np.ndarray]) -> np.ndarray:
    """Add up in the order of the ranks, so that a sum of floats is the same every time."""
    total = terms[0].copy()
    for term in terms[1:]:
        total += term
    return total
