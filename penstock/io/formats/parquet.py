"""Parquet: planned from all footers, which the workers read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.io.formats.base import TableOptions
from penstock.io.formats.columnar import Columnar
from penstock.io.sinks.parquet import ParquetWriter
from penstock.io.sources.columnar import Footer
from penstock.io.sources.files import Storage
from penstock.io.sources.parquet import ParquetSource, mean_lengths, read_footer


@dataclass(frozen=True, kw_only=True)
class ParquetOptions(TableOptions):
    """What `Engine.read_parquet` takes."""

    page_checksum_verification: bool = False


class Parquet(Columnar[ParquetOptions]):
    """Columns in row groups, planned from their footers; see `Engine.read_parquet`."""

    name = "parquet"
    suffixes = (".parquet", ".parq", ".pq")
    options = ParquetOptions
    writer = ParquetWriter
    reader = ParquetSource
    read_footer = staticmethod(read_footer)
    mean_lengths = staticmethod(mean_lengths)

    def source(
        self, schema: pa.Schema, storage: Storage, footers: Sequence[Footer], options: ParquetOptions
    ) -> ParquetSource:
        """Return what reads row groups."""
        int96 = tuple(dict.fromkeys(name for footer in footers for name in footer.int96))
        return ParquetSource(schema, storage, options.page_checksum_verification, int96)
