"""Values of every Arrow type: those at which readers go wrong, arrays made of them, and arrays told apart to the bit.

A value is what is stored: a whole number for what has a unit of time, so that no Python type narrows what can be said.
"""

import decimal
import math
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st

ZONES = (None, "UTC", "Europe/Berlin", "+00:00", "+05:00", "-03:00")
DAY = 86_400
FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # of the years 1 and 9999
_DAYS = (FIRST_DAY, -171_663, -141_427, -106_753, -25_567, -1, 0, 18_321, 106_752, LAST_DAY)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
MARKS = ("", "a", '"', "'", 'a"b', ",", "\n", "\r", "\r\n", "a\nb", "a\r\nb")
TEXTS = (
    "", " ", "  x ", "\t", "a", "NA", "null", "None", "NaN", "inf", "true", "False", "0", "1", "007", "-0", "+1",
    "1.50", "1e5", "0x1F", "1e999",
    "9007199254740993", "99999999999999999999", "2020-01-01", "2020-01-01 00:00:00", "12:30:00",
    "1970-01-01T00:00:00Z", "9999-12-31",
    '""', "a,b", ";", "a\rb", "\\", "\\n", "\u2028", "\x0b", "\x1b[31m",
    "é", "e\u0301", "日本", "😀", "{}", "[1]", "=1+1", "y" * 300,
)  # fmt: skip


