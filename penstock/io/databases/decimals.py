"""Decimals that hold others."""

from __future__ import annotations

import pyarrow as pa


def holds_decimal(wide: pa.DataType, narrow: pa.DataType) -> bool:
    """Return whether a decimal has as many digits, before and after the point, as another.

    Examples
    --------
    >>> holds_decimal(pa.decimal128(12, 2), pa.decimal128(10, 0))
    True
    """
    if not (pa.types.is_decimal(wide) and pa.types.is_decimal(narrow)):
        return False
    return bool(wide.scale >= narrow.scale and wide.precision - wide.scale >= narrow.precision - narrow.scale)
