"""What `penstock.frames` does with a frame on a GPU: cuDF for columns, CuPy for matrices.

cuDF has neither dates, nor binary columns, nor any that are nothing but null: there they are timestamps in seconds,
lists of bytes, and strings.
`restored` gives them back on the host, and `conform` and `is_stored_exactly` know of it.
"""

from __future__ import annotations

import functools
import io
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from penstock.core.errors import MissingExtraError, SchemaError
from penstock.core.extras import how_to_install
from penstock.core.schemas import canonical

_PLAIN = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_float32, pa.types.is_float64, pa.types.is_string)
_HELD = (
    *_PLAIN, pa.types.is_date32, pa.types.is_timestamp, pa.types.is_duration, pa.types.is_decimal128, pa.types.is_null,
)  # fmt: skip


def cudf() -> Any:
    """Return the cuDF module, or say how to install it."""
    try:
        import cudf as module
    except Exception as error:  # a broken stack raises RuntimeError, not ImportError
        raise MissingExtraError(f"cuDF cannot be imported: {error}", hint=how_to_install("gpu")) from error
    return module


@functools.lru_cache(maxsize=256)
def types(schema: pa.Schema) -> Mapping[str, Any]:
    """Return the type that each column has in cuDF.

    Raises
    ------
    SchemaError
        cuDF has no such type: times of day, lists of binary, decimals of more than 38 digits.
    """
    for field in schema:
        if not _is_held(field.type) and not pa.types.is_binary(field.type):
            raise SchemaError(
                f"column {field.name!r} is {field.type}, which cuDF cannot hold",
                hint='Leave the column out, or use device="cpu".',
                column=field.name,
            )
    return dict(cudf().DataFrame.from_arrow(_as_lists(schema.empty_table())).dtypes.items())


def _is_held(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return not pa.types.is_map(kind) and all(_is_held(kind.field(i).type) for i in range(kind.num_fields))
    return any(test(kind) for test in _HELD)


def from_arrow(table: pa.Table) -> Any:
    """Return a cuDF frame of the columns of `table`, in canonical types.

    cuDF itself would take an index from the metadata that pandas leaves, and misread a dictionary that changes.
    """
    schema = canonical(table.schema)
    types(schema)
    return cudf().DataFrame.from_arrow(_as_lists(table.cast(schema)))


def _as_lists(table: pa.Table) -> pa.Table:
    """Return the table with lists of bytes in place of binary columns; the memory is the same."""
    for place, field in enumerate(table.schema):
        if pa.types.is_binary(field.type):
            chunks = [_list_of_bytes(chunk) for chunk in table[field.name].chunks]
            table = table.set_column(place, field.name, pa.chunked_array(chunks, pa.list_(pa.uint8())))
    return table


def _list_of_bytes(values: pa.Array) -> pa.Array:
    valid, offsets, data = values.buffers()
    size = 0 if data is None else data.size
    content = pa.Array.from_buffers(pa.uint8(), size, [None, data])
    kind = pa.list_(pa.uint8())
    return pa.Array.from_buffers(kind, len(values), [valid, offsets], offset=values.offset, children=[content])


def _binary(values: pa.Array) -> pa.Array:
    valid, offsets = values.buffers()[:2]
    content = pa.concat_arrays([values.values])  # which has no offset
    buffers = [valid, offsets, content.buffers()[1]]
    return pa.Array.from_buffers(pa.binary(), len(values), buffers, offset=values.offset)


def read_parquet(paths: Sequence[str], first: int, rows: int, columns: Sequence[str]) -> Any:
    """Read rows of local files, one after the other, by libcudf.

    cuDF's own function would take the name for a pattern, look for keys in the names of the folders (and then refuse
    to read some of the rows), and make an index of what pandas wrote.
    """
    frame = cudf().DataFrame
    from pylibcudf import io as plc

    source = plc.SourceInfo(list(paths))
    options = plc.parquet.ParquetReaderOptions.builder(source).use_pandas_metadata(False).build()
    options.set_column_names(list(columns))
    options.set_skip_rows(first)
    options.set_num_rows(rows)
    return frame.from_pylibcudf(plc.parquet.read_parquet(options))


def write_parquet(native: Any, sink: BinaryIO, compression: str | None = "zstd") -> None:
    """Write Parquet by way of memory: what a file raises, as when the disk is full, is lost in libcudf."""
    encoded = io.BytesIO()
    native.to_parquet(encoded, compression=compression, index=False)
    sink.write(encoded.getbuffer())


def is_stored_exactly(schema: pa.Schema) -> bool:
    """Return whether a file that cuDF writes has the types of `schema` when it is read again."""
    return all(_is_stored(kind) for kind in schema.types)


def _is_stored(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind):
        return _is_stored(kind.value_type)
    timestamp = pa.types.is_timestamp(kind) and kind.tz is None and kind.unit != "s"
    return timestamp or any(test(kind) for test in _PLAIN)


def to_arrow(native: Any) -> pa.Table:
    """Return an Arrow table without the index; what is all null, in lists too, keeps its type, which cuDF drops."""
    table = native.to_arrow(preserve_index=False)
    kinds = [_declared(native[field.name].dtype, field.type) for field in table.schema]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))


