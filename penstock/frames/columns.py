"""The columns of a frame by themselves: typed, put together again, weighed, and stored as Arrow IPC, each as it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import narwhals as nw
import polars as pl
import pyarrow as pa

from penstock.frames import Kind, cudf, to_arrow
from penstock.frames.blocks import EXACT, fits_block

_AS_IT_IS = pl.CompatLevel.newest()


def arrow_schema(frame: nw.DataFrame | nw.LazyFrame, names: Sequence[str]) -> pa.Schema:
    """Return the types of columns as Arrow has them, of a lazy frame too.

    Examples
    --------
    >>> arrow_schema(nw.from_native(pl.LazyFrame({"x": ["a"], "y": [1]})), ["x"])
    x: string
    """
    if fits_block(frame, names):
        return pa.schema([(name, EXACT[frame.schema[name]]) for name in names])
    empty = frame.select(list(names)).head(0)
    return to_arrow(empty.collect() if isinstance(empty, nw.LazyFrame) else empty).schema


def assemble(columns: Sequence[nw.Series]) -> nw.DataFrame:
    """Return a frame of columns of the same rows; on a CPU without a copy, in the chunks that they have.

    Examples
    --------
    >>> assemble([nw.from_native(pl.Series("x", [1, 2]), series_only=True)]).to_dict(as_series=False)
    {'x': [1, 2]}
    """
    natives = [nw.to_native(column) for column in columns]
    on_cpu = isinstance(natives[0], pl.Series)
    return nw.from_native(pl.DataFrame(natives) if on_cpu else cudf.assemble(natives), eager_only=True)


def byte_size(column: nw.Series) -> int:
    """Return the bytes of memory that a column takes, with all of the texts that it refers to."""
    native = nw.to_native(column)
    if not isinstance(native, pl.Series):
        return int(native.memory_usage(index=False, deep=True))
    return sum(array.get_total_buffer_size() for array in _chunks(native))


def write_ipc(column: nw.Series, path: Path) -> None:
    """Write a column to a new file, chunk by chunk."""
    native = nw.to_native(column)
    arrays = _chunks(native) if isinstance(native, pl.Series) else cudf.to_arrow(native.to_frame()).column(0).chunks
    schema = pa.schema([(column.name, arrays[0].type)])
    with open(path, "xb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for array in arrays:
            writer.write_batch(pa.record_batch([array], schema=schema))


def read_ipc(path: Path, kind: Kind) -> nw.Series:
    """Return a column that `write_ipc` wrote, in the chunks that it had: sums depend on them, to the bit.

    On a CPU the file is mapped, not read; it may be removed meanwhile.
    """
    with pa.memory_map(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    native = cudf.from_arrow(table) if kind == "gpu" else pl.from_arrow(table, rechunk=False)
    frame: nw.DataFrame = nw.from_native(native, eager_only=True)
    return frame[frame.columns[0]]


def _chunks(native: pl.Series) -> list[pa.Array]:
    return [chunk.to_arrow(compat_level=_AS_IT_IS) for chunk in native.get_chunks()]
