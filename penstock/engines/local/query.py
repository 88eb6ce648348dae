"""Queries on Polars: its streaming engine on a CPU, its GPU engine on a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import narwhals as nw
import polars as pl
import pyarrow as pa
from polars.io.plugins import register_io_source

from penstock import frames
from penstock.core.errors import PenstockError
from penstock.core.locations import is_url
from penstock.core.scheduler import map_all
from penstock.dataset.dataset import Dataset
from penstock.dataset.relations.operation import Operation, polars_types
from penstock.dataset.relations.order import SortKey, sorting
from penstock.dataset.relations.relation import RowNumber
from penstock.dataset.steps import SelectColumns
from penstock.dataset.tasks import CollectTask
from penstock.engines.local.results import cast, collect
from penstock.engines.plain_files import PlainFiles, plain_files
from penstock.engines.querying import QueryEngine, as_lazy, stage
from penstock.engines.staging import Staging, put_part
from penstock.frames import Kind
from penstock.io.fragments import Piece
from penstock.io.sinks import TemporaryFolder
from penstock.io.sinks.part_folder import PartFolder
from penstock.io.sources.memory import MemorySource


class PolarsQueries(QueryEngine):
    """Reads datasets in the columns that the query needs, and streams the result to memory or, a large one, to files.

    Parameters
    ----------
    kind : {"cpu", "gpu"}
    """

    def __init__(self, kind: Kind) -> None:
        super().__init__()
        self._gpu = kind == "gpu"
        self.keeps_order = not self._gpu
        self._errors: list[PenstockError] = []
        self._staged: list[TemporaryFolder] = []
        self.hint = 'device="cpu" runs what the GPU engine of Polars cannot.' if self._gpu else None

    def lazy(self, dataset: Dataset, staging: Staging, label: str) -> nw.LazyFrame:
        if not self._gpu and (scanned := scan_files(dataset, label)) is not None:
            self.read_directly.append(scanned[1])
            return as_lazy(scanned[0])
        if not self._gpu and (tables := scan_tables(dataset)) is not None:
            return as_lazy(tables)
        if self._gpu:  # which reads no rows from Python, and no files of a store
            files = stage(dataset, self._new_input(staging), label)
            return nw.from_native(pl.scan_parquet(files, glob=False, hive_partitioning=False))

        def rows(columns: list[str] | None, predicate: pl.Expr | None, most: int | None, _: Any) -> Iterator[Any]:
            try:
                yield from _read(dataset, columns, predicate, most, label)
            except PenstockError as error:  # of which Polars would hand on the text
                self._errors.append(error)
                raise

        empty = pl.DataFrame(dataset.schema.empty_table())
        return nw.from_native(register_io_source(rows, schema=empty.schema))

    def _new_input(self, staging: Staging) -> PartFolder:
        folder = staging.new_input()
        if is_url(folder.location):
            self._staged.append(TemporaryFolder())
            folder = self._staged[-1].parts("rows")
        return folder

    def arrange(self, frame: nw.LazyFrame, order: Sequence[SortKey], label: str) -> nw.LazyFrame:
        return as_lazy(frame.to_native().sort(**sorting(order), maintain_order=True))

    def cast(self, frame: nw.LazyFrame, schema: pa.Schema) -> nw.LazyFrame:
        return as_lazy(cast(schema, frame.to_native()))

    def operate(self, operation: Operation, inputs: Sequence[nw.LazyFrame], label: str) -> nw.LazyFrame:
        return as_lazy(operation(*(frame.to_native() for frame in inputs)))

    def shared(self, frame: nw.LazyFrame) -> nw.LazyFrame:
        """Say so: by itself Polars knows no two readings of rows from Python for one."""
        return as_lazy(frame.to_native().cache())

    def run(self, frame: nw.LazyFrame, staging: Staging, label: str) -> pa.Table | None:
        with self._reading():
            if not self._gpu:
                return collect(frame.to_native(), lambda: staging.rows)
        return super().run(frame, staging, label)

    def write(self, frame: nw.LazyFrame, folder: PartFolder, label: str) -> None:
        sink = partial(frame.to_native().sink_parquet, compression="zstd", engine=pl.GPUEngine(raise_on_fail=True))
        with self._reading():
            put_part(folder, "part-000000.parquet", sink)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Raise what went wrong with the rows that are read, in place of what Polars makes of it."""
        try:
            yield
        except frames.ERRORS as error:
            if self._errors:
                raise self._errors[0] from error
            raise


def _read(
    dataset: Dataset, columns: list[str] | None, predicate: pl.Expr | None, most: int | None, label: str
) -> Iterator[pl.DataFrame]:
    """Yield the rows of each fragment that the query asks for, no more than `most` in all."""
    narrow = dataset if columns is None else dataset.select(*columns)
    left = most
    for table in map_all(dataset.engine, CollectTask(narrow.scan(), narrow.schema), narrow.fragments, label=label):
        frame = pl.DataFrame(table)
        frame = frame if left is None else frame.head(left)
        left = None if left is None else left - len(frame)
        yield frame if predicate is None else frame.filter(predicate)
        if left == 0:
            return


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
