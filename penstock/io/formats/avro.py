"""Avro: planned from the heads of the blocks of all files, which the workers look at."""

from __future__ import annotations

from penstock.io.formats.base import TableOptions
from penstock.io.formats.columnar import Columnar
from penstock.io.sinks.avro import AvroWriter, stored_type
from penstock.io.sources.avro import AvroSource, read_footer


class Avro(Columnar[TableOptions]):
    """Rows in blocks, planned from their heads; see `Engine.read_avro`."""

    name = "avro"
    suffixes = (".avro",)
    writer = AvroWriter
    reader = AvroSource
    read_footer = staticmethod(read_footer)
    stored_type = staticmethod(stored_type)
