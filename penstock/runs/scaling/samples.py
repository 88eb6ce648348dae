"""The first rows of a dataset, to calibrate on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.core.errors import ConfigError
from penstock.dataset.dataset import Dataset
from penstock.io.fragments import Fragment, Piece


def first_rows(dataset: Dataset, rows: int) -> Dataset:
    """Return a dataset of the first fragments, the last of which is cut where its format allows it.

    Parameters
    ----------
    dataset : Dataset
        As it was read, without steps.
    rows : int

    Raises
    ------
    ConfigError
        There are not so many rows.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": range(10)}), fragment_bytes=32)
    >>> [fragment.rows for fragment in data.fragments], [fragment.rows for fragment in first_rows(data, 6).fragments]
    ([4, 4, 2], [4, 2])
    """
    known = sum(fragment.rows for fragment in dataset.fragments)
    if not 0 < rows <= known:
        problem = f"rows is {rows:,}, and the data has {known:,}"
        raise ConfigError(problem, hint="Calibrate on fewer rows than there are: a quarter, and all, say.")
    return replace(dataset, fragments=tuple(_fragments(dataset.fragments, rows)))


def _fragments(fragments: tuple[Fragment, ...], rows: int) -> Iterator[Fragment]:
    for fragment in fragments:
        if rows <= 0:
            return
        pieces = tuple(_pieces(fragment.pieces, rows))
        yield replace(fragment, pieces=pieces)
        rows -= sum(piece.rows for piece in pieces)


def _pieces(pieces: tuple[Piece, ...], rows: int) -> Iterator[Piece]:
    for piece in pieces:
        if rows <= 0:
            return
        yield piece if piece.rows <= rows or not piece.divisible else piece.cut(0, rows)
        rows -= piece.rows
