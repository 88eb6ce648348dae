"""Avro: planned from the heads of the blocks of all files, which the workers look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pyarrow as pa

from penstock.io.formats.base import TableOptions
from penstock.io.formats.columnar import Columnar
from penstock.io.sinks.avro import AvroWriter, stored_type
from penstock.io.sinks.part_writer import PartWriter
from penstock.io.sources.avro import AvroSource, read_footer
from penstock.io.sources.columnar import Footer
from penstock.io.sources.files import InputFile, Storage


class Avro(Columnar[TableOptions]):
    """Rows in blocks, planned from their heads; see `Engine.read_avro`."""

    name: ClassVar[str] = "avro"
    suffixes: ClassVar[tuple[str, ...]] = (".avro",)
    writer: ClassVar[type[PartWriter] | None] = AvroWriter

    def read_footer(self, storage: Storage, file: InputFile) -> Footer:
        """Return the schema of a file and the rows of its blocks."""
        return read_footer(storage, file)

    def stored_type(self, kind: pa.DataType) -> pa.DataType | None:
        """Return as what Avro stores a type."""
        return stored_type(kind)

    def source(
        self, schema: pa.Schema, storage: Storage, footers: Sequence[Footer], options: TableOptions
    ) -> AvroSource:
        """Return what reads blocks."""
        return AvroSource(schema, storage)
