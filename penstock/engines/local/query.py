"""Queries on Polars: its streaming engine on a CPU, its GPU engine on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import polars as pl
from polars.io.plugins import register_io_source

from penstock import frames
from penstock.core.errors import PenstockError
from penstock.core.scheduler import map_all
from penstock.dataset.tasks import CollectTask
from penstock.engines.querying import QueryEngine, stage
from penstock.frames import Kind

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


class PolarsQueries(QueryEngine):
    """Reads datasets fragment by fragment, in the columns that the query needs, and streams the result to one file.

    Parameters
    ----------
    kind : {"cpu", "gpu"}
    """

    def __init__(self, kind: Kind) -> None:
        self._gpu = kind == "gpu"
        self._errors: list[PenstockError] = []
        self.hint = 'device="cpu" runs what the GPU engine of Polars cannot.' if self._gpu else None

    def lazy(self, dataset: Dataset, folder: Path, label: str) -> nw.LazyFrame:
        if self._gpu:  # which reads no rows from Python
            stage(dataset, folder, label)
            return nw.from_native(pl.scan_parquet(sorted(folder.iterdir()), glob=False, hive_partitioning=False))

        def rows(columns: list[str] | None, predicate: pl.Expr | None, most: int | None, _: Any) -> Iterator[Any]:
            try:
                yield from _read(dataset, columns, predicate, most, label)
            except PenstockError as error:  # of which Polars would hand on the text
                self._errors.append(error)
                raise

        empty = pl.DataFrame(dataset.schema.empty_table())
        return nw.from_native(register_io_source(rows, schema=empty.schema))

    def write(self, frame: nw.LazyFrame, folder: Path, label: str) -> None:
        folder.mkdir()
        engine: Any = pl.GPUEngine(raise_on_fail=True) if self._gpu else "streaming"
        level = None if self._gpu else 1  # a GPU compresses as it does
        try:
            frame.to_native().sink_parquet(
                folder / "part-000000.parquet", compression="zstd", compression_level=level, engine=engine
            )
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
