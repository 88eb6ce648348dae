"""What a query does to one partition of a Dask DataFrame: pandas with Arrow's types on a CPU, cuDF on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from penstock import frames
from penstock.core.names import PARTITION
from penstock.dataset.relations.order import SortKey, sorting
from penstock.dataset.task_errors import translate_errors
from penstock.dataset.tasks import CollectTask, ReadTask
from penstock.frames import Kind, cudf
from penstock.io.fragments import Fragment

_LABELS = 2**40
_SAMPLED = 256


def to_partition(table: pa.Table, kind: Kind) -> Any:
    """Return a table as a partition; on a CPU integers with nulls stay integers, and every type of Arrow has its like.

    Examples
    --------
    >>> to_partition(pa.table({"n": [1, None], "s": ["a", None]}), "cpu").dtypes.astype(str).tolist()
    ['int64[pyarrow]', 'string']
    """
    return cudf.from_arrow(table) if kind == "gpu" else table.to_pandas(types_mapper=_dtype)


def _dtype(kind: pa.DataType) -> Any:
    # For strings pandas' own type: with Arrow's, a shuffle makes Python objects of them, and two kinds of null.
    return pd.StringDtype("pyarrow") if pa.types.is_string(kind) else pd.ArrowDtype(kind)


def from_partition(partition: Any, kind: Kind) -> nw.DataFrame:
    """Return a partition as a Polars frame, without its index."""
    if kind == "gpu":
        return frames.from_arrow(cudf.to_arrow(partition))
    return frames.from_arrow(pa.Table.from_pandas(partition, preserve_index=False))


@dataclass(frozen=True)
class Read:
    """Reads a fragment, in all columns or in those that the query needs."""

    scan: ReadTask
    schema: pa.Schema

    @translate_errors
    def __call__(self, fragment: Fragment, columns: Sequence[str] | None = None) -> Any:
        """Return the rows; their labels are used nowhere else in the frame, as pandas aligns by them."""
        wanted = self.schema.names if columns is None else list(columns)
        scan = replace(self.scan, columns=tuple(wanted))
        table = CollectTask(scan, pa.schema([self.schema.field(name) for name in wanted]))(fragment)
        partition = to_partition(table, self.scan.kind)
        first = fragment.index * _LABELS
        partition.index = range(first, first + table.num_rows)
        return partition


@dataclass(frozen=True, eq=False)
class InPolars:
    """Does to a partition what a function does to a Polars frame.

    Parameters
    ----------
    function : callable
    kind : {"cpu", "gpu"}
    schema : pyarrow.Schema, optional
        The types of what the function returns; their canonical ones unless given.
    """

    function: Callable[[nw.DataFrame], nw.DataFrame]
    kind: Kind
    schema: pa.Schema | None = None

    @translate_errors
    def __call__(self, partition: Any) -> Any:
        """Return the rows that the function gives, as a partition."""
        made = self.function(from_partition(partition, self.kind))
        return to_partition(frames.to_arrow(made, self.schema), self.kind)


def sample(frame: nw.DataFrame) -> nw.DataFrame:
    """Return at most 256 rows at even distances from each other in the order of the only column, null left out."""
    values = frame.drop_nulls().sort(*frame.columns)
    return values.gather_every(max(1, -(-len(values) // _SAMPLED)))


def sort(order: Sequence[SortKey], frame: nw.DataFrame) -> nw.DataFrame:
    """Return the rows in an order; those that agree in all columns of it stay as they are."""
    ordered = nw.to_native(frame).sort(**sorting(order), maintain_order=True)
    return nw.from_native(ordered, eager_only=True)


def cuts(sample: Any, kind: Kind, partitions: int) -> pl.Series:
    """Return the values between which the rows of so many partitions lie, from samples of all partitions."""
    values: pl.Series = nw.to_native(from_partition(sample, kind)).to_series().sort()
    places = [len(values) * place // partitions for place in range(1, partitions)] if len(values) else []
    return values.gather(places).unique(maintain_order=True)


@dataclass(frozen=True, eq=False)
class PlaceRows:
    """Tells the partition of each row when a frame is sorted: that of its first column; null has one by itself."""

    key: SortKey
    cuts: pl.Series
    kind: Kind

    @translate_errors
    def __call__(self, partition: Any) -> Any:
        """Return the partition with the column ``__partition__`` (int64)."""
        values = nw.to_native(from_partition(partition[[self.key.column]], self.kind)).to_series()
        places = self.cuts.search_sorted(values, side="right").to_numpy()
        placed = partition.copy(deep=False)
        last = len(self.cuts)
        places = (last - places if self.key.descending else places) + 1
        null = last + 2 if self.key.nulls_last else 0
        placed[PARTITION] = np.where(values.is_null().to_numpy(), null, places).astype("int64")
        return placed
