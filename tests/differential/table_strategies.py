"""Strategies for whole tables: their names, columns, nulls, and rows."""

from collections.abc import Sequence

import pyarrow as pa
from arrow_values import ZONES, build, values
from hypothesis import strategies as st

NAMES = (
    "a", "b", "A", " a", "a b", "é", "e\u0301", "日本", "😀", 'q"q', "it's", "a,b", "a;b", "a\tb", "a\nb", "a\r\nb",
    "a\\b", "a.b", "a`b", "$a", "{a}",
    "a[0]", "**", "^a", "a$", "0", "-1", "1.5", "true", "null", "NA", "index", "level_0", "item", "element", "len",
    "count", "literal", "values",
    "__index__", "x" * 300, "\x1b[31m",
)  # fmt: skip

NUMBERS = (
    pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
    pa.float32(), pa.float64(), pa.bool_(), pa.decimal128(9, 2), pa.decimal128(38, 0), pa.decimal128(38, 37),
)  # fmt: skip
LARGE = (pa.int64(), pa.uint64())
TIMES = (pa.date32(), *(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in ZONES))
TEXT = (pa.string(),)
RARE = (
    pa.float16(), pa.decimal32(5, 2), pa.decimal64(18, 9), pa.date64(), pa.time32("s"), pa.time32("ms"),
    pa.time64("us"), pa.time64("ns"),
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")),
    pa.binary(), pa.large_binary(), pa.binary(2), pa.binary_view(), pa.large_string(), pa.string_view(), pa.null(),
    pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int8(), pa.int64()),
    pa.dictionary(pa.uint16(), pa.timestamp("us")),
)  # fmt: skip
NESTED = (
    *(pa.list_(kind) for kind in (pa.int64(), pa.float32(), pa.string(), pa.timestamp("us"), pa.list_(pa.int8()))),
    pa.large_list(pa.string()), pa.list_(pa.float64(), 2), pa.list_(pa.struct({"x": pa.int64()})),
    pa.struct({"x": pa.int64(), "y": pa.string()}), pa.struct({"x": pa.float32(), "y": pa.list_(pa.string())}),
    pa.struct({"x": pa.large_string(), "y": pa.dictionary(pa.int32(), pa.string())}), pa.map_(pa.string(), pa.int64()),
    pa.map_(pa.string(), pa.float64()),
)  # fmt: skip


@st.composite
def tables(draw: st.DrawFn, *groups: Sequence[pa.DataType]) -> pa.Table:
    """Draw a table of a few columns, each of a type of one group; rows are few, or few often repeated, to be cut."""
    chosen = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    rows = draw(st.sampled_from([0, 1, 2, 3, 5, 8, 8]))
    times = draw(st.sampled_from([1, 1, 1, 5, 40]))
    columns = []
    for _ in chosen:
        kind = draw(st.sampled_from(draw(st.sampled_from(groups))))
        value = draw(st.sampled_from([values(kind)] * 7 + [st.none()]))
        column = draw(st.lists(value, min_size=rows, max_size=rows))
        columns.append(build(kind, column * times))
    return pa.table(columns, chosen)


@st.composite
def wide_tables(draw: st.DrawFn, *groups: Sequence[pa.DataType]) -> pa.Table:
    """Draw a table with a column of every type, for engines to which a table costs more than a column."""
    kinds = list(dict.fromkeys(kind for group in groups for kind in group))
    rows, times = draw(st.integers(1, 4)), draw(st.sampled_from([1, 20]))
    columns = [build(kind, draw(st.lists(values(kind), min_size=rows, max_size=rows)) * times) for kind in kinds]
    return pa.table(columns, [f"column {place}" for place in range(len(kinds))])
