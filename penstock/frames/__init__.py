"""The one door to dataframe libraries: Polars on a CPU, cuDF on a GPU, pandas where a user asks for it.

Everything else in Penstock sees a Narwhals frame and works on all of them. A kernel stands here only where one
library has a much faster way than the common expression; each has a test that the libraries agree.

Missing is null: a NaN in a floating column becomes null when it is read, so that no later step meets one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import narwhals as nw
import polars as pl
import pyarrow as pa
from polars.io.plugins import register_io_source

from penstock.core.errors import SchemaError, check_one_of
from penstock.core.names import ROW as ROW
from penstock.core.schemas import canonical, shorten
from penstock.frames import coded, cudf, pandas
from penstock.frames import nested as frames_nested
from penstock.frames.encoding import Frame as Frame
from penstock.frames.encoding import decode as decode
from penstock.frames.encoding import encode as encode
from penstock.frames.host_types import host_schema

Kind = Literal["cpu", "gpu"]
ERRORS = (Exception, pl.exceptions.PanicException)
"""What a dataframe library can raise: each has errors of its own, and a panic of Polars is no `Exception`."""


def from_arrow(table: pa.Table, kind: Kind = "cpu") -> nw.DataFrame:
    """Return a frame on the device, NaN turned into null; without a copy on a CPU where the types allow it.

    Examples
    --------
    >>> from_arrow(pa.table({"x": [1.0, float("nan")]}))["x"].to_list()
    [1.0, None]
    """
    native = cudf.from_arrow(table) if kind == "gpu" else pl.from_arrow(table)
    return nan_to_null(nw.from_native(native, eager_only=True))


def nan_to_null(frame: nw.DataFrame) -> nw.DataFrame:
    """Return `frame` with null in place of NaN in floating columns, and inside lists and structs of such."""
    dtypes = frame.schema
    floating = [name for name, dtype in dtypes.items() if dtype.is_float()]
    nested = [name for name, dtype in dtypes.items() if _has_floats_inside(dtype)]
    if floating and is_gpu(frame):
        frame = nw.from_native(nw.to_native(frame).nans_to_nulls(), eager_only=True)
    elif floating:
        frame = frame.with_columns(nw.col(*floating).fill_nan(None))
    return frame.with_columns(*_without_nested_nan(frame.select(nested))) if nested else frame


def _has_floats_inside(dtype: Any) -> bool:
    inner = [dtype.inner] if isinstance(dtype, nw.List | nw.Array) else []
    inner += [field.dtype for field in dtype.fields] if isinstance(dtype, nw.Struct) else []
    # Narwhals has no name for maps.
    return any(kind.is_float() or _has_floats_inside(kind) for kind in inner) or dtype == nw.Unknown


def _without_nested_nan(frame: nw.DataFrame) -> list[nw.Series]:
    """Return the columns that have NaN inside, without it; they are looked at on the host."""
    native = nw.to_native(frame)
    table = cudf.to_arrow(native) if is_gpu(frame) else native.to_arrow()
    columns = dict(zip(table.column_names, table.columns, strict=True))
    cleaned = {name: frames_nested.nan_to_null(column) for name, column in columns.items()}
    changed = pa.table({name: column for name, column in cleaned.items() if column is not columns[name]})
    return list(from_arrow(changed, kind_of(frame)).iter_columns()) if changed.num_columns else []


def read_parquet(
    paths: Sequence[str], first: int, rows: int, columns: Sequence[str], kind: Kind = "cpu"
) -> nw.DataFrame:
    """Read rows ``first`` to ``first + rows`` of local Parquet files; only the row groups and columns needed.

    The in-memory engine is asked for: sums of the streaming one differ from run to run.
    """
    if kind == "gpu":
        native = cudf.read_parquet(paths, first, rows, columns)
    else:
        lazy = pl.scan_parquet(list(paths), glob=False, hive_partitioning=False).select(columns).slice(first, rows)
        native = lazy.collect(engine="in-memory")
    return nan_to_null(nw.from_native(native, eager_only=True))


def write_parquet(
    frame: nw.DataFrame,
    path: str,
    schema: pa.Schema | None = None,
    *,
    compression: str = "zstd",
    compression_level: int | None = None,
) -> None:
    """Write one Parquet file, and create the file exclusively.

    With `schema`, which the frame conforms to, the file has its types also where cuDF has others. Levels are those of
    Polars, 1 of zstd unless one is given; cuDF has none, and no gzip: such a file is written on the host.
    """
    if is_gpu(frame) and not _writes_on_gpu(schema, compression, compression_level):
        frame = from_arrow(to_arrow(frame, schema))
    native = nw.to_native(frame)
    level = 1 if compression == "zstd" and compression_level is None else compression_level
    codec: Any = {"none": "uncompressed"}.get(compression, compression)
    with open(path, "xb") as sink:
        if isinstance(native, pl.DataFrame):
            native.write_parquet(sink, compression=codec, compression_level=level)
        else:
            cudf.write_parquet(native, sink, None if compression == "none" else compression)


def _writes_on_gpu(schema: pa.Schema | None, compression: str, level: int | None) -> bool:
    return level is None and compression != "gzip" and (schema is None or cudf.is_stored_exactly(schema))


def to_arrow(frame: nw.DataFrame, schema: pa.Schema | None = None) -> pa.Table:
    """Return an Arrow table with canonical types, or with those of `schema`, which the frame conforms to.

    From a GPU dates, bytes and nulls come back as such where `schema`, or the task, knows of them: see `host_types`.
    """
    if is_gpu(frame):
        table = cudf.to_arrow(nw.to_native(frame))
        return cudf.restored(table, host_schema(canonical(table.schema)) if schema is None else schema)
    table = frame.to_arrow()
    wanted = canonical(table.schema) if schema is None else schema
    return frames_nested.cast(table, wanted) if any(map(pa.types.is_map, wanted.types)) else table.cast(wanted)


@lru_cache(maxsize=256)
def no_rows(schema: pa.Schema) -> nw.DataFrame:
    """Return a frame on a CPU with the columns of a schema, of which expressions can be tried."""
    return nw.from_native(pl.DataFrame(schema.empty_table()), eager_only=True)


def dtypes(schema: pa.Schema) -> dict[str, nw.dtypes.DType]:
    """Return the Narwhals type of each column of an Arrow schema."""
    return dict(no_rows(schema).schema)


def conform(frame: nw.DataFrame, schema: pa.Schema) -> nw.DataFrame:
    """Return the columns of `schema`, in its order and types; what the frame lacks becomes null."""
    if is_gpu(frame):
        return nw.from_native(cudf.conform(nw.to_native(frame), schema), eager_only=True)
    wanted = dtypes(schema)
    types = frame.schema
    absent = [nw.lit(None).cast(dtype).alias(name) for name, dtype in wanted.items() if name not in types]
    casts = [
        _null_cast(frame, name) if dtype == nw.Unknown else nw.col(name).cast(dtype)
        for name, dtype in wanted.items()
        if name in types and types[name] != dtype
    ]
    return frame.with_columns(*absent, *casts).select(schema.names) if absent or casts else frame.select(schema.names)


def first_changed(before: nw.Series, after: nw.Series) -> Any | None:
    """Return the first value that a cast to another type did not keep, None if it kept all; fractions may be rounded.

    Examples
    --------
    >>> values = from_arrow(pa.table({"x": [1.0, None, 3.7, 4.2]}))["x"]
    >>> first_changed(values, values.cast(nw.Int64)), first_changed(values, values.cast(nw.Float32))
    (3.7, None)
    """
    old, new = _item(before.dtype), _item(after.dtype)
    rounds = new.is_float() and (old.is_float() or old.is_decimal())
    if rounds or not (_is_exact(old) and _is_exact(new)):
        return None
    changed = before.filter(after.cast(before.dtype) != before)
    return changed.to_list()[0] if len(changed) else None


def _item(dtype: Any) -> Any:
    """Return the type of what is in lists of lists."""
    return _item(dtype.inner) if isinstance(dtype, nw.List) else dtype


def _is_exact(dtype: Any) -> bool:
    """Return whether values can be cast there and back; a text may be another one then."""
    return bool(dtype.is_numeric() or dtype.is_temporal() or dtype == nw.Boolean)


def _null_cast(frame: nw.DataFrame, name: str) -> nw.Expr:
    """Return a column without values as one of the null type, for which Narwhals has no name to cast to."""
    return nw.lit(None).alias(name) if frame[name].null_count() == len(frame) else nw.col(name)


def concat(frames: Sequence[nw.DataFrame]) -> nw.DataFrame:
    """Return the rows of all frames, in order."""
    if len(frames) == 1:
        return frames[0]
    if is_gpu(frames[0]):
        return nw.from_native(cudf.concat([nw.to_native(frame) for frame in frames]), eager_only=True)
    return nw.concat(list(frames), how="vertical")


def is_gpu(frame: nw.DataFrame) -> bool:
    """Return whether the frame's memory is on a GPU."""
    return bool(frame.implementation.is_cudf())


