"""Parquet files and tables that Polars reads by itself, where it reads them as Penstock does."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import polars as pl
import pyarrow as pa

from penstock import frames
from penstock.dataset.dataset import Dataset
from penstock.dataset.relations.operation import polars_types
from penstock.dataset.relations.relation import RowNumber
from penstock.dataset.steps import SelectColumns
from penstock.engines.plain_files import PlainFiles, plain_files
from penstock.io.fragments import Piece
from penstock.io.sources.memory import MemorySource


def scan_files(dataset: Dataset, label: str) -> tuple[pl.LazyFrame, PlainFiles] | None:
    """Return a lazy frame of the files of a dataset, and the files; None unless all of their rows are read as they are.

    Polars leaves out row groups that a filter rules out, and reads the others on all cores.
    """
    stored, number = _without_number(dataset)
    files = plain_files(stored)
    if files is None:
        return None
    files.verify(dataset.engine, label)
    if not all(_has_types(piece, stored.schema) for piece in files.pieces):
        return None
    scanned = pl.scan_parquet(files.paths, glob=False, hive_partitioning=False, row_index_name=number)
    return _without_nan(scanned, dataset.schema), files


def scan_tables(dataset: Dataset) -> pl.LazyFrame | None:
    """Return a lazy frame of a dataset of tables; None unless they are read as they are."""
    stored, number = _without_number(dataset)
    whole = not dataset.reader.samples and all(isinstance(step, SelectColumns) for step in stored.steps)
    if not whole or not isinstance(stored.reader.source, MemorySource) or not stored.fragments:
        return None
    schema = stored.schema
    if any(pa.types.is_nested(kind) for kind in schema.types):
        return None
    pieces = [piece.table for fragment in stored.fragments for piece in fragment.pieces if piece.table is not None]
    table = pa.concat_tables([piece.select(schema.names) for piece in pieces])
    frame = pl.DataFrame(table).lazy()
    return _without_nan(frame if number is None else frame.with_row_index(number), dataset.schema)


def _without_number(dataset: Dataset) -> tuple[Dataset, str | None]:
    """Return a dataset as it is stored, and the name of the row number that is to be beside it."""
    if not dataset.steps or not isinstance(dataset.steps[-1], RowNumber):
        return dataset, None
    return replace(dataset, steps=dataset.steps[:-1]), dataset.steps[-1].column


def _without_nan(frame: pl.LazyFrame, schema: pa.Schema) -> pl.LazyFrame:
    floating = [pl.col(field.name) for field in schema if pa.types.is_floating(field.type)]
    # Null is no number either way: one comparison less than that of fill_nan.
    floating = [pl.when(column.is_not_nan()).then(column) for column in floating]
    return frame.with_columns(floating).select(schema.names)


def _has_types(piece: Piece, schema: pa.Schema) -> bool:
    """Return whether a file has the columns of a schema in types that Polars reads as those; a damaged one has not."""
    try:
        there = _polars_schema(piece.path, piece.size, piece.mtime)
    except frames.ERRORS:
        return False
    kinds = zip(schema.names, polars_types(schema.types), strict=True)
    return all(there.get(name) == kind for name, kind in kinds)


@lru_cache(maxsize=1024)
def _polars_schema(path: str, size: int, mtime: float) -> pl.Schema:
    """Return what Polars sees in a file; one that has changed since it was planned is refused elsewhere."""
    return pl.Schema(pl.read_parquet_schema(path))
