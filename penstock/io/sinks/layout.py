"""How the rows of one fragment lie in files."""

from __future__ import annotations

import itertools
import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import narwhals as nw
import polars as pl
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.core.names import hidden_name
from penstock.io.sinks.partitions import Partitioning

MOST_FILES = 100_000
"""How many files one write may make."""
_PLACE = hidden_name("place")


class RowLayout(Protocol):
    """Says which files the rows of a fragment become; travels to the workers."""

    @property
    def prefix(self) -> str:
        """How the names of files begin that are not laid out by this: those of rows set aside."""

    @property
    def partitioning(self) -> Partitioning | None:
        """The columns that folders name."""

    def whole(self, stored: pa.Schema) -> pa.Schema:
        """Return the columns of the rows, of those of the files."""

    def parts(self, frame: nw.DataFrame, index: int, schema: pa.Schema) -> Iterator[tuple[str, nw.DataFrame]]:
        """Yield the names of files, without the ending, and their rows."""


@dataclass(frozen=True)
class Layout:
    """Which files the rows of a fragment become, in which order; one file unless something else is asked for.

    Parameters
    ----------
    partitioning : Partitioning, optional
        Rows lie in a folder for each value of these columns.
    sort_by : tuple of str
        Columns by which the rows of a fragment are sorted within a folder, null first.
    max_rows_per_file : int, optional
    prefix : str
        How the names of files begin.

    Examples
    --------
    >>> from penstock import frames
    >>> schema = pa.schema({"day": pa.int8(), "x": pa.int64()})
    >>> frame = frames.from_arrow(pa.table({"day": [2, 1, 2], "x": [7, 6, 5]}, schema=schema))
    >>> layout = Layout(Partitioning.of(schema, ["day"]), sort_by=("x",))
    >>> [(name, part["x"].to_list()) for name, part in layout.parts(frame, 3, schema)]
    [('day=1/part-00003', [6]), ('day=2/part-00003', [5, 7])]
    """

    partitioning: Partitioning | None = None
    sort_by: tuple[str, ...] = ()
    max_rows_per_file: int | None = None
    prefix: str = "part"

    def whole(self, stored: pa.Schema) -> pa.Schema:
        """Return the columns of the files and those that folders name."""
        return stored if self.partitioning is None else pa.schema([*stored, *self.partitioning.schema])

    def parts(self, frame: nw.DataFrame, index: int, schema: pa.Schema) -> Iterator[tuple[str, nw.DataFrame]]:
        """Yield the names of files, without the ending, and their rows.

        Parameters
        ----------
        frame : narwhals.DataFrame
            The rows of a fragment, of all columns of `schema`.
        index : int
            The number of the fragment.
        schema : pyarrow.Schema

        Raises
        ------
        ConfigError
            There are more than 100,000 folders.
        """
        if self.partitioning is None:
            yield from self.files(frame, "", index)
            return
        for folder, part in self.split(frame, schema):
            yield from self.files(part, folder, index)

    def split(self, frame: nw.DataFrame, schema: pa.Schema) -> Iterator[tuple[str, nw.DataFrame]]:
        """Yield the folders that rows belong into, each with its rows."""
        assert self.partitioning is not None
        keys, parts = split_by(frame, self.partitioning.names, schema)
        check_number(keys.num_rows)
        yield from zip(self.partitioning.folders(keys), parts, strict=True)

    def files(self, frame: nw.DataFrame, folder: str, index: int) -> Iterator[tuple[str, nw.DataFrame]]:
        """Yield the names of the files in a folder, without the ending, that rows become."""
        name = posixpath.join(folder, f"{self.prefix}-{index:05d}")
        rows = _sorted(frame, self.sort_by) if self.sort_by else frame
        if self.max_rows_per_file is None:
            yield name, rows
            return
        for place, start in enumerate(range(0, max(1, len(rows)), self.max_rows_per_file)):
            yield f"{name}-{place:05d}", rows[start : start + self.max_rows_per_file]


def check_number(files: int) -> None:
    """Raise ConfigError for more files than one write may make."""
    if files > MOST_FILES:
        raise ConfigError(
            f"the output would be of more than {MOST_FILES:,} files",
            hint="Partition by fewer columns, or by coarser ones (a month instead of a user), or raise"
            " max_rows_per_file.",
        )


def _sorted(frame: nw.DataFrame, columns: tuple[str, ...]) -> nw.DataFrame:
    """Return the rows sorted, null first; those that agree keep their order."""
    return frame.with_row_index(_PLACE).sort(*columns, _PLACE).drop(_PLACE)


def split_by(frame: nw.DataFrame, columns: Sequence[str], schema: pa.Schema) -> tuple[pa.Table, Iterator[nw.DataFrame]]:
    """Return the values that some columns have together, and for each, in that order, its rows without the columns.

    The values are in ascending order, null first, and rows keep theirs. Kernel: one sort, on the host, and slices of
    it, whatever the number of values; rows that come in the order of the values are not moved.

    Parameters
    ----------
    frame : narwhals.DataFrame
    columns : sequence of str
        Null is a value.
    schema : pyarrow.Schema
        Of the frame.

    Examples
    --------
    >>> schema = pa.schema({"day": pa.int8(), "x": pa.int64()})
    >>> frame = frames.from_arrow(pa.table({"day": [2, 1, 2], "x": [5, 6, 7]}, schema=schema))
    >>> keys, parts = split_by(frame, ["day"], schema)
    >>> keys["day"].to_pylist(), [part["x"].to_list() for part in parts]
    ([1, 2], [[6], [5, 7]])
    """
    on_host = frames.from_arrow(frames.to_arrow(frame, schema)) if frames.is_gpu(frame) else frame
    native: pl.DataFrame = nw.to_native(on_host)
    chosen = native.select(columns)
    in_order = native[columns[0]].is_sorted() and chosen.equals(chosen.sort(columns))
    ordered = native if in_order else native.sort(columns, maintain_order=True)
    chosen = ordered.select(columns)
    lengths = chosen.to_struct("key").rle().struct.field("len").to_list()
    starts = [0, *itertools.accumulate(lengths)][: len(lengths)]
    keys = chosen.select(pl.all().gather(pl.Series(starts, dtype=pl.UInt32)))
    rest = ordered.drop(columns)
    types = pa.schema([schema.field(name) for name in columns])
    parts = (rest.slice(start, length) for start, length in zip(starts, lengths, strict=True))
    return (
        frames.to_arrow(nw.from_native(keys, eager_only=True), types),
        (nw.from_native(part, eager_only=True) for part in parts),
    )
