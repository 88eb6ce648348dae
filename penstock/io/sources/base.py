"""What every source has: a schema, and a way to read one piece of it on a worker."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self, runtime_checkable

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import PenstockError
from penstock.core.notices import get_logger
from penstock.core.recording import count, measure
from penstock.core.schemas import shorten
from penstock.frames import ROW, Kind, matrices
from penstock.frames.columns import assemble
from penstock.io.fragments import Fragment, Piece, Sample, bad_records, kept_rows
from penstock.io.persisted import FragmentRows, Persistence, store_of
from penstock.io.sinks.staging_place import StagingFolder
from penstock.io.sources.bad_records import quarantined
from penstock.io.sources.files import Storage

logger = get_logger(__name__)


class Source(Protocol):
    """Reads pieces; small and picklable, it travels with every task."""

    @property
    def schema(self) -> pa.Schema:
        """Columns and types of every frame it reads."""
        ...

    def read(self, piece: Piece, columns: Sequence[str], kind: Kind) -> nw.DataFrame:
        """Return the rows of `piece` with exactly `columns`, in the types of the schema."""
        ...


@runtime_checkable
class SourceOfMany(Source, Protocol):
    """A source that may read several pieces by one call, so that a GPU works on all of them at once."""

    def read_together(self, pieces: Sequence[Piece], columns: Sequence[str], kind: Kind) -> nw.DataFrame | None:
        """Return the rows of all pieces, or None where they have to be read one by one."""
        ...


def read_pieces(source: Source, pieces: Sequence[Piece], columns: Sequence[str], kind: Kind) -> nw.DataFrame:
    """Return the rows of pieces, one after the other."""
    if kind == "gpu" and len(pieces) > 1 and isinstance(source, SourceOfMany):
        frame = source.read_together(pieces, columns, kind)
        if frame is not None:
            return frame
    return frames.concat([source.read(piece, columns, kind) for piece in pieces])


def storage_of(source: Source) -> Storage | None:
    """Return what opens the files of a source, None where it has none; a query runs to say so."""
    return getattr(source, "storage", None)


class RowAccount(Protocol):
    """What is told how many rows are read, and which records are none."""

    read: int

    def quarantine_unparsed(self, records: pa.Table) -> None:
        """Take records that could not be parsed."""

    def repeat(self, other: Any, /) -> None:
        """Take all of an account of the same rows, which stays as it is."""


@dataclass(frozen=True)
class Reader:
    """Reads a fragment: its pieces, the row numbers where they are asked for, the rows that the samples keep.

    Parameters
    ----------
    source : Source
    samples : tuple of Sample
    folder : TemporaryFolder or TemporaryStoreFolder, optional
        Where the files of the source lie, which is not removed as long as a reader has it.
    persistence : Persistence, optional
        How columns are held once they are read; they are read every time unless it is given.
    """

    source: Source
    samples: tuple[Sample, ...] = ()
    folder: StagingFolder | None = field(default=None, metadata={"fingerprint": False})
    persistence: Persistence | None = field(default=None, repr=False, metadata={"fingerprint": False})

    @property
    def sampled_times(self) -> int:
        """How many samples one row may have gone through."""
        return len(self.samples)

    def sampled(self, sample: Sample) -> Self:
        """Return a reader of those of the rows that a sample keeps."""
        return replace(self, samples=(*self.samples, sample))

    def read_accounted(
        self, fragment: Fragment, columns: Sequence[str], kind: Kind, account: RowAccount
    ) -> nw.DataFrame:
        """Read a fragment, with an account of its rows and of the records that are none."""
        with measure("decode"):
            frame = self.read(fragment, columns, kind)
        count("rows_in", len(frame))
        count("bytes_in", lambda: int(frame.estimated_size()))
        account.read += len(frame)
        if any(piece.bad for piece in fragment.pieces):
            account.quarantine_unparsed(self.unparsed(fragment))
        return frame

    def read(self, fragment: Fragment, columns: Sequence[str], kind: Kind) -> nw.DataFrame:
        """Return a frame of `columns`, which may name ``__row__`` (int64) or be only that."""
        stored = [name for name in columns if name != ROW]
        frame = self._stored(fragment, stored, kind)
        if ROW in columns:
            numbers = matrices.arange(fragment.start, fragment.start + len(frame), kind)
            column = matrices.column(frame, ROW, numbers)
            frame = assemble([*frame.iter_columns(), column]) if stored else column.to_frame()
        mask = kept_rows(fragment, self.samples, kind)
        return frame if mask is None else frame.filter(matrices.column(frame, "kept", mask))

    def unparsed(self, fragment: Fragment) -> pa.Table:
        """Return the records of a fragment that could not be parsed, as the quarantine has them."""
        return quarantined(bad_records(fragment, self.samples))

    def version(self, fragment: Fragment) -> Hashable:
        """Return what changes with the files of a fragment; None where reading them would say that they did."""
        storage = storage_of(self.source)
        if storage is None:
            return ()
        files = {piece.path: piece for piece in fragment.pieces}
        try:
            for piece in files.values():
                storage.check_unchanged(piece)
            return tuple(storage.version(piece) for piece in files.values())
        except PenstockError:
            return None

    def _stored(self, fragment: Fragment, columns: Sequence[str], kind: Kind) -> nw.DataFrame:
        wanted = list(columns) or self.source.schema.names[:1]
        if self.persistence is None or self.persistence.released or (version := self.version(fragment)) is None:
            return read_pieces(self.source, fragment.pieces, wanted, kind)
        store = store_of(self.persistence, kind)
        return store.read(
            fragment,
            wanted,
            version,
            lambda names: FragmentRows(read_pieces(self.source, fragment.pieces, names, kind)),
        ).frame


def log_absent(schema: pa.Schema, fragments: Sequence[Fragment]) -> None:
    """Log each column that some files do not have, with the files and rows that are null for it."""
    absent: dict[str, dict[str, int]] = {}
    for piece in (piece for fragment in fragments for piece in fragment.pieces if piece.table is None and piece.rows):
        stored = {*piece.names, *dict(piece.keys)}
        for name in (name for name in schema.names if name not in stored):
            rows = absent.setdefault(name, {})
            rows[piece.path] = rows.get(piece.path, 0) + piece.rows
    for name, rows in absent.items():
        where = shorten(list(rows), 3)
        logger.warning("column %r is null for %d rows of %d file(s): %s", name, sum(rows.values()), len(rows), where)
