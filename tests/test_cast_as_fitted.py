"""Data in other types than a model was fitted on: a row and a batch agree to the bit, or are refused alike."""

import datetime
import decimal
import functools
import math
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock import stages as st
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.stages.base import ColumnStage

DAY = datetime.datetime(2024, 2, 29, 17, 30)
UTC = datetime.UTC
FITTED = {
    "int8": [1], "int16": [1], "int32": [1], "int64": [1], "uint8": [1], "uint64": [1], "float32": [0.5],
    "float64": [0.5], "bool": [True], "string": ["a"], "binary": [b"a"], "date": [DAY.date()], "timestamp": [DAY],
    "timestamp[ns]": pa.array([DAY], pa.timestamp("ns")), "timestamp[ms]": pa.array([DAY], pa.timestamp("ms")),
    "timestamp[us, UTC]": pa.array([DAY], pa.timestamp("us", "UTC")), "decimal": [decimal.Decimal("123.45")],
    "list of int32": pa.array([[1]], pa.list_(pa.int32())), "list of float64": [[0.5]], "list of string": [["a"]],
}  # fmt: skip
FOUND = {
    "whole": [3.0, -3.0, 0.0, -0.0, 2.0**31, -(2.0**31), 2.0**53, 2.0**63, -(2.0**63), 2.0**64, 1e300],
    "fractions": [3.5, -0.1, 5e-324, math.inf, -math.inf, 1e39, 3.4e38],
    "float32": pa.array([3.0, 3.5, 2.0**31, math.inf], pa.float32()),
    "int64": [
        1, 127, 128, -1, -129, 255, 256, 2**24 + 1, 2**31 - 1, 2**31, 2**53, 2**53 + 1, 2**60, 2**63 - 1, -(2**63),
    ],
    "uint64": pa.array([1, 2**63, 2**64 - 1, 2**63 + 2**11], pa.uint64()),
    "int8": pa.array([1, -1], pa.int8()),
    "bool": [True, False],
    "string": ["1", "", "nan"],
    "binary": [b"1"],
    "date": [DAY.date()],
    "timestamp": [DAY, DAY.replace(microsecond=1), datetime.datetime(9999, 12, 31), datetime.datetime(1, 1, 1)],
    "timestamp[ns]": pa.array([0, 1, -1, 10**6, 10**3], pa.timestamp("ns")),
    "timestamp[s]": pa.array([0, 253402300799], pa.timestamp("s")),
    "timestamp[us, UTC]": pa.array([DAY], pa.timestamp("us", "UTC")),
    "timestamp[us, Asia/Tokyo]": pa.array([DAY.replace(tzinfo=UTC)], pa.timestamp("us", "Asia/Tokyo")),
    "decimal": [decimal.Decimal("1.5"), decimal.Decimal("3")],
    "fine decimal": [decimal.Decimal("1.555")],
    "large decimal": [decimal.Decimal("1234567.5")],
    "list of int64": [[1, None], [2**31], [2**53 + 1]],
    "list of float64": [[1.0], [1.5], [None, 2.0]],
    "list of string": [["a", None]],
    "list of bool": [[True]],
    "struct": [{"a": 1}],
    "null": [None],
}  # fmt: skip


class AsItIs(ColumnStage):
    """Gives its columns under other names."""

    def transform(self, frame: nw.DataFrame, fitted: Any) -> nw.DataFrame:
        return frame.with_columns(*(nw.col(name).alias(out) for name, out in self.pairs()))


@functools.cache
def fitted_on(kind: str) -> ps.PipelineModel:
    values = FITTED[kind]
    array = values if isinstance(values, pa.Array) else pa.array(values, arrow(kind))
    data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": array}))
    return ps.Pipeline(AsItIs("x", output_columns=("y",))).fit(data)


def arrow(kind: str) -> pa.DataType | None:
    try:
        return pa.type_for_alias(kind)
    except ValueError:
        return None


