"""ORC: planned from all footers, which the workers read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pyarrow as pa

from penstock.io.formats.base import TableOptions
from penstock.io.formats.columnar import Columnar
from penstock.io.sinks.orc import OrcWriter, stored_type
from penstock.io.sinks.part_writer import PartWriter
from penstock.io.sources.columnar import Footer
from penstock.io.sources.files import InputFile, Storage
from penstock.io.sources.orc import OrcSource, read_footer


class Orc(Columnar[TableOptions]):
    """Columns in stripes, planned from their footers; see `Engine.read_orc`."""

    name: ClassVar[str] = "orc"
    suffixes: ClassVar[tuple[str, ...]] = (".orc",)
    writer: ClassVar[type[PartWriter] | None] = OrcWriter

    def read_footer(self, storage: Storage, file: InputFile) -> Footer:
        """Return the footer of a file."""
        return read_footer(storage, file)

    def stored_type(self, kind: pa.DataType) -> pa.DataType | None:
        """Return as what ORC stores a type."""
        return stored_type(kind)

    def source(
        self, schema: pa.Schema, storage: Storage, footers: Sequence[Footer], options: TableOptions
    ) -> OrcSource:
        """Return what reads stripes."""
        return OrcSource(schema, storage)
