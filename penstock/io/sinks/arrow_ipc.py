"""Parts in Arrow IPC, the file format (Feather, version 2), which holds every type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa

from penstock.io.sinks.arrow_table import ArrowTableWriter

_ROWS = 2**16


@dataclass(frozen=True)
class ArrowWriter(ArrowTableWriter):
    """Writes record batches of 65,536 rows."""

    kind = "arrow"
    suffix = ".arrow"
    form = "Arrow IPC"
    compressions = ("uncompressed", "lz4", "zstd")

    @staticmethod
    def stored_type(kind: pa.DataType) -> pa.DataType:
        """Return the type itself."""
        return kind

    def write(self, table: pa.Table, sink: BinaryIO) -> None:
        """Write a table as a file."""
        options = pa.ipc.IpcWriteOptions(compression=None if self.compression == "uncompressed" else self.compression)
        with pa.ipc.new_file(sink, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=_ROWS)
