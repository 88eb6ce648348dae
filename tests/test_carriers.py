"""What carries a type gives it back."""

from decimal import Decimal

import pyarrow as pa

from penstock.frames.transport_types import carried, carrier, grouped, restored

COLUMNS = [
    pa.array([True, None]),
    pa.array([-128, None, 127], pa.int8()),
    pa.array([0, None, 2**32 - 1], pa.uint32()),
    pa.array([0, None, 2**64 - 1], pa.uint64()),
    pa.array([1.5, None, float("-inf")], pa.float32()),
    pa.array(["", None, "ß"]),
    pa.array([b"", None, b"\x00"]),
    pa.array([-1, None, 7], pa.int32()).cast(pa.date32()),
    pa.array([-1, None, 2**62], pa.timestamp("ns", "Asia/Tokyo")),
    pa.array([-1, None, 2**40], pa.timestamp("s")),
    pa.array([1, None], pa.time32("ms")),
    pa.array([1, None], pa.time64("ns")),
    pa.array([-5, None], pa.duration("ms")),
    pa.array([Decimal("1.25"), None], pa.decimal128(5, 2)),
    pa.nulls(2),
]


def test_what_is_carried_comes_back(subtests):
    for column in COLUMNS:
        with subtests.test(type=str(column.type)):
            there = carried(pa.chunked_array([column]))
            assert there.type == carrier(column.type)
            assert restored(there, column.type).combine_chunks().equals(column)


def test_a_carrier_that_a_query_engine_widened_comes_back():
    column = pa.chunked_array([pa.array([1, None], pa.int8())])
    assert restored(carried(column).cast(pa.int64()), pa.int8()).equals(column)


def test_what_no_type_carries_has_no_carrier():
    kinds = [pa.list_(pa.int8()), pa.struct({"x": pa.int8()}), pa.decimal256(40, 2)]
    assert [carrier(kind) for kind in kinds] == [None] * 3


def test_zeros_have_the_same_bits():
    zeros = grouped(pa.chunked_array([[0.0, -0.0, None]])).to_numpy()
    assert [str(zero) for zero in zeros] == ["0.0", "0.0", "nan"]
