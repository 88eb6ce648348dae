"""How the parts of an output become rows of a table: its log names them, in one transaction."""

from __future__ import annotations

import os
import posixpath
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.core.errors import CommitConflictError, ConfigError, PenstockError, check_one_of
from penstock.core.locations import is_url
from penstock.core.notices import get_logger
from penstock.io.sinks.failpoints import failpoint
from penstock.io.sinks.files import FileEntry
from penstock.io.sinks.part_folder import LocalPartFolder, PartFolder
from penstock.io.sinks.part_writer import PartWriter
from penstock.io.sinks.partitions import read_name
from penstock.io.sinks.stores.names import new_token
from penstock.io.sinks.stores.part_folder import StorePartFolder
from penstock.io.sinks.stores.store import ObjectStore

logger = get_logger(__name__)

ATTEMPTS = 100
"""How often a run goes on from what others have committed before it: each time one of them has come through."""


@dataclass(frozen=True, kw_only=True)
class TableWrite:
    """What is written into a table.

    Parameters
    ----------
    target : str
        The path or the URL of the table, or its identifier.
    schema : pyarrow.Schema
        Of the rows.
    mode : str
    partition_by, keys : tuple of str
    run : str
        What the names of the parts have in them.
    run_id : str, optional
        What the user calls the run.
    storage_options : mapping
    """

    target: str
    schema: pa.Schema
    mode: str
    partition_by: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    run: str
    run_id: str | None = None
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)


class TableCommitter(ABC):
    """Takes the parts that workers put into a table's folder, and commits one transaction that names them.

    Until the commit nobody sees a part; those of a run that died before it are removed by the next one that commits.

    Parameters
    ----------
    write : TableWrite
    compression : {"zstd", "snappy", "gzip", "none"}
    """

    path: str
    """Where the table lies, or what it is called."""
    schema: pa.Schema
    """Of the rows, as the table has them."""
    folder: TableFolder
    """Where parts are put."""

    def __init__(self, write: TableWrite, compression: str) -> None:
        check_one_of("compression", compression, ("zstd", "snappy", "gzip", "none"))
        self._write, self._compression = write, compression
        self.partition_by = write.partition_by
        """The columns by which parts lie in folders."""
        self.rows_replaced = self.rows_unchanged = 0
        self._takes_parts = True
        """Whether the transaction names the parts of this run: not of one that only reads them, or came before."""

    @abstractmethod
    def prepare(self) -> bool:
        """Look at the table, and return whether there is something to write: not of a run whose rows are in it.

        Raises
        ------
        ConfigError, SchemaDriftError, OutputExistsError
            The table has other columns or partitions, or is there, and ``mode="error"``.
        """

    @abstractmethod
    def writer(self, stored: pa.Schema) -> PartWriter:
        """Return what writes parts of the columns that folders do not name."""

    def commit(self, files: Sequence[FileEntry]) -> None:
        """Make the parts rows of the table.

        Raises
        ------
        CommitConflictError
            Another run has changed what this one was to replace.
        OutputError
            The log cannot be written.
        """
        parts = [entry for entry in files if entry.rows]
        failpoint("table-parts-put")
        committed = any(self._attempt(parts) for _ in range(ATTEMPTS))
        failpoint("table-committed")
        if not committed:
            raise self._conflict()
        self.folder.discard([entry.path for entry in parts] if self._takes_parts else ())

    @abstractmethod
    def names(self) -> Collection[str]:
        """Return the names, without folders, of the files of all versions that the table still has."""

    def _partition(self, folder: str) -> dict[str, pa.Scalar]:
        """Return the partition values of a folder, by column."""
        texts = [read_name(level)[1] for level in folder.split("/")] if self.partition_by else []
        typed = zip(self.partition_by, texts, strict=True)
        return {name: pa.scalar(text).cast(self.schema.field(name).type) for name, text in typed}

    @abstractmethod
    def _attempt(self, files: Sequence[FileEntry]) -> bool:
        """Commit once; return False where another run was faster, and this one may go on after it."""

    @abstractmethod
    def _conflict(self) -> CommitConflictError:
        """Return the error for a table that another run has changed."""


