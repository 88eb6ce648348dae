"""Values keep what they are on the way to pandas and back, and types do not depend on which of them are null."""

import datetime
import decimal
import itertools
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.engines.base import Engine
from penstock.errors import SchemaDriftError, SchemaError
from penstock.frames.pandas import from_pandas, to_pandas

BIG = 2**53 + 1
"""The first whole number that float64 does not hold."""
INTEGERS = {"int64": BIG, "uint64": 2**64 - 1, "int32": 2**31 - 1, "int8": -128}
DTYPES = {
    **{kind: kind.replace("i", "I").replace("u", "U") for kind in INTEGERS},
    "bool": "boolean", "float64": "float64", "float32": "float32", "string": "str", "timestamp": "datetime64[us]",
}  # fmt: skip


def of(kind: str, values: list[Any]) -> pa.Table:
    types = {"timestamp": pa.timestamp("us"), "bool": pa.bool_(), "string": pa.string()}
    return pa.table({"x": pa.array(values, types[kind] if kind in types else pa.type_for_alias(kind))})


def test_the_type_in_pandas_is_the_same_with_nulls_and_without(local: Engine):
    for kind, dtype in DTYPES.items():
        value = {"string": "a", "bool": True, "timestamp": datetime.datetime(2024, 1, 1)}.get(kind, 1)
        for values in ([value], [value, None], [None], []):
            assert str(local.from_arrow(of(kind, values)).to_pandas()["x"].dtype) == dtype


def test_a_whole_number_beside_a_null_is_the_same_in_pandas_and_back(local: Engine):
    for kind, value in {**INTEGERS, "bool": True}.items():
        table = of(kind, [value, None])
        column = local.from_arrow(table).to_pandas()["x"]
        assert (int(column[0]), column[1]) == (value, pd.NA)
        assert local.from_pandas(to_pandas(table)).to_arrow().equals(table)


def test_a_whole_number_in_a_list_is_the_same_in_pandas_and_back() -> None:
    for value in [[BIG, None], [[BIG, None], None], {"a": [BIG, None]}, [{"a": BIG}, {"a": None}], [True, None]]:
        table = pa.table({"x": [value, None]})
        assert from_pandas(to_pandas(table)).to_pydict() == table.to_pydict()


FORMS = ["narwhals", "polars", "pandas", "arrow"]


def test_a_function_that_returns_what_it_takes_changes_nothing(local: Engine, subtests: pytest.Subtests):
    ps.register_function("tests: the same")(lambda frame: frame)
    for form, (kind, value) in itertools.product(FORMS, INTEGERS.items()):
        with subtests.test(form, kind=kind):
            data = local.from_arrow(of(kind, [value, None]))
            stage = st.FunctionStage("tests: the same", "x", {"x": kind}, frame=form)
            mapped = data.map_partitions(lambda frame: frame, {"x": kind}, frame=form)
            for made in (ps.Pipeline(stage).fit(data).transform(data), mapped):
                assert made.to_arrow()["x"].to_pylist() == [value, None]


def test_every_partition_has_the_same_types_on_every_engine(engine: Engine):
    table = pa.table({"x": [1, None, 3], "b": [None, True, True], "f": [0.5, None, 1.0]})

    def types(frame: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"types": [" ".join(map(str, frame.dtypes))] * len(frame)})

    made = engine.from_arrow(table, fragment_bytes=1).map_partitions(types, {"types": "string"}, frame="pandas")
    assert made.to_arrow()["types"].to_pylist() == ["Int64 boolean float64"] * 3


# Values that a declared type does not hold


def test_a_value_that_the_declared_type_does_not_hold_is_refused(local: Engine, subtests: pytest.Subtests):
    for values, kind, bad in [
        ([1.0, 3.7], "int64", "3.7"), ([None, -0.5], "int8", "-0.5"), ([BIG, 0], "float64", str(BIG)),
        ([2, 1], "bool", "2"), ([300, 1], "int8", ""), ([float("inf"), 1.0], "int64", ""),
        ([2.0**63, 1.0], "int64", ""), ([-1, 1], "uint8", ""), ([decimal.Decimal("1.5")], "int64", "1.5"),
        ([datetime.datetime(2024, 1, 1, 5)], "date", "2024"), ([[1.0, None], [3.7]], pa.list_(pa.int64()), "[3.7]"),
    ]:  # fmt: skip
        data = local.from_arrow(pa.table({"x": values}))
        for form in FORMS:
            with subtests.test(str(values), form=form):
                with pytest.raises(SchemaError, match="map_partitions") as raised:
                    data.map_partitions(lambda frame: frame, {"x": kind}, frame=form).to_arrow()
                assert bad in str(raised.value)
                assert "'x'" in str(raised.value)
                assert "declare" in raised.value.hint


def test_a_value_that_the_declared_type_holds_is_cast(local: Engine, subtests: pytest.Subtests) -> None:
    for values, kind, made in [
        ([1.0, None, 3.0], "int64", [1, None, 3]),
        ([1, 2**53], "float64", [1.0, 2.0**53]),
        ([0.1], "float32", [float(np.float32(0.1))]),
        ([decimal.Decimal("0.1")], "float64", [0.1]),
        ([1, 0], "bool", [True, False]),
        (["12", " 7"][:1], "int64", [12]),
        ([[1.0, None]], pa.list_(pa.int64()), [[1, None]]),
        ([datetime.date(2024, 1, 1)], "timestamp", [datetime.datetime(2024, 1, 1)]),
    ]:
        with subtests.test(values=values):
            data = local.from_arrow(pa.table({"x": values})).map_partitions(lambda frame: frame, {"x": kind})
            assert data.to_arrow()["x"].to_pylist() == made


# What cannot be had in the other library


def test_a_column_of_pandas_that_arrow_does_not_hold_is_named(local: Engine, subtests: pytest.Subtests) -> None:
    for values, word in [
        ([1, "a"], "several kinds"),
        (pd.Series([BIG, 0.5], dtype=object), "several kinds"),
        ([2**65, 1], "too large"),
        ([1j, 2j], "complex"),
        (pd.arrays.SparseArray([0, 1]), "Sparse"),
    ]:
        with subtests.test(values=values):
            with pytest.raises(SchemaError, match="column 'x' of the pandas frame") as raised:
                local.from_pandas(pd.DataFrame({"ok": [1, 2], "x": values}))
            assert word in str(raised.value)
            assert raised.value.column == "x"


def test_a_name_that_stands_twice_in_pandas_is_told_with_both_positions(local: Engine):
    with pytest.raises(SchemaDriftError, match="'a' stands twice, at positions 0 and 2, in the pandas frame"):
        local.from_pandas(pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]))


def test_what_a_function_returns_is_refused_with_the_function(local: Engine):
    data = local.from_arrow(pa.table({"x": [1, 2]}))
    with pytest.raises(SchemaError, match=r"column 'y' of the pandas frame.*mixed"):
        data.map_partitions(mixed, {"y": "int64"}, frame="pandas").to_arrow()


def mixed(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"y": [1, "a"]})


@pytest.mark.cpu("cuDF has no times of day")
def test_a_time_that_pandas_has_no_like_for_is_named(local: Engine):
    data = local.from_arrow(pa.table({"n": [1], "t": pa.array([1001], pa.time64("ns"))}))
    with pytest.raises(SchemaError, match=r"column 't', time64\[ns\], has no like in pandas"):
        data.to_pandas()
