"""Types that hold all values of others."""

from __future__ import annotations

import pyarrow as pa

from penstock.core.schemas import widen


def holds_type(wide: pa.DataType, narrow: pa.DataType) -> bool:
    """Return whether a type holds the values of another: a decimal with as many digits before and after the point.

    Examples
    --------
    >>> holds_type(pa.decimal128(12, 2), pa.decimal128(10, 0))
    True
    """
    if pa.types.is_decimal(wide) and pa.types.is_decimal(narrow):
        whole = wide.precision - wide.scale >= narrow.precision - narrow.scale
        return bool(whole and wide.scale >= narrow.scale)
    return bool(widen(wide, narrow) == wide)