def outcome(call: Any) -> Any:
    """Return what a call gives, with its type, or what kind of error it raises."""
    try:
        made = call()
    except DataValueError:
        return "value refused"
    except SchemaError:
        return "type refused"
    return type(made), math.copysign(1.0, made) if made == 0 else None, made


@pytest.mark.thorough
def test_a_row_and_a_batch_agree_to_the_bit_or_are_refused_alike(local, subtests):
    tables = {
        found: pa.table({"x": values if isinstance(values, pa.Array) else pa.array(values)})
        for found, values in FOUND.items()
    }
    for kind in FITTED:
        with subtests.test(kind):
            for table in tables.values():
                compare_each_row(local, fitted_on(kind), table)


def compare_each_row(local: Engine, model: ps.PipelineModel, table: pa.Table) -> None:
    def scored(rows: pa.Table) -> list[Any]:
        return model.transform(local.from_arrow(rows)).to_arrow()["y"].to_pylist()

    rows = table.to_pylist()
    alone = [outcome(lambda row=row: model.predict(row)["y"]) for row in rows]
    taken = [place for place, each in enumerate(alone) if not isinstance(each, str)]
    together = dict(zip(taken, scored(table.take(taken)) if taken else [], strict=True))
    for place, row in enumerate(rows):
        one, told = table.slice(place, 1), (table.schema.field("x").type, row)
        batch = outcome(lambda one=one, place=place: together[place] if place in together else scored(one)[0])
        assert alone[place] == batch, told
        if batch == "type refused":
            return
        assert outcome(lambda row=row: model.predict([row] * 9)[8]["y"]) == batch, told
        assert outcome(lambda one=one: model.predict(one)[0]["y"]) == batch, told


def test_a_number_is_taken_for_one_that_is_equal(local, subtests):
    for kind, value, made in [
        ("int32", 3.0, 3), ("int32", math.nan, None), ("int64", 2.0**53, 2**53), ("float64", 2**53, 2.0**53),
        ("float32", 0.1, float(np.float32(0.1))), ("float32", 2**24 + 1, 2.0**24), ("uint8", 255, 255),
    ]:  # fmt: skip
        with subtests.test(kind=kind):
            model = fitted_on(kind)
            assert model.predict({"x": value}) == {"y": made}
            assert model.transform(local.from_arrow(pa.table({"x": [value]}))).to_arrow()["y"].to_pylist() == [made]


def test_a_value_that_the_type_does_not_hold_is_refused(local, subtests):
    for kind, value in [
        ("int32", 3.5), ("int32", 2**31), ("int16", 3.5), ("uint8", -1), ("float64", 2**53 + 1), ("float32", 1e39),
        ("int64", math.inf), ("timestamp[ms]", DAY.replace(microsecond=1)),
    ]:  # fmt: skip
        with subtests.test(kind=kind):
            model = fitted_on(kind)
            scored = model.transform(local.from_arrow(pa.table({"x": [value]})))
            with pytest.raises(DataValueError, match="column 'x'"):
                model.predict({"x": value})
            with pytest.raises(DataValueError, match="column 'x'"):
                scored.to_arrow()


