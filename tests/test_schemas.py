"""Types have one spelling, and files that disagree are joined without loss or refused by name."""

import itertools

import pyarrow as pa
import pytest

from penstock.core.schemas import canonical, canonical_type, declared, require, shorten, unify, widen
from penstock.errors import ConfigError, SchemaDriftError, SchemaError

INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]


def bounds(kind: pa.DataType) -> tuple[int, int]:
    """Return the least and the greatest value of an integer type, from its definition."""
    if pa.types.is_unsigned_integer(kind):
        return 0, 2**kind.bit_width - 1
    return -(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1


def test_a_type_has_one_spelling() -> None:
    for kind, expected in [
        (pa.large_string(), pa.string()), (pa.string_view(), pa.string()),
        (pa.dictionary(pa.int8(), pa.string()), pa.string()), (pa.large_binary(), pa.binary()),
        (pa.large_list(pa.large_string()), pa.list_(pa.string())), (pa.list_(pa.float32(), 3), pa.list_(pa.float32())),
        (pa.timestamp("us", "UTC"), pa.timestamp("us", "UTC")), (pa.decimal128(10, 2), pa.decimal128(10, 2)),
    ]:  # fmt: skip
        assert canonical_type(kind) == expected
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False)], metadata={"k": "v"})
    assert canonical(schema).equals(pa.schema({"a": pa.int64()}), check_metadata=True)


def test_declared_takes_names_arrow_types_and_schemas() -> None:
    expected = pa.schema({"a": pa.string(), "b": pa.float32(), "t": pa.timestamp("us")})
    assert declared({"a": "string", "b": pa.float32(), "t": "timestamp"}) == expected
    assert declared(pa.schema({"a": pa.large_string(), "b": pa.float32(), "t": pa.timestamp("us")})) == expected


def test_declared_refuses_an_unknown_type_and_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"'flaot64' of column 'x'.*Did you mean 'float64'\?") as caught:
        declared({"x": "flaot64"})
    assert caught.value.column == "x"


def test_require_names_every_missing_column_and_the_nearest_name() -> None:
    with pytest.raises(SchemaError, match=r"'labl' is not in the data\. Did you mean 'label'\? Missing: labl, y"):
        require(pa.schema({"label": pa.int8()}), ["labl", "y"])


def test_shorten_says_how_many_there_are() -> None:
    assert shorten([str(number) for number in range(30)], 2) == "0, 1, ... (30 in all)"


def test_integers_widen_to_the_smallest_type_that_holds_both() -> None:
    for left, right in itertools.product(INTEGERS, INTEGERS):
        low = min(bounds(left)[0], bounds(right)[0])
        high = max(bounds(left)[1], bounds(right)[1])
        holding = [kind for kind in INTEGERS if bounds(kind)[0] <= low and bounds(kind)[1] >= high]
        expected = min(holding, key=lambda kind: kind.bit_width, default=None)
        assert widen(left, right) == expected, (left, right)


def test_nothing_else_widens_but_floats_and_null() -> None:
    for left, right, expected in [
        (pa.float32(), pa.float64(), pa.float64()), (pa.null(), pa.string(), pa.string()),
        (pa.date32(), pa.null(), pa.date32()), (pa.int8(), pa.float64(), None), (pa.int64(), pa.string(), None),
        (pa.bool_(), pa.int8(), None), (pa.timestamp("ms"), pa.timestamp("us"), None),
        (pa.timestamp("us"), pa.timestamp("us", "UTC"), None),
    ]:  # fmt: skip
        assert widen(left, right) == widen(right, left) == expected


def test_types_that_do_not_join_are_told_with_files_and_counts() -> None:
    files = [(name, pa.schema({"x": pa.int64()})) for name in ("1", "2")] + [("3", pa.schema({"x": pa.string()}))]
    with pytest.raises(
        SchemaDriftError, match=r"'x' is int64 in 1 but string in 3 \(int64 in 2 .*string in 1"
    ) as caught:
        unify(files)
    assert (caught.value.path, caught.value.column) == ("3", "x")
    kinds = {"1": pa.null(), "2": pa.int64(), "3": pa.string()}  # the second has widened the column
    with pytest.raises(SchemaDriftError, match="int64 in 2 but string in 3"):
        unify([(name, pa.schema({"x": kind})) for name, kind in kinds.items()])


def test_a_misspelt_option_is_refused() -> None:
    for option in ("missing", "extra"):
        with pytest.raises(ConfigError, match=rf"{option}_columns is 'eror'.*Did you mean 'error'"):
            unify([("1", pa.schema({"a": pa.int64()}))], **{option: "eror"})
