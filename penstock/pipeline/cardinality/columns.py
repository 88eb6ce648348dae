"""How the values of one column are counted."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.core.sizes import show_bytes
from penstock.pipeline.cardinality.estimates import Estimate
from penstock.statistics.distinct import shards
from penstock.statistics.distinct.footprint import Found, Held
from penstock.statistics.distinct.top_k import ALL, TopK

_ELEMENTS = 16  # of a list, for want of knowing


CountKey = tuple[int, str, int | None]
"""The place along the steps, the column, and the most values of a sketch."""


@dataclass(frozen=True)
class ColumnCount:
    """How the values of one column are counted: exactly, or by a sketch that the user has asked for.

    Attributes
    ----------
    position : int
        The place along the steps.
    column : str
    rows : int
        Rows there are: of values there are not more, but of elements of lists.
    width : float
        Bytes of a value.
    held : Held
        How often a state has it, and with what.
    lists, divisible : bool
        Whether elements of lists are counted, and whether values have a hash to cut them by.
    estimate : Estimate or None
        None where so few rows need none.
    keep : TopK
        Which values are asked for.
    parts : int
        In how many parts the counts are merged on workers; 1 is all together.
    found : int or None
        Different values there were, once they are counted exactly.
    error : int
        By how much counts may be too low, once they are counted; 0 of exact ones.
    """

    position: int
    column: str
    rows: int
    width: float
    held: Held
    lists: bool = False
    divisible: bool = True
    estimate: Estimate | None = None
    keep: TopK = ALL
    parts: int = 1
    found: int | None = None
    error: int = 0

    @property
    def key(self) -> CountKey:
        """What tells it from others."""
        return self.position, self.column, self.held.most

    @property
    def bytes(self) -> float:
        """Bytes of all values with their counts, as estimated; at most, of a column that was not."""
        return self._values * self.held.of(self.width)

    @property
    def _values(self) -> int:
        if self.held.most is not None:
            return self.held.most
        if self.estimate is not None:
            return self.estimate.distinct
        return self.rows * (_ELEMENTS if self.lists else 1)

    @property
    def certain_bytes(self) -> float:
        """Bytes of the values that there are at least."""
        return 0.0 if self.estimate is None else self.estimate.at_least * self.held.of(self.width)

    @property
    def brought_bytes(self) -> float:
        """Bytes, at least, that come to the driver."""
        kept = self.certain_bytes
        if self.keep.top is None or self.parts == 1:
            return kept
        return min(kept, self.keep.top * self.parts * self.held.of(self.width))

    def estimated(self, estimate: Estimate | None) -> ColumnCount:
        """Return the column with its estimate, if there is one."""
        return self if estimate is None else replace(self, estimate=estimate, width=estimate.width)

    def within(self, bytes_: float) -> ColumnCount:
        """Return the column in as few parts, a power of 2, as have no more than so many bytes; not more than shards."""
        parts = 1
        while self.divisible and parts < shards.SHARDS and self.bytes > bytes_ * parts:
            parts *= 2
        return replace(self, parts=parts)

    def counted(self, found: Found | None) -> ColumnCount:
        """Return the column with what was found, if that is known."""
        return self if found is None else replace(self, found=found.distinct, error=found.error)

    @property
    def way(self) -> str:
        """How it is counted, in words."""
        if self.held.most is not None:
            size = show_bytes(self.bytes)
            return f"a sketch of the {self.held.most:,} most frequent values, {size}; counts may be too low"
        return f"{self._expected()}; exact, {self._merged()}{self._kept()}"

    def __str__(self) -> str:
        found = "" if self.found is None else f"; found {self.found:,}"
        return f"{self.column}: {self.way}{found}" + (f" by {self.error:,} rows" if self.error else "")

    def _expected(self) -> str:
        if self.estimate is None:
            return f"elements of {self.rows:,} lists" if self.lists else f"at most {self.rows:,} values"
        known = self.estimate
        least = "" if known.at_least == known.distinct else f", at least {known.at_least:,}"
        return f"about {known.distinct:,} values{least}, {show_bytes(self.bytes)}, by {known.rows:,} rows"

    def _merged(self) -> str:
        if self.parts > 1:
            return f"in {self.parts} parts merged apart"
        if not (self.held.sharded and self.divisible) or self._values <= shards.LIMIT:
            return "in one table"
        return "in shards" + ("" if self.estimate else f" where they are more than {shards.LIMIT:,}")

    def _kept(self) -> str:
        if self.keep.all or self.parts == 1:
            return ""
        often = f" of {self.keep.at_least} rows or more" if self.keep.at_least > 1 else ""
        return f", of each {'those' if self.keep.top is None else f'the first {self.keep.top:,}'}{often} kept"
