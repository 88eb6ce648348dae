"""ORC: planned from all footers, which the workers read."""

from __future__ import annotations

from penstock.io.formats.base import TableOptions
from penstock.io.formats.columnar import Columnar
from penstock.io.sinks.orc import OrcWriter, stored_type
from penstock.io.sources.orc import OrcSource, read_footer


class Orc(Columnar[TableOptions]):
    """Columns in stripes, planned from their footers; see `Engine.read_orc`."""

    name = "orc"
    suffixes = (".orc",)
    writer = OrcWriter
    reader = OrcSource
    read_footer = staticmethod(read_footer)
    stored_type = staticmethod(stored_type)
