"""Parts in Arrow IPC, the file format (Feather, version 2), which holds every type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO, ClassVar

import pyarrow as pa

from penstock.core.errors import check_one_of
from penstock.io.sinks.arrow_table import ArrowTableWriter

_ROWS = 2**16


@dataclass(frozen=True)
class ArrowWriter(ArrowTableWriter):
    """Writes record batches of 65,536 rows.

    Parameters
    ----------
    compression : {"zstd", "lz4", "uncompressed"}
    """

    compression: str = "zstd"

    kind: ClassVar[str] = "arrow"
    suffix: ClassVar[str] = ".arrow"
    form: ClassVar[str] = "Arrow IPC"

    def __post_init__(self) -> None:
        check_one_of("compression", self.compression, ("uncompressed", "lz4", "zstd"))
        super().__post_init__()

    @staticmethod
    def stored_type(kind: pa.DataType) -> pa.DataType:
        """Return the type itself."""
        return kind

    def write(self, table: pa.Table, sink: BinaryIO) -> None:
        """Write a table as a file."""
        options = pa.ipc.IpcWriteOptions(compression=None if self.compression == "uncompressed" else self.compression)
        with pa.ipc.new_file(sink, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=_ROWS)
