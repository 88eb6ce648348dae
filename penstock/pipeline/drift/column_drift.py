"""What has changed in a column: its measures, each beside what chance alone would give, and the values by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.core.redaction import presentable

_TOLD = 3


@dataclass(frozen=True)
class DriftMeasure:
    """One number of a column.

    Attributes
    ----------
    name : str
    value : float
    expected : float
        What it is on average where nothing has changed, with so many rows.
    chance : float
        What it is above, where nothing has changed, in as many cases as the level of the report says.
    p_value : float or None
        How likely a value as large is where nothing has changed; None of measures that go by the test of another.
    adjusted : float or None
        The same for all measures of all columns together, by Holm's method.
    limit : float or None
        The largest value that is no alarm, where there is one.
    drifted : bool
        Whether it is an alarm: not by chance, and above its limit.
    """

    name: str
    value: float
    expected: float
    chance: float
    p_value: float | None
    adjusted: float | None = None
    limit: float | None = None
    drifted: bool = False

    def __str__(self) -> str:
        limit = "" if self.limit is None else f", limit {self.limit:.4g}"
        return f"{self.name} {self.value:.4g} (by chance {self.expected:.4g}, at most {self.chance:.4g}{limit})"


@dataclass(frozen=True)
class CategoryShare:
    """A value of a column of strings, and the share of rows that have it.

    Attributes
    ----------
    value : str
    reference, current : float
        Of a value that the profile does not know `reference` is what it was at most.
    p_value : float
        For all values of the column together.
    known : bool
        Whether it is among the values that the profile has counted.
    """

    value: str
    reference: float
    current: float
    p_value: float
    known: bool = True

    @property
    def change(self) -> str:
        """``"new"``, ``"vanished"`` or ``"changed"``."""
        if not self.known or not self.reference:
            return "new"
        return "changed" if self.current else "vanished"

    def __str__(self) -> str:
        most = f", was at most {self.reference:.2%}" if self.reference else ""
        shares = f"from {self.reference:.2%} to {self.current:.2%}"
        told = {"new": f"new, {self.current:.2%}{most}", "vanished": f"vanished, was {self.reference:.2%}"}
        return f"{self.value!r} ({told.get(self.change, shares)})"


@dataclass(frozen=True)
class CellShares:
    """A bin, a value, or what is missing: its share of the rows then and now."""

    name: str
    reference: float
    current: float


@dataclass(frozen=True)
class ColumnDrift:
    """What has changed in a column.

    Attributes
    ----------
    name, role : str
        The role is ``"input"``, ``"score"`` or ``"label"``.
    rows : (int, int)
        Of the reference, and of today.
    measures : tuple of DriftMeasure
    categories : tuple of CategoryShare
        Values of strings whose share has changed by more than chance, the surest first.
    cells : tuple of CellShares
    reference, current : mapping of str to float or None
        The share of missing values, and of numbers mean, standard deviation, smallest and largest.
    """

    name: str
    role: str
    rows: tuple[int, int]
    measures: tuple[DriftMeasure, ...]
    categories: tuple[CategoryShare, ...]
    cells: tuple[CellShares, ...]
    reference: Mapping[str, float | None]
    current: Mapping[str, float | None]

    def __getitem__(self, name: str) -> DriftMeasure:
        """Return a measure by its name."""
        for each in self.measures:
            if each.name == name:
                return each
        raise KeyError(name)

    @property
    def drifted(self) -> bool:
        """Whether any measure is an alarm."""
        return any(each.drifted for each in self.measures)

    def __str__(self) -> str:
        alarms = "; ".join(str(each) for each in self.measures if each.drifted)
        more = f" and {len(self.categories) - _TOLD} more" if len(self.categories) > _TOLD else ""
        named = f"; {', '.join(map(str, self.categories[:_TOLD]))}{more}" if self.categories else ""
        return presentable(f"{self.name} ({self.role}): {alarms or 'as it was'}{named}")
