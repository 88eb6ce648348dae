"""Arrow IPC: planned from the record batches of all files, which the workers look at."""

from __future__ import annotations

from penstock.io.formats.base import TableOptions
from penstock.io.formats.columnar import Columnar
from penstock.io.sinks.arrow_ipc import ArrowWriter
from penstock.io.sources.arrow_ipc import ArrowIpcSource, read_footer


class Arrow(Columnar[TableOptions]):
    """Record batches in files (Feather, version 2) or streams; see `Engine.read_arrow`."""

    name = "arrow"
    aliases = ("feather",)
    suffixes = (".arrow", ".arrows", ".feather", ".ipc")
    writer = ArrowWriter
    reader = ArrowIpcSource
    read_footer = staticmethod(read_footer)
