"""Tables that are already in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.names import without_index
from penstock.core.schemas import canonical, check_type, check_unique
from penstock.io.fragments import Fragment, Piece, pack, row_bytes


@dataclass(frozen=True)
class MemorySource:
    """Pieces that carry their rows with them, as Arrow."""

    schema: pa.Schema

    def read(self, piece: Piece, columns: Sequence[str], kind: frames.Kind) -> nw.DataFrame:
        """Return the rows that the piece carries."""
        assert piece.table is not None
        return frames.from_arrow(piece.table.select(list(columns)), kind)

    @classmethod
    def plan(
        cls, table: pa.Table, fragment_bytes: int, *, is_own: bool = False
    ) -> tuple[MemorySource, tuple[Fragment, ...]]:
        """Cut a table to fragments.

        Parameters
        ----------
        table : pyarrow.Table
        fragment_bytes : int
        is_own : bool
            Whether nothing else has its buffers; else they are copied.

        Raises
        ------
        SchemaDriftError
            A column name stands twice.
        SchemaError
            A column has a type that cannot be read.
        """
        check_unique(table.schema.names, "the table")
        table = table.select(without_index(table.schema.names, "the table"))
        schema = canonical(table.schema)
        for field in schema:
            check_type(field.name, field.type, "the table")
        table = table.cast(schema)
        width = max(row_bytes(schema), table.nbytes // max(1, table.num_rows))
        step = max(1, fragment_bytes // width)
        pieces = [
            Piece("<memory>", first, rows.num_rows, table=rows if is_own and rows.num_rows == len(table) else own(rows))
            for first in range(0, table.num_rows, step)
            if (rows := table.slice(first, step))
        ]
        return cls(schema), pack(pieces or [Piece("<memory>", 0, 0, table=table)], width, fragment_bytes)


def own(table: pa.Table) -> pa.Table:
    """Return a slice with buffers of its own, so that shipping it does not ship the whole table."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(sink.getvalue()).read_all()
