"""NaN inside lists, structs and maps: found in the numbers of a whole column at once, and replaced by null."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def nan_to_null(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with null in place of NaN at any depth; the column itself where it has none.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        Of a floating type, or of lists (also large or of a fixed size), structs or maps; any other has no NaN.

    Examples
    --------
    >>> nan_to_null(pa.chunked_array([[[1.0, float("nan")], None]])).to_pylist()
    [[1.0, None], None]
    """
    chunks = column.chunks
    cleaned = [_without_nan(chunk) for chunk in chunks]
    unchanged = all(new is old for new, old in zip(cleaned, chunks, strict=True))
    return column if unchanged else pa.chunked_array(cleaned, column.type)


def _without_nan(values: pa.Array) -> pa.Array:
    kind = values.type
    if pa.types.is_floating(kind):
        missing = pc.is_nan(values)
        return pc.if_else(missing, pa.scalar(None, kind), values) if pc.any(missing).as_py() else values
    children = _children(values)
    cleaned = [_without_nan(child) for child in children]
    if all(new is old for new, old in zip(cleaned, children, strict=True)):
        return values
    if pa.types.is_struct(kind):
        return pa.StructArray.from_arrays(cleaned, fields=list(kind), mask=values.is_null())
    # The validity and the offsets of the lists stay; values that no list has may come along.
    own = values.buffers()[: 1 if pa.types.is_fixed_size_list(kind) else 2]
    return pa.Array.from_buffers(kind, len(values), own, offset=values.offset, children=cleaned)


def _children(values: pa.Array) -> list[pa.Array]:
    """Return what an array is made of, so that it can be put together again; nothing for a plain one."""
    kind = values.type
    if pa.types.is_struct(kind):
        return [values.field(place) for place in range(kind.num_fields)]
    if pa.types.is_map(kind):
        return [pa.StructArray.from_arrays([values.keys, values.items], fields=[kind.key_field, kind.item_field])]
    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return [values.values] if lists else []


def cast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the table in the types of a schema; lists of keys and values, which maps are to Polars before 2.0, too.

    Examples
    --------
    >>> kind = pa.map_(pa.string(), pa.int64())
    >>> cast(pa.table({"m": [[{"key": "a", "value": 1}]]}), pa.schema({"m": kind}))["m"].to_pylist()
    [[('a', 1)]]
    """
    for place, field in enumerate(schema):
        if pa.types.is_map(field.type) and not pa.types.is_map(table.schema.types[place]):
            entries = pa.list_(pa.struct([field.type.key_field, field.type.item_field]))
            chunks = [chunk.cast(entries).view(field.type) for chunk in table[place].chunks]
            table = table.set_column(place, field.name, pa.chunked_array(chunks, field.type))
    return table.cast(schema)
