"""What trainings on the same rows have in common: matrices that the first makes, and the next ones find."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Prepared = TypeVar("Prepared")


class PreparedInputs:
    """Keeps what trainings make of their rows; it stays in the process that made it, and a copy has nothing.

    Examples
    --------
    >>> inputs = PreparedInputs()
    >>> inputs.get("matrix", lambda: [1, 2]) is inputs.get("matrix", lambda: [3])
    True
    """

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}

    def get(self, key: Hashable, build: Callable[[], Prepared]) -> Prepared:
        """Return what is kept under `key`, made by `build` the first time."""
        if key not in self._made:
            self._made[key] = build()
        return self._made[key]

    def __reduce__(self) -> tuple[Any, ...]:
        return PreparedInputs, ()