def values(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of a type, null among them."""
    if pa.types.is_null(kind):
        return st.none()
    return st.none() | _present(kind) | _present(kind)


def _present(kind: pa.DataType) -> st.SearchStrategy[Any]:
    if pa.types.is_dictionary(kind):
        return _present(kind.value_type)
    if pa.types.is_boolean(kind):
        return st.booleans()
    if pa.types.is_integer(kind):
        return _integers(kind)
    if pa.types.is_floating(kind):
        return _floats(kind)
    if pa.types.is_decimal(kind):
        return _decimals(kind)
    if pa.types.is_temporal(kind):
        return _times(kind)
    if pa.types.is_fixed_size_binary(kind):
        return st.binary(min_size=kind.byte_width, max_size=kind.byte_width)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return st.sampled_from([b"", b"\0", b"\xff\xfe", b"x" * 300]) | st.binary(max_size=6)
    return _nested(kind) if pa.types.is_nested(kind) else _texts()


def _integers(kind: pa.DataType) -> st.SearchStrategy[int]:
    signed = pa.types.is_signed_integer(kind)
    low, high = (-(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1) if signed else (0, 2**kind.bit_width - 1)
    edges = [low, low + 1, -1, 0, 1, high - 1, high]
    edges += [power + step for power in (2**24, 2**32, 2**53, 2**63) for step in (-1, 0, 1)]
    return st.sampled_from([edge for edge in edges if low <= edge <= high]) | st.integers(low, high)


def _floats(kind: pa.DataType) -> st.SearchStrategy[Any]:
    info = np.finfo(kind.to_pandas_dtype())
    edges = [0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan]
    edges += [float(number) for number in (info.smallest_subnormal, info.tiny, info.max, info.min, info.eps)]
    drawn = st.sampled_from(edges) | st.floats(width=kind.bit_width)
    return drawn.map(np.float16) if kind.bit_width == 16 else drawn


def _decimals(kind: pa.DataType) -> st.SearchStrategy[decimal.Decimal]:
    most = 10**kind.precision - 1

    def of_digits(number: int) -> decimal.Decimal:  # arithmetic would round to the precision of the context
        return decimal.Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -kind.scale))

    return (st.sampled_from([0, 1, -1, most, -most]) | st.integers(-most, most)).map(of_digits)


def _times(kind: pa.DataType) -> st.SearchStrategy[int]:
    if pa.types.is_date32(kind):
        return st.sampled_from(_DAYS) | st.integers(FIRST_DAY, LAST_DAY)
    if pa.types.is_date64(kind):
        return st.sampled_from(_DAYS).map(lambda day: day * DAY * 1000)
    scale = _PER_SECOND[kind.unit]
    if pa.types.is_time(kind):
        return st.sampled_from([0, 1, DAY * scale // 2, DAY * scale - 1]) | st.integers(0, DAY * scale - 1)
    if pa.types.is_duration(kind):
        most = (2**63 - 1) * scale // 10**9  # of nanoseconds; the lowest number of all is null to pandas
        return st.sampled_from([0, 1, -1, most, -most]) | st.integers(-most, most)
    return instants(kind.unit)


def instants(unit: str) -> st.SearchStrategy[int]:
    """Return a strategy for times since 1970 of the years 1 to 9999, or of those that nanoseconds hold."""
    scale = _PER_SECOND[unit]
    low, high = (-9_223_372_036, 9_223_372_035) if unit == "ns" else (FIRST_DAY * DAY, (LAST_DAY + 1) * DAY - 1)
    edges = [day * DAY for day in _DAYS if low <= day * DAY <= high]
    seconds = st.sampled_from(edges) | st.integers(low, high)
    return st.builds(lambda whole, part: whole * scale + part, seconds, st.sampled_from([0, 0, scale // 2, scale - 1]))


def _texts() -> st.SearchStrategy[str]:
    drawn = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
    return st.builds(
        str.__add__, st.sampled_from(["", "", "\ufeff"]), st.sampled_from(TEXTS) | st.sampled_from(MARKS) | drawn
    )


def _nested(kind: pa.DataType) -> st.SearchStrategy[Any]:
    if pa.types.is_struct(kind):
        return st.tuples(*(values(field.type) for field in kind))
    if pa.types.is_map(kind):
        return st.lists(st.tuples(_present(kind.key_type), values(kind.item_type)), max_size=2, unique_by=itemgetter(0))
    size = kind.list_size if pa.types.is_fixed_size_list(kind) else None
    return st.lists(values(kind.value_type), min_size=size or 0, max_size=3 if size is None else size)


def build(kind: pa.DataType, items: list[Any]) -> pa.Array:
    """Return the array of a type that stores the items."""
    if pa.types.is_dictionary(kind):
        return build(kind.value_type, items).dictionary_encode().cast(kind)
    if pa.types.is_temporal(kind):
        return pa.array(items, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)
    if pa.types.is_struct(kind):
        children = [build(field.type, [item and item[place] for item in items]) for place, field in enumerate(kind)]
        return pa.StructArray.from_arrays(
            children, fields=list(kind), mask=pa.array([item is None for item in items], pa.bool_())
        )
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _lists(kind, items)
    return pa.array(items, kind)


def _lists(kind: pa.DataType, items: list[Any]) -> pa.Array:
    ends = np.cumsum([0, *(len(item or ()) for item in items)])
    starts = [None if item is None else int(end) for item, end in zip(items, ends[:-1], strict=True)]
    inner = build(kind.value_type, [value for item in items for value in item or ()])
    offsets = pa.array([*starts, int(ends[-1])], pa.int64() if pa.types.is_large_list(kind) else pa.int32())
    made = (pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray).from_arrays(offsets, inner)
    return made.cast(kind)


def exact(array: pa.Array | pa.ChunkedArray, nan: str | None = "nan") -> list[Any]:
    """Return what an array stores, so that two lists are equal only where the bits are: 0.0 is not -0.0.

    `nan` stands for a NaN, at any depth.

    Examples
    --------
    >>> exact(pa.array([0.0, None])) == exact(pa.array([-0.0, None]))
    False
    >>> exact(pa.array([[math.nan], None]), nan=None)
    [[None], None]
    """
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    kind = array.type
    if pa.types.is_dictionary(kind):
        return exact(array.cast(kind.value_type), nan)
    if pa.types.is_temporal(kind):
        return array.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
    if pa.types.is_floating(kind):
        return [item if item is None else nan if item != item else float(item).hex() for item in array.to_pylist()]
    if pa.types.is_struct(kind):
        children = [exact(pc.struct_field(array, [place]), nan) for place in range(kind.num_fields)]
        rows = zip(*children, strict=True) if children else ((),) * len(array)
        return [row if valid else None for row, valid in zip(rows, array.is_valid().to_pylist(), strict=True)]
    if pa.types.is_map(kind):
        return exact(array.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)]))), nan)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        inner = iter(exact(pc.list_flatten(array), nan))
        lengths = pc.list_value_length(array).to_pylist()
        return [None if length is None else [next(inner) for _ in range(length)] for length in lengths]
    return array.to_pylist()
