"""Partitions of a query: predicates that each row meets one of, and how many rows meet each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa

from penstock.core.errors import ConfigError, IncompleteInputError
from penstock.io.databases import Column, Database, Session


@dataclass(frozen=True)
class Partition:
    """The rows of a query that meet a predicate, all of them where it is None."""

    predicate: str | None
    rows: int


@dataclass(frozen=True)
class PartitionedQuery:
    """What stands after FROM, and by which column it is cut to how many parts."""

    relation: str
    column: Column | None = None
    partitions: int | None = None

    def plan(self, database: Database, session: Session, rows_of_a_part: int) -> list[Partition]:
        """Return the partitions that have rows; by bounds of the column, and one of its nulls.

        Raises
        ------
        ConfigError
            Rows cannot be partitioned by a column of this type.
        """
        if self.column is None:
            return [Partition(None, int(session.first(f"SELECT COUNT(*) FROM {self.relation}")[0]))]
        if not database.partitions_by(self.column.type):
            raise ConfigError(
                f"partition_on is {self.column.name!r}, which is {self.column.type}, expected whole numbers, dates or"
                f" timestamps of {database.title}",
                hint="Take another column, or none: then one worker reads all rows.",
                column=self.column.name,
            )
        name = database.quote(self.column.name)
        found = session.fetch(f"SELECT COUNT(*) AS n, MIN({name}) AS low, MAX({name}) AS high FROM {self.relation}")
        total = int(found["n"][0].as_py())
        count = self.partitions or max(1, -(-total // rows_of_a_part))
        low, high = (database.convert(found[bound], self.column.type)[0] for bound in ("low", "high"))
        cuts = [database.literal(cut) for cut in _cuts(low, high, count)]
        return self._count(session, _predicates(name, cuts), total)

    def _count(self, session: Session, predicates: Sequence[str], total: int) -> list[Partition]:
        asked = [f"COALESCE(SUM(CASE WHEN {each} THEN 1 ELSE 0 END), 0)" for each in predicates]
        counts = [int(count) for count in session.first(f"SELECT {', '.join(asked)} FROM {self.relation}")]
        if sum(counts) != total:
            raise IncompleteInputError(
                f"the partitions of {self.relation} have {sum(counts)} rows, and all of it {total}",
                hint="Read it again once nothing writes to it.",
            )
        parts = [Partition(each, count) for each, count in zip(predicates, counts, strict=True) if count]
        return parts or [Partition(None, 0)]


def _cuts(low: pa.Scalar, high: pa.Scalar, count: int) -> list[pa.Scalar]:
    """Return where to cut a span of values, low and high included, to parts of the same width.

    Examples
    --------
    >>> [cut.as_py() for cut in _cuts(pa.scalar(1), pa.scalar(10), 3)]
    [4, 7]
    """
    if not low.is_valid:
        return []
    whole = pa.int32() if low.type.bit_width == 32 else pa.int64()
    whole = low.type if pa.types.is_integer(low.type) else whole
    first, last = int(low.cast(whole).as_py()), int(high.cast(whole).as_py())
    places = dict.fromkeys(first + (last - first + 1) * part // count for part in range(1, count))
    return [pa.scalar(place, whole).cast(low.type) for place in places if place > first]


def _predicates(name: str, cuts: Sequence[str]) -> list[str]:
    """Return predicates that each row meets one of, whatever its value: the first and the last have one bound."""
    if not cuts:
        return [f"{name} IS NOT NULL", f"{name} IS NULL"]
    inner = [f"{name} >= {low} AND {name} < {high}" for low, high in pairwise(cuts)]
    return [f"{name} < {cuts[0]}", *inner, f"{name} >= {cuts[-1]}", f"{name} IS NULL"]