@dataclass(frozen=True)
class TableFolder:
    """The folder of a table, on a disk or in a store, as a run puts parts into it.

    Parameters
    ----------
    path : str
        A path from the root or a URL.
    run : str
    options : mapping
        fsspec's.
    """

    path: str
    run: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def parts(self) -> PartFolder:
        """What workers put parts into."""
        if not is_url(self.path):
            return LocalPartFolder(self.path)
        store = self.store
        return StorePartFolder(store, store.path, self.run, new_token())

    @property
    def prefix(self) -> str:
        """How the names of the parts of this run begin."""
        return f"part-{self.run}"

    def discard(self, keep: Iterable[str] = ()) -> None:
        """Remove the parts of this run, but for those that it has committed; a failure is only reported."""
        try:
            self.discard_run(self.run, frozenset(keep).__contains__)
        except (OSError, PenstockError) as error:
            logger.warning("cannot remove what abandoned attempts left in %s: %s", self.path, error)

    def discard_run(self, run: str, is_kept: Callable[[str], bool]) -> int:
        """Remove the parts of a run, but for those that are kept, and return how many they were."""
        left = [name for name in self._names() if _is_of_run(name, run) and not is_kept(name)]
        if is_url(self.path):
            self.store.discard([f"{self.store.path}/{name}" for name in left])
        else:
            for name in left:
                os.remove(os.path.join(self.path, name))
        return len(left)

    def read_all(self, folder: str, ending: str) -> Iterator[bytes]:
        """Yield the content of the files in a folder of the table whose names end so."""
        if not is_url(self.path):
            yield from (path.read_bytes() for path in sorted(Path(self.path, folder).glob(f"*{ending}")))
            return
        base = f"{self.store.path}/{folder}"
        for name in sorted(self.store.list(base)):
            content = self.store.read(f"{base}/{name}") if name.endswith(ending) and "/" not in name else None
            if content is not None:
                yield content.content

    @property
    def store(self) -> ObjectStore:
        """The store of a table that lies in one."""
        return ObjectStore(self.path, self.options)

    def _names(self) -> list[str]:
        if is_url(self.path):
            return list(self.store.list(self.store.path))
        places = ((os.path.relpath(place, self.path), names) for place, _, names in os.walk(self.path))
        return [os.path.normpath(os.path.join(place, name)) for place, names in places for name in names]


def _is_of_run(name: str, run: str) -> bool:
    return posixpath.basename(name).startswith(f"part-{run}-")


def stored_schema(schema: pa.Schema, kinds: Mapping[pa.DataType, pa.DataType], table: str) -> pa.Schema:
    """Return the columns as a table holds them: some types as wider ones.

    Parameters
    ----------
    schema : pyarrow.Schema
    kinds : mapping of pyarrow.DataType to pyarrow.DataType
        What each type that is not nested is stored as, but decimals and timestamps, which all tables hold.
    table : str
        What the table is called in messages.

    Raises
    ------
    ConfigError
        It cannot hold a type.
    """
    return pa.schema([(each.name, _stored(each.type, kinds, each, table)) for each in schema])


def _stored(kind: pa.DataType, kinds: Mapping[pa.DataType, pa.DataType], column: pa.Field, table: str) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(_stored(kind.value_type, kinds, column, table))
    if pa.types.is_struct(kind) and kind.num_fields:
        return pa.struct([(each.name, _stored(each.type, kinds, column, table)) for each in kind])
    if pa.types.is_decimal128(kind) and 0 <= kind.scale <= kind.precision:
        return kind
    if pa.types.is_timestamp(kind) and kind.unit != "ns":
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if kind in kinds:
        return kinds[kind]
    raise ConfigError(
        f"column {column.name!r} is {column.type}, which {table} cannot hold",
        hint="Cast it: uint64 to decimal128(20, 0), times to microseconds; or leave it out.",
        column=column.name,
    )
