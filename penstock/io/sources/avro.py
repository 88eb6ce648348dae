"""Avro: planned from the heads of all blocks, read by blocks."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
import pyarrow as pa

from penstock.core.schemas import canonical
from penstock.io.fragments import Piece
from penstock.io.sources.avro_blocks import Blocks, as_file, scan_blocks
from penstock.io.sources.avro_schema import decodable
from penstock.io.sources.columnar import ArrowSource, Footer, overlapping, read_once, reading_footer
from penstock.io.sources.files import InputFile, Storage


def read_footer(storage: Storage, file: InputFile) -> Footer:
    """Return the schema of a file and the rows of its blocks.

    Raises
    ------
    CorruptFileError
        The file is empty, cut off inside of a block, or not Avro.
    SchemaError
        A column is of a type that is not read.
    MissingExtraError
        fastavro is not installed.
    """
    with reading_footer(storage, file, "an Avro file", ("Avro",), "blocks cannot be counted") as stream:
        blocks = scan_blocks(stream, file.size)
        return Footer(file, _decode(blocks, b"", None, file.path).schema, blocks.rows)


def _decode(blocks: Blocks, data: bytes, columns: Sequence[str] | None, path: str) -> pa.Table:
    schema, conversions = decodable(blocks.header.schema, path)
    frame = pl.read_avro(
        io.BytesIO(as_file(blocks.header, schema, data)), columns=None if columns is None else [*columns]
    )
    table = frame.to_arrow()
    for name in (name for name in table.column_names if name in conversions):
        table = table.set_column(table.schema.get_field_index(name), name, conversions[name](table[name]))
    return table.cast(canonical(table.schema))


@dataclass(frozen=True)
class AvroSource(ArrowSource):
    """Pieces of Avro files; see `penstock.io.formats.avro`."""

    def read_table(self, piece: Piece, columns: Sequence[str]) -> pa.Table:
        """Return columns of `piece`, in the types of the file."""
        with self.storage.open(piece.path) as stream:
            blocks = read_once(self.storage, piece, lambda: scan_blocks(stream, piece.size))
            wanted, skip = overlapping(blocks.rows, piece)
            begin, end = (blocks.bounds[wanted[0]], blocks.bounds[wanted[-1] + 1]) if wanted else (0, 0)
            stream.seek(begin)
            data: bytes = stream.read(end - begin)
        return _decode(blocks, data, columns, piece.path).slice(skip, piece.rows).select(list(columns))