def kind_of(frame: nw.DataFrame) -> Kind:
    """Return where the frame's memory is."""
    return "gpu" if is_gpu(frame) else "cpu"


def value_counts(frame: nw.DataFrame, columns: Sequence[str]) -> dict[str, pa.Table]:
    """Return, for each column, its distinct values that are not null and how often each occurs.

    Each table has the columns ``value`` (the column's type) and ``count`` (int64), in no particular order.
    Kernel: on Polars all columns are grouped in one parallel call, texts by their codes.

    Examples
    --------
    >>> value_counts(from_arrow(pa.table({"c": ["a", None, "a"]})), ["c"])["c"].to_pylist()
    [{'value': 'a', 'count': 2}]
    """
    native = nw.to_native(frame)
    if isinstance(native, pl.DataFrame):
        counted = {name: coded.count(native[name]) for name in columns}
        lazy = {
            name: native.lazy()
            .select(pl.col(name).alias("value"))
            .drop_nulls()
            .group_by("value")
            .agg(pl.len().cast(pl.Int64).alias("count"))
            for name in columns
            if counted[name] is None
        }
        counted |= dict(zip(lazy, pl.collect_all(lazy.values(), engine="in-memory"), strict=True))
        return {name: to_arrow(nw.from_native(counts, eager_only=True)) for name, counts in counted.items()}
    if decimals := [name for name in columns if frame.schema[name].is_decimal()]:  # by which cuDF groups no rows
        others = value_counts(frame, [name for name in columns if name not in decimals])
        found = others | value_counts(from_arrow(to_arrow(frame.select(decimals))), decimals)
        return {name: found[name] for name in columns}
    return cudf.value_counts(native, columns)


