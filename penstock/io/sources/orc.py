"""ORC: planned from all footers, read by stripes, in the columns needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import orc

from penstock.io.fragments import Piece
from penstock.io.sources.columnar import ArrowSource, Footer, narrowest, overlapping, read_once, reading_footer
from penstock.io.sources.files import InputFile, Storage


def read_footer(storage: Storage, file: InputFile) -> Footer:
    """Return the footer of a file.

    Raises
    ------
    CorruptFileError
        The file is empty, cut off, or not ORC.
    """
    with reading_footer(storage, file, "an ORC file", ("ORC",), "footer unreadable") as stream:
        opened = orc.ORCFile(stream)
        return Footer(file, opened.schema, _stripes(opened))


def _stripes(file: orc.ORCFile) -> tuple[int, ...]:
    """Return the rows of each stripe; pyarrow does not say how many, but one narrow column does."""
    if file.nstripes == 1:
        return (file.nrows,)
    narrow = narrowest(file.schema)
    counts = tuple(file.read_stripe(place, columns=[narrow]).num_rows for place in range(file.nstripes))
    if sum(counts) != file.nrows:
        raise ValueError(f"stripes have {sum(counts)} rows, the footer says {file.nrows}")
    return counts


@dataclass(frozen=True)
class OrcSource(ArrowSource):
    """Pieces of ORC files; see `penstock.io.formats.orc`."""

    def read_table(self, piece: Piece, columns: Sequence[str]) -> pa.Table:
        """Return columns of `piece`, in the types of the file."""
        with self.storage.open(piece.path) as stream:
            file = orc.ORCFile(stream)
            stripes, skip = overlapping(read_once(self.storage, piece, lambda: _stripes(file)), piece)
            places = [file.schema.get_field_index(name) for name in columns]  # a name with a dot would be a path
            batches = [file.read_stripe(stripe, columns=places) for stripe in stripes]
            schema = pa.schema([file.schema.field(place) for place in sorted(places)])
        table = pa.Table.from_batches(batches) if batches else schema.empty_table()
        return table.slice(skip, piece.rows).select(list(columns))
