"""What a fit says of columns that hold one value: they tell a model nothing, and are mostly a mistake upstream."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.schemas import shorten


def constant_note(columns: Iterable[str], consequence: str) -> list[str]:
    """Return a note for the fit report that names the constant columns; none where there are none.

    Examples
    --------
    >>> constant_note(["x", "y"], "every value becomes 0.0")
    ['2 constant column(s), every value becomes 0.0: x, y']
    >>> constant_note([], "every value becomes 0.0")
    []
    """
    names = list(columns)
    return [f"{len(names)} constant column(s), {consequence}: {shorten(names)}"] if names else []
