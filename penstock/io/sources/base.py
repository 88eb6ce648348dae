"""What every source has: a schema, and a way to read one piece of it on a worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.notices import get_logger
from penstock.core.schemas import shorten
from penstock.frames import ROW, Kind, matrices
from penstock.io.fragments import Fragment, Piece, Sample, bad_records, kept_rows
from penstock.io.sinks import TemporaryFolder
from penstock.io.sources.bad_records import quarantined

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


@dataclass(frozen=True)
class Reader:
    """Reads a fragment: its pieces, the row numbers where they are asked for, the rows that the samples keep.

    Parameters
    ----------
    source : Source
    samples : tuple of Sample
    folder : TemporaryFolder, optional
        Where the files of the source lie, which is not removed as long as a reader has it.
    """

    source: Source
    samples: tuple[Sample, ...] = ()
    folder: TemporaryFolder | None = None

    def read(self, fragment: Fragment, columns: Sequence[str], kind: Kind) -> nw.DataFrame:
        """Return a frame of `columns`, which may name ``__row__`` (int64) or be only that."""
        stored = [name for name in columns if name != ROW]
        frame = self._stored(fragment, stored, kind)
        if ROW in columns:
            numbers = matrices.column(
                frame, ROW, np.arange(fragment.start, fragment.start + len(frame), dtype=np.int64)
            )
            frame = frame.with_columns(numbers) if stored else numbers.to_frame()
        mask = kept_rows(fragment, self.samples)
        return frame if mask is None else frame.filter(matrices.column(frame, "kept", mask))

    def unparsed(self, fragment: Fragment) -> pa.Table:
        """Return the records of a fragment that could not be parsed, as the quarantine has them."""
        return quarantined(bad_records(fragment, self.samples))

    def _stored(self, fragment: Fragment, columns: Sequence[str], kind: Kind) -> nw.DataFrame:
        wanted = columns or self.source.schema.names[:1]
        return frames.concat([self.source.read(piece, wanted, kind) for piece in fragment.pieces])


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
