"""Whole files as rows: path, size and time from the listing, the content only where it is asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import InputError, PenstockError
from penstock.io.fragments import Piece
from penstock.io.sources.files import Storage, check_sha256
from penstock.io.sources.stores import why

SCHEMA = pa.schema({"path": pa.string(), "size": pa.int64(), "modified": pa.timestamp("us"), "content": pa.binary()})
_MOST_BYTES = 2**31 - 1


@dataclass(frozen=True)
class BinarySource:
    """Pieces that are one file each."""

    storage: Storage

    @property
    def schema(self) -> pa.Schema:
        """Path, size, modified and content."""
        return SCHEMA

    def read(self, piece: Piece, columns: Sequence[str], kind: frames.Kind) -> nw.DataFrame:
        """Return the row of `piece`; the file is opened only for its content.

        Raises
        ------
        IncompleteInputError
            The file changed since it was planned, or is gone.
        CorruptFileError
            It is not the one that its manifest lists.
        InputError
            It cannot be read, or has more than 2 GiB.
        """
        known = {"path": piece.path, "size": piece.size, "modified": _modified(piece)}
        values = {name: self._content(piece) if name == "content" else known[name] for name in columns}
        wanted = pa.schema([SCHEMA.field(name) for name in columns])
        return frames.from_arrow(pa.Table.from_pydict({name: [value] for name, value in values.items()}, wanted), kind)

    def _content(self, piece: Piece) -> bytes:
        if piece.size > _MOST_BYTES:
            problem = f"{piece.path} has {piece.size} bytes, expected at most 2 GiB in one value"
            raise InputError(
                problem, hint="Leave it out, or read it with map_partitions from its path.", path=piece.path
            )
        try:
            with self.storage.open(piece.path) as stream:
                content = bytes(stream.read())
        except PenstockError:
            raise
        except OSError as error:
            raise InputError(f"cannot read {piece.path}: {why(error)}", path=piece.path) from error
        finally:  # checked after reading: whatever came of it, a file that changed meanwhile is the reason to give
            self.storage.check_unchanged(piece)
        if piece.sha256 is not None:
            check_sha256(piece.path, hashlib.sha256(content).hexdigest(), piece.sha256)
        return content


def _modified(piece: Piece) -> datetime | None:
    """Return when the file was changed, in UTC; some stores do not know."""
    return datetime.fromtimestamp(piece.mtime, UTC).replace(tzinfo=None) if piece.mtime else None
