"""Arrow IPC: planned from the record batches of all files, which the workers look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pyarrow as pa

from penstock.io.formats.base import TableOptions
from penstock.io.formats.columnar import Columnar
from penstock.io.sinks.arrow_ipc import ArrowWriter
from penstock.io.sinks.part_writer import PartWriter
from penstock.io.sources.arrow_ipc import ArrowIpcSource, read_footer
from penstock.io.sources.columnar import Footer
from penstock.io.sources.files import InputFile, Storage


class Arrow(Columnar[TableOptions]):
    """Record batches in files (Feather, version 2) or streams; see `Engine.read_arrow`."""

    name: ClassVar[str] = "arrow"
    aliases: ClassVar[tuple[str, ...]] = ("feather",)
    suffixes: ClassVar[tuple[str, ...]] = (".arrow", ".arrows", ".feather", ".ipc")
    writer: ClassVar[type[PartWriter] | None] = ArrowWriter

    def read_footer(self, storage: Storage, file: InputFile) -> Footer:
        """Return the schema of a file and the rows of its record batches."""
        return read_footer(storage, file)

    def source(
        self, schema: pa.Schema, storage: Storage, footers: Sequence[Footer], options: TableOptions
    ) -> ArrowIpcSource:
        """Return what reads record batches."""
        return ArrowIpcSource(schema, storage)
