"""Names of SQL: with regard to case where they are quoted, and else without it where one name alone fits."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from sqlglot import exp


def matches(identifier: exp.Identifier, known: Iterable[str]) -> list[str]:
    """Return the names that an identifier stands for: itself as it is written, else those that differ in case.

    Examples
    --------
    >>> matches(exp.to_identifier("Fare"), ["fare", "FARE"]), matches(exp.to_identifier("Fare"), ["Fare", "fare"])
    (['fare', 'FARE'], ['Fare'])
    >>> matches(exp.to_identifier("Fare", quoted=True), ["fare"])
    []
    """
    known = list(known)
    if identifier.name in known:
        return [identifier.name]
    if identifier.args.get("quoted"):
        return []
    return [name for name in known if name.lower() == identifier.name.lower()]


class Names:
    """Names of columns within a query, each given once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def new(self, *wanted: str) -> str:
        """Return the first of the names that is free, or the last with a number."""
        numbered = (f"{wanted[-1]}_{number}" for number in itertools.count(2))
        name = next(each for each in itertools.chain(wanted, numbered) if each not in self._taken)
        self._taken.add(name)
        return name