def _declared(dtype: Any, kind: pa.DataType) -> pa.DataType:
    """Return the Arrow type of a column whose values cuDF gives as `kind`."""
    return getattr(dtype, "to_arrow", lambda: kind)() if pa.types.is_nested(kind) or pa.types.is_null(kind) else kind


def restored(table: pa.Table, schema: pa.Schema, rows: int | None = None) -> pa.Table:
    """Return the columns of `schema`, in its order and types; what the table lacks becomes null, in so many rows.

    Raises
    ------
    pyarrow.ArrowInvalid
        A value does not fit its new type.
    """
    columns = [_restored(table, field, len(table) if rows is None else rows) for field in schema]
    return pa.table(columns, schema=schema)


def _restored(table: pa.Table, field: pa.Field, rows: int) -> pa.ChunkedArray | pa.Array:
    kind = field.type
    if field.name not in table.column_names or pa.types.is_null(kind):
        return pa.nulls(rows, kind)
    column = table[field.name]
    if pa.types.is_binary(kind) and pa.types.is_list(column.type):
        return pa.chunked_array([_binary(chunk) for chunk in column.cast(pa.list_(pa.uint8())).chunks], kind)
    return column.cast(kind)


def conform(native: Any, schema: pa.Schema) -> Any:
    """Return the columns of `schema`; those of another type by way of the host, since cuDF's casts lose silently."""
    dtypes = dict(native.dtypes.items())
    wanted = types(schema)
    different = [field for field in schema if field.name not in dtypes or dtypes[field.name] != wanted[field.name]]
    if not different:
        return native if list(dtypes) == schema.names else native[schema.names]
    there = native[[field.name for field in different if field.name in dtypes]]
    columns = from_arrow(restored(to_arrow(there), pa.schema(different), len(native)))
    columns.index = native.index
    return native.assign(**{name: columns[name] for name in columns.columns})[schema.names]


def concat(natives: Sequence[Any]) -> Any:
    """Return the rows of all frames, in order, numbered anew."""
    return cudf().concat(list(natives), ignore_index=True)


def assemble(columns: Sequence[Any]) -> Any:
    """Return a frame of series of the same rows, which stay where they are."""
    return cudf().DataFrame({series.name: series for series in columns})


def column(name: str, values: Any) -> Any:
    """Return NumPy or CuPy values as a series: a vector, or a matrix as a column of lists."""
    series = cudf().Series
    native = series(values) if values.ndim == 1 else _lists(values)
    return native.rename(name)


def _lists(values: Any) -> Any:
    """Return the rows of a matrix as a series of lists, which on a GPU stay there."""
    import cupy
    from pylibcudf import Column

    series = cudf().Series
    if values.size:
        return series.from_pylibcudf(Column.from_array(cupy.ascontiguousarray(to_device(values))))
    # An array without numbers has no memory to be taken over.
    offsets = pa.array(np.zeros(len(values) + 1, dtype=np.int32))
    return series.from_arrow(pa.ListArray.from_arrays(offsets, pa.array(to_host(values).ravel())))


def to_matrix(native: Any, columns: Sequence[str], dtype: str) -> Any:
    """Return columns of numbers as a C-ordered CuPy matrix, NaN for null."""
    import cupy

    if not columns:
        return cupy.empty((len(native), 0), dtype=dtype)
    return cupy.ascontiguousarray(to_rows(native, columns, dtype).T)


def to_rows(native: Any, columns: Sequence[str], dtype: str = "float64") -> Any:
    """Return columns of numbers as the rows of a C-ordered CuPy matrix, NaN for null.

    cuDF has columns one after the other in memory: its matrix, turned, is in C order as it is.
    """
    return native[list(columns)].astype(dtype).to_cupy(dtype=dtype, na_value=float("nan")).T


def with_rows(native: Any, names: Sequence[str], rows: Any, dtypes: Mapping[str, Any]) -> Any:
    """Return the frame with the rows of a matrix as columns, null for NaN, in types that hold their numbers."""
    module = cudf()
    made = module.DataFrame(rows.T, index=native.index, columns=list(names)).nans_to_nulls()
    narrow = {name: dtype for name, dtype in dtypes.items() if dtype != rows.dtype}
    made = made.astype(narrow) if narrow else made
    others = [name for name in native.columns if name not in names]
    order = [*native.columns, *(name for name in names if name not in native.columns)]
    return module.concat([native[others], made], axis=1)[order] if others else made[order]


