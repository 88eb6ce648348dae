"""Rows of another dataset that are read beside those of the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import RowCountError
from penstock.core.scheduler import map_all
from penstock.dataset.steps import RowLog, Step
from penstock.frames import ROW
from penstock.io.fragments import Fragment
from penstock.io.sources.base import Reader

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

NUMBER = "row"


@dataclass(frozen=True)
class Part:
    """A fragment of rows that are in the order of their numbers, and the first and the last of these."""

    fragment: Fragment
    first: int
    last: int


@dataclass(frozen=True, eq=False)
class RowsBeside:
    """Rows with the numbers of those of another dataset in the column ``row``.

    Parameters
    ----------
    reader : Reader
        It keeps the files.
    parts : tuple of Part
        In the order of the row numbers.
    """

    reader: Reader
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, rows: Dataset, label: str) -> RowsBeside:
        """Return the rows of a dataset that has no steps, and is in the order of ``row``."""
        spans = map_all(rows.engine, partial(_span, rows.reader), rows.fragments, label=f"{label}: row numbers")
        return cls(rows.reader, tuple(part for part in spans if part is not None))

    def at(self, rows: np.ndarray, columns: Sequence[str], label: str) -> pa.Table:
        """Return columns at these row numbers, on the host.

        Raises
        ------
        RowCountError
            A number is not there; `label` says whose rows they are.
        """
        low, high = (int(rows.min()), int(rows.max())) if len(rows) else (0, -1)
        parts = [part for part in self.parts if part.first <= high and part.last >= low]
        read = [frames.to_arrow(self.reader.read(part.fragment, [NUMBER, *columns], "cpu")) for part in parts]
        table = pa.concat_tables(read) if read else self.reader.source.schema.empty_table()
        numbered = table[NUMBER].to_numpy()
        places = np.minimum(np.searchsorted(numbered, rows), max(0, len(numbered) - 1))
        if len(rows) and not (len(numbered) and np.array_equal(numbered[places], rows)):
            raise RowCountError(
                f"{label} has no value for some of the rows {low} to {high}: they were not there when it was made",
                hint="A filter before it must keep the same rows each time.",
                rows=len(rows),
            )
        return table.select(columns).take(pa.array(places))


def _span(reader: Reader, fragment: Fragment) -> Part | None:
    """Return from which row number to which a fragment goes; None for an empty one.

    Row numbers are in order; they are read on the host, as they are looked up there.
    """
    rows = reader.read(fragment, [NUMBER], "cpu")[NUMBER].to_numpy()
    return Part(fragment, int(rows[0]), int(rows[-1])) if len(rows) else None


@dataclass(frozen=True, eq=False)
class ColumnsBeside(Step):
    """Adds columns whose values were made before, by row number.

    Parameters
    ----------
    added : pyarrow.Schema
        The new columns.
    rows : RowsBeside
        With their values in columns by the places of the new ones: ``v0``, ``v1``, ...
    label : str
    """

    added: pa.Schema
    rows: RowsBeside
    label: str = "beside"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return pa.schema([*schema, *self.added])

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        made = frozenset(self.added.names)
        return (wanted - made) | {ROW} if made & wanted else None

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        stored = [f"v{place}" for place in range(len(self.added))]
        values = self.rows.at(frame[ROW].to_numpy(), stored, self.label).rename_columns(self.added.names)
        return frame.with_columns(*frames.from_arrow(values.cast(self.added), frames.kind_of(frame)).iter_columns())
