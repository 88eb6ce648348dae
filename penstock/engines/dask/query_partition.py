"""What a query does to one partition of a Dask DataFrame: pandas with Arrow's types on a CPU, cuDF on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import pandas as pd
import pyarrow as pa

from penstock import frames
from penstock.dataset.task_errors import translate_errors
from penstock.dataset.tasks import CollectTask, ReadTask
from penstock.frames import Kind, cudf
from penstock.io.fragments import Fragment

_LABELS = 2**40


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


@translate_errors
def in_polars(function: Callable[[nw.DataFrame], nw.DataFrame], kind: Kind, partition: Any) -> Any:
    """Return, as a partition, the rows that a function makes of those of one as a Polars frame."""
    return to_partition(frames.to_arrow(function(from_partition(partition, kind))), kind)