def sum_by_key(tables: Sequence[pa.Table], keys: Sequence[str]) -> pa.Table:
    """Join tables of one schema and add up every column that is not a key, per key; on the host.

    Examples
    --------
    >>> table = pa.table({"value": ["a"], "count": [1]})
    >>> sum_by_key([table, table], ["value"]).to_pylist()
    [{'value': 'a', 'count': 2}]
    """
    if len(tables) == 1:
        return tables[0]
    joined = pl.DataFrame(pa.concat_tables(tables)).lazy()
    sums = pl.all().exclude(*keys).sum()
    grouped = joined.group_by(*keys, maintain_order=True).agg(sums).collect(engine="in-memory")
    return grouped.to_arrow().cast(tables[0].schema)


def log1p(frame: Frame, columns: Mapping[str, str]) -> Frame:
    """Return a frame of Polars with ``log(1 + x)`` of each column, float64, under another name.

    Exact to rounding also for small numbers; Narwhals has none.

    Examples
    --------
    >>> log1p(from_arrow(pa.table({"x": [0.0, 1e-20]})), {"x": "y"})["y"].to_list()
    [0.0, 1e-20]
    """
    logs = [pl.col(name).cast(pl.Float64).log1p().alias(out) for name, out in columns.items()]
    return nw.from_native(nw.to_native(frame).with_columns(logs))


def present(frame: nw.DataFrame, form: str) -> Any:
    """Return `frame` in the form a user's function asks for: narwhals, polars, pandas, arrow or cudf.

    Narwhals is over Polars on a GPU too: over cuDF the same expressions mean other things where there are nulls.
    """
    check_form(form)
    if form == "narwhals":
        return from_arrow(to_arrow(frame)) if is_gpu(frame) else frame
    if form == "cudf":
        return nw.to_native(frame) if is_gpu(frame) else cudf.from_arrow(frame.to_arrow())
    if form == "arrow":
        return to_arrow(frame)
    if form == "pandas":
        return pandas.to_pandas(to_arrow(frame))
    # By way of Arrow: from cuDF it would go by way of pandas, where integers with nulls are floats.
    return pl.from_arrow(to_arrow(frame)) if is_gpu(frame) else frame.to_polars()


def accept(result: Any, kind: Kind) -> nw.DataFrame:
    """Return what a user's function gave back (any of the forms) as a frame on the device."""
    if isinstance(result, pa.Table):
        return from_arrow(result, kind)
    frame = result if isinstance(result, nw.DataFrame) else nw.from_native(result, eager_only=True)
    native_here = is_gpu(frame) if kind == "gpu" else frame.implementation.is_polars()
    return nan_to_null(frame) if native_here else from_arrow(_from_pandas(frame), kind)


def _from_pandas(frame: nw.DataFrame) -> pa.Table:
    native = nw.to_native(frame)
    return pandas.from_pandas(native) if frame.implementation.is_pandas() else frame.to_arrow()


def check_form(form: str) -> None:
    """Raise ConfigError unless `form` is one that :func:`present` knows."""
    check_one_of("frame", form, ("arrow", "cudf", "narwhals", "pandas", "polars"))


def roots(expression: nw.Expr, schema: pa.Schema) -> list[str]:
    """Return the columns of `schema` that an expression reads; Polars is asked which ones it would scan.

    Raises
    ------
    SchemaError
        It names a column that is not there, does not fit the types, or depends on the order of rows.

    Examples
    --------
    >>> roots(nw.col("a") + nw.col("c") > 1, pa.schema({"a": pa.int64(), "b": pa.int64(), "c": pa.int64()}))
    ['a', 'c']
    """
    empty = pl.DataFrame(schema.empty_table())
    read: list[str] = []

    def source(columns: list[str] | None, *_: object) -> Iterator[pl.DataFrame]:
        read.extend(empty.columns if columns is None else columns)
        yield empty if columns is None else empty.select(columns)

    try:
        lazy = nw.from_native(register_io_source(source, schema=empty.schema)).select(expression)
        lazy.to_native().collect(engine="in-memory")
    except ERRORS as error:
        hint = f"Columns: {shorten(schema.names)}"
        raise SchemaError(f"the expression does not fit the data: {error}", hint=hint) from error
    return [name for name in schema.names if name in read]
