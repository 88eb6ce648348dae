"""The rows of a frame apart by what they have in some columns."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import narwhals as nw
import polars as pl
import pyarrow as pa

from penstock import frames


def split_by(frame: nw.DataFrame, columns: Sequence[str], schema: pa.Schema) -> tuple[pa.Table, Iterator[nw.DataFrame]]:
    """Return the values that some columns have together, and for each, in that order, its rows without the columns.

    The values are in ascending order, null first, and rows keep theirs. Kernel: one sort, on the host, and slices of
    it, whatever the number of values; rows that come in the order of the values are not moved.

    Parameters
    ----------
    frame : narwhals.DataFrame
    columns : sequence of str
        Null is a value.
    schema : pyarrow.Schema
        Of the frame.

    Examples
    --------
    >>> schema = pa.schema({"day": pa.int8(), "x": pa.int64()})
    >>> frame = frames.from_arrow(pa.table({"day": [2, 1, 2], "x": [5, 6, 7]}, schema=schema))
    >>> keys, parts = split_by(frame, ["day"], schema)
    >>> keys["day"].to_pylist(), [part["x"].to_list() for part in parts]
    ([1, 2], [[6], [5, 7]])
    """
    on_host = frames.from_arrow(frames.to_arrow(frame, schema)) if frames.is_gpu(frame) else frame
    native: pl.DataFrame = nw.to_native(on_host)
    chosen = native.select(columns)
    in_order = native[columns[0]].is_sorted() and chosen.equals(chosen.sort(columns))
    ordered = native if in_order else native.sort(columns, maintain_order=True)
    chosen = ordered.select(columns)
    lengths = chosen.to_struct("key").rle().struct.field("len").to_list()
    starts = [0, *itertools.accumulate(lengths)][: len(lengths)]
    keys = chosen.select(pl.all().gather(pl.Series(starts, dtype=pl.UInt32)))
    rest = ordered.drop(columns)
    types = pa.schema([schema.field(name) for name in columns])
    parts = (rest.slice(start, length) for start, length in zip(starts, lengths, strict=True))
    return (
        frames.to_arrow(nw.from_native(keys, eager_only=True), types),
        (nw.from_native(part, eager_only=True) for part in parts),
    )
