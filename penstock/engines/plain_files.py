"""Datasets that are Parquet files as they are, which another reader reads to the same rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from penstock.core.scheduler import Scheduler, map_all
from penstock.dataset.dataset import Dataset
from penstock.dataset.steps import RowLog, SelectColumns
from penstock.dataset.tasks import ReadTask
from penstock.io.fragments import Fragment, Piece
from penstock.io.sources.columnar import verify
from penstock.io.sources.files import Storage
from penstock.io.sources.parquet import ParquetSource

# Others take a star for a pattern, skip a file with a leading dot or underscore, look for keys around "=", and go up
# from a link by its name.
_PATH = re.compile(r"(/(?!\.\./)[\w .,+@-]+)*/[^\W_][\w .,+@-]*", re.ASCII)
_NAME = re.compile(r"[^.`]+")
_EXACT = (
    pa.types.is_boolean, pa.types.is_signed_integer, pa.types.is_float32, pa.types.is_float64, pa.types.is_string,
    pa.types.is_binary, pa.types.is_date32, pa.types.is_decimal128,
)  # fmt: skip


@dataclass(frozen=True)
class PlainFiles:
    """The files of a dataset, a piece of each."""

    dataset: Dataset
    storage: Storage
    pieces: tuple[Piece, ...]

    @property
    def paths(self) -> list[str]:
        """Where they lie, from the root."""
        return [piece.path for piece in self.pieces]

    def verify(self, scheduler: Scheduler, label: str) -> None:
        """Raise IncompleteInputError or CorruptFileError for a file that is not the one that was planned.

        Workers read the bytes of files that have a hash; of others there is only a size and a time to look at.
        """
        check = partial(verify, self.storage)
        is_hashed = any(piece.sha256 is not None for piece in self.pieces)
        for _ in map_all(scheduler, check, self.pieces, label=label) if is_hashed else map(check, self.pieces):
            pass

    def check_unchanged(self) -> None:
        """Raise IncompleteInputError for a file that is not the one that was planned."""
        for piece in self.pieces:
            self.storage.check_unchanged(piece)

    def check_readable(self, label: str) -> None:
        """Raise what tasks that read the columns raise: the error names the file and the column."""
        self.check_unchanged()
        for _ in map_all(
            self.dataset.engine, partial(_read_alone, self.dataset.scan()), self.dataset.fragments, label=label
        ):
            pass


def _read_alone(scan: ReadTask, fragment: Fragment) -> None:
    """Read the rows of one fragment for its errors alone."""
    scan.frame(fragment, RowLog())


def plain_files(dataset: Dataset) -> PlainFiles | None:
    """Return the files of a dataset, None unless all of their rows are read, and nothing but columns is left out."""
    source = dataset.reader.source
    pieces = [piece for fragment in dataset.fragments for piece in fragment.pieces]
    whole = not dataset.reader.samples and all(isinstance(step, SelectColumns) for step in dataset.steps)
    if not whole or not isinstance(source, ParquetSource) or source.page_checksum_verification:
        return None
    if not set(source.int96).isdisjoint(dataset.schema.names):  # others may have wrapped them around
        return None
    if not all(_is_plain(piece, dataset.schema, source.storage) for piece in pieces):
        return None
    if not all(_NAME.fullmatch(field.name) and _is_exact(field.type) for field in dataset.schema):
        return None
    return PlainFiles(dataset, source.storage, tuple({piece.path: piece for piece in pieces}.values()))


def _is_plain(piece: Piece, schema: pa.Schema, storage: Storage) -> bool:
    stored = not piece.keys and set(schema.names) <= set(piece.names)
    return stored and storage.is_local(piece.path) and _PATH.fullmatch(piece.path) is not None


def _is_exact(kind: pa.DataType) -> bool:
    moment = pa.types.is_timestamp(kind) and kind.unit in ("ms", "us")
    return bool(moment or any(test(kind) for test in _EXACT))
