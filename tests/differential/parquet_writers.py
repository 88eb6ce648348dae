"""Ways to write a table as Parquet: by pyarrow and by Polars, with everything that changes what is in the file."""

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from hypothesis import reject
from hypothesis import strategies as st
from outcomes import plain

Options = dict[str, Any]
Writer = tuple[str, Options]

PYARROW = st.fixed_dictionaries(
    {
        "row_group_size": st.sampled_from([1, 3, 7, 1000]),
        "compression": st.sampled_from(["none", "snappy", "gzip", "zstd", "lz4", "brotli"]),
        "use_dictionary": st.booleans(),
        "version": st.sampled_from(["1.0", "2.4", "2.6"]),
        "data_page_version": st.sampled_from(["1.0", "2.0"]),
        "data_page_size": st.sampled_from([64, 2**20]),
        "write_page_checksum": st.booleans(),
        "write_statistics": st.booleans(),
        "store_schema": st.booleans(),
        "use_deprecated_int96_timestamps": st.sampled_from([True, False]),
        "use_compliant_nested_type": st.booleans(),
    }
)
POLARS = st.fixed_dictionaries(
    {
        "row_group_size": st.sampled_from([None, 1, 3]),
        "compression": st.sampled_from(["uncompressed", "snappy", "gzip", "zstd", "lz4"]),
        "statistics": st.booleans(),
        "data_page_size": st.sampled_from([None, 64]),
    }
)
WRITERS = PYARROW.map(lambda options: ("pyarrow", options)) | POLARS.map(lambda options: ("polars", options))


def write(table: pa.Table, path: Path, writer: Writer) -> pa.Table:
    """Write a file and return what is in it, in the types that it has there; what no file can hold is no example."""
    library, options = writer
    try:
        if library == "polars":
            pl.from_arrow(table).write_parquet(path, **options)
        else:
            pq.write_table(table, path, **options)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pl.exceptions.ComputeError):
        reject()
    int96 = options.get("use_deprecated_int96_timestamps", False)
    stored = zip(table.columns, pq.read_schema(path).types, strict=True)
    return pa.table([_in_file(column, kind, int96) for column, kind in stored], table.column_names)


def _in_file(column: pa.ChunkedArray, kind: pa.DataType, int96: bool) -> pa.ChunkedArray:
    """Return a column as it is stored; INT96 is read in microseconds, what is below them is cut off."""
    column, kind = column.cast(plain(column.type)), plain(kind)
    if int96 and pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp(column.type.unit))  # a zone would take part in the rounding
        return pc.floor_temporal(column, unit="microsecond").cast(pa.timestamp("us")).cast(_int96(kind))
    return column.cast(_int96(kind) if int96 else kind)


def _int96(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(_int96(kind.value_type))
    return pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else kind
