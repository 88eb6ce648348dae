"""Values of a column looked for in another: of one type where cuDF finds one, and otherwise nowhere."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cudf_stand_in import casts
from cudf_stand_in.dtypes import arrow_type, dtype_of


def is_in(values: pa.Array, others: pa.Array) -> pa.Array:
    """Return where a value is one of others; null is where null is one of them."""
    if others.null_count == len(others):
        others = pa.nulls(len(others), values.type)
    elif values.null_count == len(values):
        values = pa.nulls(len(values), others.type)
    needles, labels = of_one_type(values, others)
    if needles.type != labels.type:
        return values.is_null() if values.null_count and others.null_count else pa.array(np.zeros(len(values), bool))
    return pc.is_in(needles, labels)


def places(needles: pa.Array, labels: pa.Array) -> np.ndarray:
    """Return the place of each value among labels, -1 for what is none; null is a label as another."""
    needles, labels = of_one_type(needles, labels)
    if needles.type != labels.type:
        return np.full(len(needles), -1, np.int32)
    return pc.index_in(needles, labels).fill_null(-1).to_numpy(zero_copy_only=False)


def of_one_type(one: pa.Array, other: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return numbers and booleans in the type that has both; what has none is left as it is."""
    dtypes = [dtype_of(one.type), dtype_of(other.type)]
    if one.type == other.type or any(dtype.kind not in "biuf" for dtype in dtypes):
        return one, other
    common = arrow_type(np.result_type(*dtypes))
    return casts.cast(one, common), casts.cast(other, common)
