"""Numbers as a text writes them, and which of them a type would change."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from penstock.io.sources.inference import EXACT

Texts = Callable[[], pa.ChunkedArray]
"""Returns values as they are written; to ask costs a parse, so only values that look odd ask."""
WHOLE = r"^\s*[+-]?[0-9]+\s*$"
_BITS = {pa.float32(): (24, 128), pa.float64(): (53, 1024)}
"""Of the significand, and of the largest whole number."""


def holds_exactly(kind: pa.DataType, number: int) -> bool:
    """Return whether a floating type holds a whole number as it is.

    Examples
    --------
    >>> holds_exactly(pa.float64(), 2**53), holds_exactly(pa.float64(), 2**53 + 1), holds_exactly(pa.float64(), 2**60)
    (True, False, True)
    """
    significand, largest = _BITS[kind]
    size = abs(number)
    odd = size >> max((size & -size).bit_length() - 1, 0)
    return odd.bit_length() <= significand and size.bit_length() <= largest


def may_round(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return which floating values are so large that a whole number may have been rounded to them."""
    return pc.greater_equal(pc.abs(values), float(2 ** _BITS[values.type][0]))


def is_rounded(values: pa.ChunkedArray, texts: Texts) -> bool:
    """Return whether a whole number in `texts` is not exactly what it became in the floating `values`."""
    large = may_round(values)
    if not is_any(large):
        return False
    written = texts()
    whole = written.filter(pc.and_(large, pc.match_substring_regex(written, WHOLE)))
    return not all(holds_exactly(values.type, int(Decimal(text.strip()))) for text in whole.to_pylist())


def is_overflow(values: pa.ChunkedArray, texts: Texts) -> bool:
    """Return whether a number with digits became infinite."""
    infinite = pc.is_inf(values)
    return is_any(infinite) and is_any(pc.and_(infinite, pc.match_substring_regex(texts(), "[0-9]")))


def loses_digits(values: pa.ChunkedArray, texts: Texts) -> bool:
    """Return whether a whole number of `texts` is as large as those that float64 rounds."""
    large = pc.greater(pc.abs(values), float(EXACT))
    return is_any(large) and is_any(pc.and_(large, pc.match_substring_regex(texts(), WHOLE)))


def is_hexadecimal(texts: pa.ChunkedArray) -> bool:
    """Return whether a number is written as in ``0xFF``, which pyarrow reads as bits: -1 in int8."""
    return is_any(pc.match_substring_regex(texts, r"^\s*[+-]?0[xX]"))


def is_any(mask: pa.ChunkedArray) -> bool:
    """Return whether a value is true; null is not."""
    return bool(pc.any(mask).as_py())