def test_the_first_bad_value_is_told_with_file_and_row(local, tmp_path):
    model = fitted_on("int32")
    pq.write_table(pa.table({"x": [1.0, None, 2.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [4.0, 3.5, 0.25]}), tmp_path / "b.parquet")
    scored = model.transform(local.read_parquet(str(tmp_path / "*.parquet"), fragment_bytes=1))
    with pytest.raises(DataValueError, match=r"'x' has 2 value\(s\) that int32, .* does not hold: 3\.5") as raised:
        scored.to_arrow()
    assert (raised.value.path, raised.value.row, raised.value.column) == (str(tmp_path / "b.parquet"), 1, "x")


def test_a_column_that_is_all_null_is_taken_for_any_type(local):
    for kind in FITTED:
        made = fitted_on(kind).transform(local.from_arrow(pa.table({"x": pa.nulls(2)}))).to_arrow()
        assert made["y"].to_pylist() == [None, None]


# Frames


TRAIN = pd.DataFrame({"n": np.array([1, 5, 2, 3], np.int32), "s": ["a", "b", "a", "c"], "label": [0, 1, 0, 1]})
SCORE = pd.DataFrame({"n": [1.0, np.nan, 7.0], "s": ["b", None, "zzz"]})
"""What pandas makes of integers and texts of which one is missing."""


@pytest.fixture(scope="module")
def churn() -> ps.PipelineModel:
    stages = (
        st.Imputer("n", strategy="median"),
        st.StringIndexer("s"),
        st.LogisticRegression("label", features=["n", "s"], max_iter=5),
    )
    return ps.Pipeline(*stages).fit(ps.LocalEngine(device="cpu").from_pandas(TRAIN))


def test_a_pandas_frame_with_a_missing_integer_is_scored(engine, churn):
    scored = churn.transform(engine.from_pandas(SCORE)).select("probability").to_arrow()["probability"].to_pylist()
    whole = engine.from_arrow(pa.table({"n": pa.array([1, None, 7], pa.int32()), "s": ["b", None, "zzz"]}))
    assert scored == churn.transform(whole).to_arrow()["probability"].to_pylist()
    assert [row["probability"] for row in churn.predict(SCORE)] == scored
    assert [row["probability"] for row in churn.predict(SCORE.to_dict("records"))] == scored


def test_a_frame_given_to_predict_stands_for_its_rows(churn, subtests):
    for frame in [
        SCORE, pl.from_pandas(SCORE), pa.Table.from_pandas(SCORE), pa.RecordBatch.from_pandas(SCORE),
        pa.Table.from_pandas(SCORE).to_reader(), SCORE.convert_dtypes(),
    ]:  # fmt: skip
        with subtests.test(str(type(frame))):
            rows = [{"n": 1, "s": "b"}, {"n": None, "s": None}, {"n": 7, "s": "zzz"}]
            assert churn.predict(frame) == churn.predict(rows)


def test_every_kind_of_missing_is_null_in_a_row(churn, subtests):
    for missing in [None, math.nan, np.float32("nan"), pd.NA, pd.NaT]:
        with subtests.test(missing=missing):
            assert churn.predict({"n": missing, "s": missing}) == churn.predict({"n": None, "s": None})


def test_what_is_no_row_is_refused_with_what_is(churn, subtests):
    for rows in ["n", [1, 2], [SCORE.iloc[0]], 7]:
        with subtests.test(rows=rows):
            with pytest.raises(ConfigError, match="expected a mapping") as raised:
                churn.predict(rows)
            assert "a frame of pandas" in raised.value.hint


def test_a_frame_where_a_dataset_is_wanted_is_refused_with_how_to_make_one(churn, subtests):
    for call in [
        lambda model: model.transform(SCORE),
        lambda model: model.evaluate(SCORE, st.RegressionEvaluator()),
        lambda model: ps.evaluate(SCORE, [st.RegressionEvaluator()]),
        lambda model: ps.Pipeline(st.Imputer("n")).fit(SCORE),
        lambda model: ps.Pipeline(st.Imputer("n")).plan(SCORE),
        lambda model: ps.Pipeline(st.Imputer("n")).explain(SCORE),
        lambda model: ps.Pipeline(st.Imputer("n")).fit(ps.LocalEngine().from_pandas(TRAIN), validation=SCORE),
    ]:
        with subtests.test(call=call):
            with pytest.raises(ConfigError, match=r"takes a Dataset, found pandas\.DataFrame") as raised:
                call(churn)
            assert "engine.from_arrow(frame)" in raised.value.hint


def test_a_validation_set_is_taken_in_the_types_of_the_training_set(local):
    x = np.arange(64)
    train = pa.table({"x": pa.array(x, pa.int32()), "label": x % 2})
    pipeline = ps.Pipeline(st.XGBoostClassifier("label", num_boost_round=2))
    watched = [
        pipeline.fit(local.from_arrow(train), validation=local.from_arrow(table)).fitted[0]["history"]
        for table in (train, train.set_column(0, "x", pa.array(x, pa.float64())))
    ]
    assert watched[0] == watched[1]
