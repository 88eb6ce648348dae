"""Rows that workers staged, read on the driver for the library that merges them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.core.errors import DataValueError
from penstock.io.sinks.files import FileEntry
from penstock.io.sources.files import Storage
from penstock.io.tables.committer import TableFolder


def read_staged(folder: TableFolder, files: Sequence[FileEntry], schema: pa.Schema) -> pa.RecordBatchReader:
    """Return the rows of parts, one part after another."""

    def batches() -> Iterator[pa.RecordBatch]:
        for table in _tables(folder, files, schema.names):
            yield from table.cast(schema).to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())


def refuse_repeated(folder: TableFolder, files: Sequence[FileEntry], keys: Sequence[str]) -> None:
    """Raise DataValueError for a key that several of the rows in parts have."""
    tables = [pl.DataFrame(table) for table in _tables(folder, files, keys)]
    rows = pl.concat(tables) if tables else pl.DataFrame()
    repeated = rows.filter(rows.is_duplicated()) if len(rows) else rows
    if len(repeated):
        shown = ", ".join(f"{name}={value!r}" for name, value in repeated.row(0, named=True).items())
        raise DataValueError(
            f"the key {shown} is twice among the rows to merge", hint="Thin the rows out first.", column=keys[0]
        )


def _tables(folder: TableFolder, files: Sequence[FileEntry], columns: Sequence[str]) -> Iterator[pa.Table]:
    storage, parts = Storage(folder.options), folder.parts
    for entry in files:
        with storage.open(parts.locate(entry.path)) as stream:
            yield pq.ParquetFile(stream).read(columns=list(columns))
