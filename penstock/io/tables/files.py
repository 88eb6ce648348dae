"""The files of a table as its log lists them, and the pieces that they are read in."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.core.errors import IncompleteInputError
from penstock.io.fragments import Piece
from penstock.io.sources.files import InputFile, Storage


@dataclass(frozen=True, kw_only=True)
class TableFile:
    """A file of a table.

    Parameters
    ----------
    path : str
    size : int
        In bytes.
    rows : int
        That are stored in it.
    mtime : float
        When it was added, as the log says, in seconds; 0.0 where it does not.
    keys : tuple of (str, object)
        Columns that have one value in the whole file, and these values.
    deleted : numpy.ndarray
        The numbers of the rows that are deleted, ascending, from 0.
    """

    path: str
    size: int
    rows: int
    mtime: float = 0.0
    keys: tuple[tuple[str, Any], ...] = ()
    deleted: np.ndarray

    def pieces(self, most: int) -> Iterator[TablePiece]:
        """Yield the rows that are not deleted, in pieces of at most `most` rows, as even as can be."""
        live = self.rows - len(self.deleted)
        count = -(-live // most)
        bounds = [live * place // count for place in range(count + 1)] if count else []
        for first, end in itertools.pairwise(bounds):
            yield TablePiece(
                self.path,
                first,
                end - first,
                self.size,
                self.mtime,
                keys=self.keys,
                left_out=self.deleted.astype("<i8").tobytes(),
                stored=self.rows,
            )


@dataclass(frozen=True)
class TablePiece(Piece):
    """Rows of a file of a table, counted without those that are deleted; ``stored`` is how many the file has."""

    stored: int = 0

    def stored_range(self) -> tuple[int, int, np.ndarray]:
        """Return the first row in the file, the end, and which of the rows between them are in the piece.

        Examples
        --------
        >>> piece = TablePiece("a", 1, 2, left_out=np.array([0, 3]).tobytes(), stored=6)
        >>> first, end, mask = piece.stored_range()
        >>> first, end, mask.tolist()
        (2, 5, [True, False, True])
        """
        deleted = np.frombuffer(self.left_out, "<i8")
        before = deleted - np.arange(len(deleted))  # rows that stand before each deleted one and are not deleted
        ends = np.array([self.first, self.first + self.rows - 1])
        first, last = (ends + np.searchsorted(before, ends, "right")).tolist()
        mask = np.ones(last + 1 - first, bool)
        mask[deleted[(deleted >= first) & (deleted <= last)] - first] = False
        return first, last + 1, mask


@dataclass(frozen=True)
class TableStorage(Storage):
    """Opens files of tables, which no writer changes: one that is there is known by its size."""

    def check_unchanged(self, file: InputFile | Piece) -> None:
        """Raise IncompleteInputError for a file that is not there, or not the one that the log lists."""
        try:
            size, _ = self.measure(file.path)
        except IncompleteInputError as error:
            raise IncompleteInputError(
                f"{file.path} is in the log of its table, and is not there",
                hint="A vacuum removes the files of old versions: read a newer version, or restore the file.",
                path=file.path,
            ) from error
        if size != file.size:
            raise IncompleteInputError(
                f"{file.path} has {size} bytes, and {file.size} in the log of its table",
                hint="Restore the file: what a log lists is not written again.",
                path=file.path,
            )
