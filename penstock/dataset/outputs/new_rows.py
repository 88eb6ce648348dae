"""The rows that are merged into an output: staged by their keys, and looked up by them."""

from __future__ import annotations

import posixpath
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import narwhals as nw
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from penstock import frames
from penstock.core.errors import DataValueError
from penstock.core.names import hidden_name
from penstock.io.sinks import FileEntry
from penstock.io.sinks.part_folder import PartFolder
from penstock.io.sinks.partitions import Partitioning
from penstock.io.sources.files import Storage

KEPT_BYTES = 2**28
"""Memory that a process keeps of keys that it has read."""
FRAGMENT, PLACE = hidden_name("fragment"), hidden_name("place")
"""Which row of which fragment a new row is."""
_BUCKET = hidden_name("bucket")
_FOLDER = "_merge"
_SEED = 42

_kept: dict[tuple[str, ...], pl.DataFrame] = {}
_lock = threading.Lock()


@dataclass(frozen=True)
class KeyBuckets:
    """Lays the rows of a fragment into one file for each bucket of keys; in place of a `Layout`.

    Parameters
    ----------
    keys : tuple of str
    count : int
        How many buckets there are, so that one of them fits into memory.
    """

    keys: tuple[str, ...]
    count: int
    prefix: str = "part"
    partitioning: Partitioning | None = None

    def whole(self, stored: pa.Schema) -> pa.Schema:
        """Return the columns of the rows, without their places."""
        return pa.schema([field for field in stored if field.name not in (FRAGMENT, PLACE)])

    def parts(self, frame: nw.DataFrame, index: int, schema: pa.Schema) -> Iterator[tuple[str, nw.DataFrame]]:
        """Yield the names of files and their rows, with the fragment and the place of each."""
        native: pl.DataFrame = nw.to_native(frames.from_arrow(frames.to_arrow(frame, schema)))
        placed = native.with_columns(
            pl.lit(index, pl.Int64).alias(FRAGMENT),
            pl.int_range(pl.len(), dtype=pl.Int64).alias(PLACE),
            (native.select(self.keys).hash_rows(_SEED) % self.count).alias(_BUCKET),
        )
        for part in placed.partition_by(_BUCKET, maintain_order=True):
            bucket = part[_BUCKET][0]
            yield f"{_FOLDER}/{bucket:05d}/{index:05d}", nw.from_native(part.drop(_BUCKET), eager_only=True)


def staged_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns of staged rows."""
    return schema.append(pa.field(FRAGMENT, pa.int64())).append(pa.field(PLACE, pa.int64()))


@dataclass(frozen=True)
class NewRows:
    """Rows that are staged by their keys; travels to the workers.

    Parameters
    ----------
    folder : PartFolder
    storage : Storage
        Opens what is in it.
    schema : pyarrow.Schema
        Of the rows.
    keys : tuple of str
    files : tuple of FileEntry
    """

    folder: PartFolder
    storage: Storage
    schema: pa.Schema
    keys: tuple[str, ...]
    files: tuple[FileEntry, ...]

    @property
    def buckets(self) -> list[list[str]]:
        """The names of the files of each bucket."""
        names: dict[str, list[str]] = {}
        for entry in self.files:
            names.setdefault(posixpath.dirname(entry.path), []).append(entry.path)
        return [names[bucket] for bucket in sorted(names)]

    @property
    def rows_of_fragments(self) -> dict[int, int]:
        """How many rows each fragment has, by its number."""
        rows: dict[int, int] = {}
        for entry in self.files:
            index = _fragment_of(entry)
            rows[index] = rows.get(index, 0) + (entry.rows or 0)
        return rows

    def of_fragment(self, index: int) -> list[str]:
        """Return the names of the files with rows of a fragment."""
        return [entry.path for entry in self.files if _fragment_of(entry) == index]

    def read_keys(self, names: Sequence[str]) -> pl.DataFrame:
        """Return what `read` gives of the keys of a bucket; a process reads them once, where all fit into memory."""
        bucket = tuple(map(self.folder.locate, names))
        with _lock:
            rows = _kept[bucket] = _kept[bucket] if bucket in _kept else self.read(names, self.keys)
            while sum(int(kept.estimated_size()) for kept in _kept.values()) > KEPT_BYTES:
                del _kept[next(iter(_kept))]
        return rows

    def forget_keys(self) -> None:
        """Let go of the keys that this process keeps."""
        with _lock:
            _kept.clear()

    def read(self, names: Sequence[str], columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return the rows of files, with the fragment and the place of each, in those columns or all."""
        schema = staged_schema(self.schema)
        wanted = schema.names if columns is None else [*columns, FRAGMENT, PLACE]
        tables = []
        for name in names:
            with self.storage.open(self.folder.locate(name)) as stream:
                tables.append(pq.ParquetFile(stream).read(columns=wanted))
        types = pa.schema([schema.field(name) for name in wanted])
        table = pa.concat_tables([table.select(wanted).cast(types) for table in tables])
        return nw.to_native(frames.conform(frames.from_arrow(table), types))


def _fragment_of(entry: FileEntry) -> int:
    return int(posixpath.basename(entry.path).partition(".")[0])


@dataclass(frozen=True)
class CheckTask:
    """Looks at the keys of one bucket: each is there once. Gives the folders that rows of it belong into."""

    rows: NewRows
    partitioning: Partitioning | None

    def __call__(self, names: list[str]) -> set[str]:
        """Check one bucket.

        Raises
        ------
        DataValueError
            A key is there twice; names it.
        """
        keys = self.rows.read_keys(names)
        repeated = keys.filter(keys.select(self.rows.keys).is_duplicated()).sort(FRAGMENT, PLACE)
        if len(repeated):
            values = ", ".join(f"{name}={repeated[name][0]!r}" for name in self.rows.keys)
            raise DataValueError(
                f"key {values} is in the rows to merge more than once, so that none of them can be told to be the one",
                hint="Leave one row of each key: by unique, or by a group-by in a query.",
                column=self.rows.keys[0],
            )
        return set(self._folders(keys))

    def _folders(self, keys: pl.DataFrame) -> list[str]:
        if self.partitioning is None or not set(self.partitioning.names) <= set(self.rows.keys):
            return []
        distinct = keys.select(self.partitioning.names).unique(maintain_order=True)
        table = frames.to_arrow(nw.from_native(distinct, eager_only=True), self.partitioning.schema)
        return self.partitioning.folders(table)
