"""What merging does on the workers: a file of the output, or a fragment of the new rows, at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

import narwhals as nw
import numpy as np
import polars as pl

from penstock import frames
from penstock.core.errors import RowCountError
from penstock.core.names import hidden_name
from penstock.dataset.outputs.additions import count_rows
from penstock.dataset.outputs.new_rows import FRAGMENT, PLACE, NewRows
from penstock.dataset.outputs.planned import PlannedFile
from penstock.dataset.tasks import put_parts
from penstock.io.sinks import FileEntry
from penstock.io.sinks.layout import Layout
from penstock.io.sinks.part_folder import PartFolder
from penstock.io.sinks.part_writer import PartWriter

_ROW = hidden_name("row")


def _no_numbers() -> np.ndarray:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class Replaced:
    """What a file of the output became.

    Attributes
    ----------
    files : list of FileEntry
        What was written in its place; nothing where none of its rows gave way.
    fragments, places : numpy.ndarray
        Which new rows took the places of its rows.
    """

    files: list[FileEntry] = field(default_factory=list)
    fragments: np.ndarray = field(default_factory=_no_numbers)
    places: np.ndarray = field(default_factory=_no_numbers)


@dataclass(frozen=True)
class ReplaceTask:
    """Writes a file of the output again, with new rows in the places of those that have their keys."""

    new: NewRows
    writer: PartWriter
    folder: PartFolder
    layout: Layout

    def __call__(self, file: PlannedFile) -> Replaced:
        """Merge new rows into one file.

        Raises
        ------
        RowCountError
            It would have other rows than before.
        """
        schema = self.new.schema
        old: pl.DataFrame = nw.to_native(frames.conform(file.read(schema.names), schema)).with_row_index(_ROW)
        matches = [match for bucket in self.new.buckets for match in self._matches(old, bucket)]
        if not matches:
            return Replaced()
        rows = pl.concat(matches)
        merged = pl.concat([old.join(rows, on=_ROW, how="anti"), rows.select(old.columns)]).sort(_ROW).drop(_ROW)
        parts = self.layout.parts(nw.from_native(merged, eager_only=True), file.index, schema)
        files = put_parts(self.writer, parts, self.folder)
        if count_rows(files) != file.entry.rows:
            raise RowCountError(f"{file.entry.path} has {file.entry.rows} rows, and {count_rows(files)} once merged")
        return Replaced(files, rows[FRAGMENT].to_numpy(), rows[PLACE].to_numpy())

    def _matches(self, old: pl.DataFrame, bucket: list[str]) -> list[pl.DataFrame]:
        """Return new rows of a bucket, if there are, with the numbers of the rows whose places they take."""
        keys = list(self.new.keys)
        found = old.select(_ROW, *keys).join(self.new.read_keys(bucket), on=keys, how="inner", nulls_equal=True)
        if not len(found):
            return []
        which = [FRAGMENT, PLACE]
        return [found.select(_ROW, *which).join(self.new.read(bucket), on=which, how="inner")]


@dataclass(frozen=True)
class Rest:
    """The new rows of a fragment that took no place; ``taken`` has a bit for each row of it, packed."""

    index: int
    taken: np.ndarray


@dataclass(frozen=True)
class InsertTask:
    """Writes what is left of the new rows of a fragment, in their order.

    Parameters
    ----------
    first : int
        The number of the files of the first fragment; those that are written in the places of others come before.
    """

    new: NewRows
    writer: PartWriter
    folder: PartFolder
    layout: Layout
    first: int

    def __call__(self, rest: Rest) -> list[FileEntry]:
        """Write what is left of one fragment."""
        self.new.forget_keys()
        rows = self.new.read(self.new.of_fragment(rest.index)).sort(PLACE)
        taken = np.unpackbits(rest.taken, count=len(rows)).astype(bool)
        left = rows.filter(~pl.Series(taken)).select(self.new.schema.names)
        parts = self.layout.parts(nw.from_native(left, eager_only=True), self.first + rest.index, self.new.schema)
        return put_parts(self.writer, parts, self.folder) if len(left) else []
