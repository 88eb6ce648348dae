"""How columns leave for Arrow: what is nested and all null loses its type."""

import pyarrow as pa


def to_arrow(values: pa.Array) -> pa.Array:
    """Return a column as cuDF's `to_arrow` does."""
    return _without_types_of_nulls(values, inside=False)


def _without_types_of_nulls(values: pa.Array, inside: bool) -> pa.Array:
    """Return lists and structs that are all null, and strings inside them that are, as Arrow's null type."""
    loses = pa.types.is_nested(values.type) or (inside and pa.types.is_string(values.type))
    if loses and values.null_count == len(values):
        return pa.nulls(len(values))
    if pa.types.is_list(values.type):
        content = _without_types_of_nulls(values.values, inside=True)
        kind, buffers = pa.list_(content.type), values.buffers()[:2]
        return pa.ListArray.from_buffers(kind, len(values), buffers, offset=values.offset, children=[content])
    if pa.types.is_struct(values.type):
        fields = [_without_types_of_nulls(field, inside=True) for field in values.flatten()]
        names = [field.name for field in values.type]
        return pa.StructArray.from_arrays(fields, names, mask=values.is_null())
    return values