def null_counts(native: Any, columns: Sequence[str]) -> list[int]:
    """Return how many values of each column are null."""
    return native[list(columns)].isna().sum().to_numpy().tolist()


def elements(native: Any, names: Sequence[str]) -> Any:
    """Return the elements of a series of lists, all of one length, as a frame; NaN for null."""
    import cupy

    leaves, missing = native.list.leaves, native.isna()
    if leaves.isna().any() or missing.any():
        leaves = leaves.astype("float32" if leaves.dtype == "float32" else "float64")
        known = leaves.to_cupy(na_value=float("nan")).reshape(-1, len(names))
        rows = cupy.full((len(native), len(names)), float("nan"), dtype=known.dtype)
        rows[~missing.to_cupy()] = known
    else:
        rows = leaves.to_cupy().reshape(-1, len(names))
    turned = cupy.ascontiguousarray(rows.T)
    return cudf().DataFrame({name: turned[place] for place, name in enumerate(names)})


def empty(shape: int | tuple[int, ...]) -> Any:
    """Return a float64 array of CuPy that nothing was written to."""
    import cupy

    return cupy.empty(shape)


def arange(start: int, stop: int) -> Any:
    """Return whole numbers, int64, as CuPy."""
    import cupy

    return cupy.arange(start, stop, dtype="int64")


def to_host(values: Any) -> np.ndarray:
    """Return an array as NumPy."""
    return values if isinstance(values, np.ndarray) else values.get()


def to_device(values: np.ndarray) -> Any:
    """Return an array as CuPy."""
    import cupy

    return cupy.asarray(values)


def value_counts(native: Any, columns: Sequence[str]) -> dict[str, pa.Table]:
    """Return the distinct values of each column but null as ``value``, with their ``count``.

    All columns of a type come to the host together.
    """
    dtypes, tables = native.dtypes, dict[str, pa.Table]()
    for dtype in dict.fromkeys(dtypes[name] for name in columns):
        names = [name for name in columns if dtypes[name] == dtype]
        found = [native.groupby(name, sort=False).size() for name in names]
        together = cudf().concat(found).reset_index(name=f"count of {names[0]}").to_arrow(preserve_index=False)
        for name, each, end in zip(names, found, itertools.accumulate(map(len, found)), strict=True):
            own = pa.array(range(end - len(each), end), pa.int64())  # taken: a slice would travel with all the others
            values, counts = together.take(own).columns
            tables[name] = pa.table({"value": values, "count": counts.cast(pa.int64())})
    return {name: tables[name] for name in columns}


def category(values: pa.Array) -> Any:
    """Return a categorical type with its values on the GPU."""
    return cudf().CategoricalDtype(categories=cudf().Series.from_arrow(values))


def encode(native: Any, kinds: Mapping[str, Any], unseen: Mapping[str, int], missing: Mapping[str, int]) -> Any:
    """Return int32 codes by a cast to a categorical type, all columns as one block."""
    names = list(kinds)
    known = {name: native[name].astype(kind).cat.codes for name, kind in kinds.items()}
    codes, gone = to_rows(cudf().DataFrame(known), names), native[names].isna().to_cupy().T
    other, null = (to_device(np.array([[each.get(name, np.nan)] for name in names])) for each in (unseen, missing))
    # A value that is no category, and null, have no code or a negative one; the comparison holds for neither.
    found = np.where(gone, null, np.where(codes >= 0, codes, other))
    return with_rows(native, names, found, dict.fromkeys(names, np.dtype(np.int32)))


def decode(native: Any, categories: pa.Array) -> Any:
    """Return the category at each code; null for null and for a code outside."""
    module = cudf()
    if not len(categories):
        return module.Series.from_arrow(pa.nulls(len(native), categories.type))
    inside = (native >= 0) & (native < len(categories))
    places = native.where(inside, 0).astype("int32")
    values = module.Series.from_arrow(categories).take(places).reset_index(drop=True)
    return values.where(inside.fillna(False).reset_index(drop=True), None)


def murmur3(native: Any, seed: int) -> Any:
    """Return the MurmurHash3_x86_32 of each string; null has one in libcudf, and is null again."""
    return native.hash_values(method="murmur3", seed=seed).where(native.notna(), None)


@functools.cache
def fused(formula: Any) -> Any:
    """Return the kernel of an elementwise formula over CuPy's functions."""
    import cupy

    return cupy.fuse(kernel_name=formula.__name__)(functools.partial(formula, cupy))


def special(name: str, values: Any) -> Any:
    """Return a function of SciPy's module `special` of each of the CuPy `values`."""
    from cupyx.scipy import special as functions

    return getattr(functions, name)(values)
