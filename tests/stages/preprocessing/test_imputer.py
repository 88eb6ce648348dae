"""Imputer against scikit-learn, pandas and closed forms."""

from __future__ import annotations

import math
import pickle

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sklearn.impute

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.selectors import numeric
from penstock.stages import Imputer, StringIndexer
from penstock.statistics.grouped.group_value_counts import GroupValueCounts

RNG = np.random.default_rng(11)


def with_holes(values, kind=None):
    return pa.array(values, kind, mask=RNG.random(len(values)) < 0.3)


@pytest.mark.parametrize(("strategy", "oracle"), [("mean", "mean"), ("median", "median"), ("mode", "most_frequent")])
def test_agrees_with_scikit_learn(apply, strategy, oracle):
    x = with_holes(RNG.integers(0, 9, 1001).astype(float))
    if len(x.drop_null()) % 2 == 0:  # of an even number scikit-learn's median is the mean of the middle two
        x = pa.concat_arrays([x, pa.array([4.0])])
    expected = sklearn.impute.SimpleImputer(strategy=oracle).fit_transform(x.to_numpy(zero_copy_only=False)[:, None])
    made = apply(Imputer("x", strategy=strategy), pa.table({"x": x}))
    np.testing.assert_allclose(made["x"].to_numpy(), expected[:, 0], rtol=1e-15)


def test_the_median_of_an_even_number_is_the_lower_of_the_middle_two(apply):
    made = apply(Imputer("x", strategy="median"), pa.table({"x": [4.0, 1.0, 3.0, 2.0, None]}))
    assert made["x"][4].as_py() == 2.0


def test_the_mode_of_a_tie_is_the_smallest_by_bytes(apply):
    made = apply(Imputer("s", strategy="mode"), pa.table({"s": ["b", "Z", "é", "Z", "b", None]}))
    assert made["s"][5].as_py() == "Z"


def test_a_mean_near_the_largest_integers_does_not_overflow(apply):
    made = apply(Imputer("x"), pa.table({"x": [2**62, 2**62, 2**62, None]}))
    assert made["x"].to_pylist() == [2.0**62] * 4


def test_a_mode_near_the_largest_integers_is_exact(apply):
    made = apply(Imputer("x", strategy="mode"), pa.table({"x": [2**62 + 1, 2**62 + 1, 2**62, None]}))
    assert made["x"][3].as_py() == 2**62 + 1


def test_a_mean_at_a_large_offset_is_exact(apply):
    made = apply(Imputer("x"), pa.table({"x": [1e8 + 0.25, 1e8 + 0.75, None]}))
    assert made["x"][2].as_py() == 1e8 + 0.5


@pytest.mark.parametrize(
    ("kind", "strategy", "expected"),
    [
        (pa.int32(), "mean", pa.float64()),
        (pa.int32(), "median", pa.float64()),
        (pa.int32(), "mode", pa.int32()),
        (pa.uint8(), "mode", pa.uint8()),
        (pa.bool_(), "mean", pa.float64()),
        (pa.bool_(), "mode", pa.bool_()),
        (pa.float32(), "mean", pa.float32()),
        (pa.float32(), "median", pa.float32()),
        (pa.string(), "mode", pa.string()),
    ],
)
def test_the_type_follows_the_strategy(apply, kind, strategy, expected):
    column = pa.array([1, 0, 1, None]).cast(kind)
    made = apply(Imputer("x", strategy=strategy), pa.table({"x": column}))
    assert made.schema.field("x").type == expected
    assert made["x"].null_count == 0


@pytest.mark.parametrize(
    ("column", "fill_value"),
    [
        (pa.array([1, None], pa.int8()), -128),
        (pa.array([1, None], pa.uint64()), 2**63),
        (pa.array([1.5, None]), 0),
        (pa.array([1.5, None], pa.float32()), 0.5),
        (pa.array(["a", None]), ""),
        (pa.array([True, None]), False),
    ],
)
def test_a_constant_is_put_in_and_the_type_is_kept(apply, column, fill_value):
    made = apply(Imputer("x", strategy="constant", fill_value=fill_value), pa.table({"x": column}))
    assert made["x"].to_pylist() == [column[0].as_py(), fill_value]
    assert made.schema.field("x").type == column.type


@pytest.mark.parametrize(
    ("kind", "fill_value"),
    [
        (pa.int64(), 0.5),
        (pa.int64(), 1.0),
        (pa.int8(), 128),
        (pa.int64(), True),
        (pa.bool_(), 1),
        (pa.float64(), "0"),
        (pa.float32(), 1e39),
        (pa.string(), 0),
    ],
)
def test_a_constant_that_the_column_cannot_hold_is_refused(kind, fill_value):
    stage = Imputer("x", strategy="constant", fill_value=fill_value)
    with pytest.raises(ConfigError, match=f"which column 'x' of type {kind} cannot hold"):
        stage.bind(pa.schema({"x": kind}))


def test_a_constant_needs_no_values(apply):
    table = pa.table({"x": pa.nulls(2, pa.float64())})
    assert apply(Imputer("x", strategy="constant", fill_value=7), table)["x"].to_pylist() == [7.0, 7.0]


@pytest.mark.parametrize("strategy", ["mean", "median", "mode"])
def test_a_column_of_nulls_is_refused_with_its_rows(learn, strategy):
    with pytest.raises(DataValueError, match="column 'x' has no value: all of its 4 rows are null") as caught:
        learn(Imputer("x", strategy=strategy), pa.table({"x": pa.nulls(4, pa.int64())}))
    assert (caught.value.column, caught.value.rows) == ("x", 4)


@pytest.mark.parametrize("strategy", ["mean", "median", "mode"])
def test_an_infinity_is_refused_at_fit_with_its_file_and_row(local, tmp_path, strategy):
    pq.write_table(pa.table({"x": [1.0, 2.0, 2.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [None, None, -math.inf]}), tmp_path / "b.parquet")
    data = local.read_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    with pytest.raises(DataValueError, match="column 'x' has 1 values that are infinite") as caught:
        ps.Pipeline(Imputer("x", strategy=strategy)).fit(data)
    assert str(caught.value.path).endswith("b.parquet")
    assert caught.value.row == 2


@pytest.mark.parametrize("strategy", ["mean", "median", "mode"])
def test_one_row_is_its_own_statistic(apply, strategy):
    assert apply(Imputer("x", strategy=strategy), pa.table({"x": [5.0]}))["x"].to_pylist() == [5.0]


@pytest.mark.parametrize("strategy", ["mean", "median", "mode"])
def test_an_empty_partition_changes_nothing(learn, strategy):
    x = pa.table({"x": [1.0, 2.0, 2.0, None]})
    _, whole = learn(Imputer("x", strategy=strategy), x)
    _, cut = learn(Imputer("x", strategy=strategy), x.slice(0, 0), x.slice(0, 1), x.slice(4), x.slice(1))
    assert cut["values"] == pytest.approx(whole["values"], rel=1e-15)


def test_indicators_are_those_of_pandas_and_there_for_columns_without_nulls(apply):
    table = pa.table({"x": with_holes(np.arange(100)), "y": np.arange(100)})
    made = apply(Imputer(["x", "y"], add_indicator=True), table)
    assert made.column_names == ["x", "y", "x_missing", "y_missing"]
    frame: pd.DataFrame = table.to_pandas()
    assert made["x_missing"].to_pylist() == frame["x"].isna().tolist()
    assert not any(made["y_missing"].to_pylist())


def test_indicators_do_not_replace_a_column(learn):
    schema = pa.schema({"x": pa.int64(), "x_missing": pa.int64()})
    with pytest.raises(ConfigError, match="adds the indicator 'x_missing', but there is a column of that name"):
        Imputer("x", add_indicator=True).bind(schema)


def test_the_input_frame_is_left_as_it_was(local):
    table = pa.table({"x": [1.0, None]})
    data = local.from_arrow(table)
    made = ps.Pipeline(Imputer("x", output_columns=["y"])).fit(data).transform(data).to_arrow()
    assert made.to_pydict() == {"x": [1.0, None], "y": [1.0, 1.0]}


def test_through_a_pipeline_each_column_is_filled_with_its_own(local):
    table = pa.table({"a": [1.0, 3.0, None], "b": [10.0, None, 30.0], "s": ["u", None, "u"]})
    data = local.from_arrow(table, fragment_bytes=32)
    model = ps.Pipeline(Imputer(numeric()), Imputer("s", strategy="mode")).fit(data)
    assert model.report.scans == 1
    assert model.transform(data).to_arrow().to_pydict() == {
        "a": [1.0, 3.0, 2.0],
        "b": [10.0, 20.0, 30.0],
        "s": ["u", "u", "u"],
    }


def test_a_filter_that_leaves_only_nulls_is_refused(local):
    data = local.from_arrow(pa.table({"x": [1.0, None], "keep": [False, True]})).filter(nw.col("keep"))
    with pytest.raises(DataValueError, match="all of its 1 rows are null") as caught:
        ps.Pipeline(Imputer("x")).fit(data)
    assert caught.value.stage == "Imputer"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"strategy": "meen"}, r"strategy of Imputer is 'meen', expected one of .* Did you mean 'mean'\?"),
        ({"strategy": "constant"}, r"is 'constant' and fill_value is None; expected a fill_value for 'constant'"),
        ({"fill_value": 3}, r"is 'mean' and fill_value is 3; expected a fill_value for 'constant'"),
        ({"strategy": "constant", "fill_value": math.nan}, r"fill_value of Imputer is nan, expected a finite one"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ConfigError, match=message):
        Imputer("x", **parameters)


@pytest.mark.parametrize(
    ("kind", "strategy", "message"),
    [
        (pa.string(), "mean", r"column 'x' is string, but Imputer with strategy 'mean' takes numbers"),
        (
            pa.date32(),
            "mode",
            r"is date32\[day\], but Imputer with strategy 'mode' takes numbers and strings",
        ),
    ],
)
def test_a_column_of_another_type_is_refused_before_reading(kind, strategy, message):
    with pytest.raises(SchemaError, match=message):
        Imputer("x", strategy=strategy).bind(pa.schema({"x": kind}))


def test_parameters_and_pickle_round_trip():
    stage = Imputer(["x"], strategy="constant", fill_value="none", add_indicator=True)
    assert Imputer.from_parameters(stage.parameters()) == stage
    assert pickle.loads(pickle.dumps(stage)) == stage


VALUES = {
    pa.int64(): ([5, 1, 5, -9, 2, 8, -9, 3, 5, None], -9),
    pa.float32(): ([0.1, 0.5, 0.5, 0.7, 0.1, 2.5, 3.5, 0.25, 0.5, None], 0.1),
    pa.float64(): ([-0.0, 4.0, 2.5, 0.0, 2.5, 8.0, 2.5, 1.0, 0.125, None], 0),
    pa.bool_(): ([True, False, True, False, False, True, False, False, True, None], True),
    pa.string(): (["?", "a", "b", "b", "?", "é", "?", "", "b", None], "?"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("strategy", ["mean", "median", "mode", "constant"])
@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_a_missing_value_is_as_null_to_the_bit(local, kind, strategy):
    values, missing = VALUES[kind]
    if kind == pa.string() and strategy in ("mean", "median"):
        return
    column = pa.array(values * 30, kind)
    stored = pa.scalar(missing, kind).as_py()
    nulls = pa.array([None if value == stored else value for value in column.to_pylist()], kind)
    options = {"strategy": strategy, "add_indicator": True, "output_columns": ["y"]}
    if strategy == "constant":
        options["fill_value"] = values[1]
    models = [
        ps.Pipeline(Imputer("x", **options, **more)).fit(local.from_arrow(pa.table({"x": x}), fragment_bytes=128))
        for x, more in [(column, {"missing_value": missing}), (nulls, {})]
    ]
    assert models[0].fitted == models[1].fitted
    made = [
        model.transform(local.from_arrow(pa.table({"x": x}))).to_arrow()
        for model, x in zip(models, (column, nulls), strict=True)
    ]
    assert made[0].drop(["x"]).equals(made[1].drop(["x"]))
    assert made[0]["x"].combine_chunks().equals(column)
    assert [models[0].predict({"x": value}) for value in column[:10].to_pylist()] == made[0].slice(0, 10).drop(
        ["x"]
    ).to_pylist()


@pytest.mark.parametrize(("strategy", "oracle"), [("mean", "mean"), ("mode", "most_frequent")])
def test_a_missing_value_is_that_of_scikit_learn(apply, strategy, oracle):
    x = np.where(RNG.random(501) < 0.4, -999.0, RNG.integers(0, 9, 501))
    expected = sklearn.impute.SimpleImputer(missing_values=-999.0, strategy=oracle).fit_transform(x[:, None])
    made = apply(Imputer("x", strategy=strategy, missing_value=-999), pa.table({"x": x}))
    np.testing.assert_allclose(made["x"].to_numpy(), expected[:, 0], rtol=1e-15)


def test_missing_values_that_are_equal_in_python_are_each_of_their_column(local):
    table = pa.table({"n": [1, 2, 1, 4], "b": [True, False, True, False], "x": [1.0, 3.0, 5.0, 1.0]})
    steps = [Imputer(name, strategy="mode", missing_value=value) for name, value in [("n", 1), ("b", True), ("x", 1.0)]]
    made = ps.Pipeline(*steps).fit(local.from_arrow(table)).transform(local.from_arrow(table)).to_arrow()
    assert made.to_pydict() == {"n": [2, 2, 2, 4], "b": [False] * 4, "x": [3.0, 3.0, 5.0, 3.0]}


def test_what_other_stages_count_of_a_column_is_counted_with_its_missing_values(local):
    data = local.from_arrow(pa.table({"s": ["?", "?", "?", "a", "b", "b"]}))
    indexer = StringIndexer("s", output_columns=["i"])
    model = ps.Pipeline(indexer, Imputer("s", strategy="mode", missing_value="?")).fit(data)
    assert model.fitted[0] == ps.Pipeline(indexer).fit(data).fitted[0]
    assert model.fitted[1]["values"] == {"s": "b"}


def test_a_column_of_missing_values_is_refused(learn):
    with pytest.raises(DataValueError, match="column 'x' has no value"):
        learn(Imputer("x", missing_value=-1), pa.table({"x": [-1, None, -1]}))


@pytest.mark.parametrize(
    ("kind", "value"), [(pa.int8(), 999), (pa.int64(), "?"), (pa.float64(), True), (pa.string(), 1), (pa.bool_(), 1)]
)
def test_a_missing_value_that_the_column_cannot_hold_is_refused(kind, value):
    stage = Imputer("x", strategy="mode", missing_value=value)
    with pytest.raises(ConfigError, match=r"missing_value of Imputer is .*, which column 'x' of type .* cannot hold"):
        stage.bind(pa.schema({"x": kind}))


def test_nan_is_no_missing_value_as_it_is_null():
    with pytest.raises(ConfigError, match="missing_value of Imputer is nan, expected a finite one"):
        Imputer("x", missing_value=math.nan)


GROUPS = pa.table(
    {
        "shop": pa.array(RNG.choice(["a", "b", "größe"], 300), mask=RNG.random(300) < 0.1),
        "n": pa.array(RNG.integers(0, 9, 300), mask=RNG.random(300) < 0.3),
        "x": with_holes(RNG.normal(size=300) + 1e6),
        "day": RNG.integers(0, 2, 300),
    }
)


@pytest.mark.parametrize("by", ["shop", ("shop", "day")])
@pytest.mark.parametrize("strategy", ["mean", "median", "mode"])
def test_groups_are_filled_as_by_pandas(apply, by, strategy):
    frame = GROUPS.to_pandas()
    how = {"mean": "mean", "median": lambda x: x.quantile(interpolation="lower"), "mode": lambda x: x.mode().iloc[0]}
    expected = frame[["n", "x"]].copy()
    for name in expected:
        whole = frame[name].agg(how[strategy])
        of_group = frame.groupby(list(np.atleast_1d(by)))[name].transform(how[strategy])
        expected[name] = frame[name].fillna(of_group).fillna(whole)
    made = apply(Imputer(("n", "x"), by=by, strategy=strategy), GROUPS)
    np.testing.assert_allclose(made["n"].to_numpy(), expected["n"], rtol=1e-14)
    np.testing.assert_allclose(made["x"].to_numpy(), expected["x"], rtol=1e-14)


def test_a_group_without_a_value_or_unseen_or_null_takes_the_value_of_all_rows(local):
    learned = pa.table({"k": ["a", "a", "b", "b", None], "x": [1.0, 3.0, None, None, 8.0]})
    model = ps.Pipeline(Imputer("x", by="k")).fit(local.from_arrow(learned))
    assert model.fitted[0]["values"] == {"x": 4.0}
    rows = [{"k": key, "x": None} for key in ("a", "b", "new", None)]
    assert [row["x"] for row in model.predict(rows)] == [2.0, 4.0, 4.0, 4.0]


def test_modes_of_groups_keep_the_type_and_the_original_column_stays(apply):
    table = pa.table({"k": [1, 1, 2, 2], "s": ["b", None, "Z", None], "f": [True, None, False, None]})
    made = apply(Imputer(("s", "f"), by="k", strategy="mode", output_columns=("t", "g")), table)
    assert made["t"].to_pylist() == ["b", "b", "Z", "Z"]
    assert made["g"].to_pylist() == [True, True, False, False]
    assert made["s"].to_pylist() == ["b", None, "Z", None]


def test_the_indicator_tells_what_a_group_filled(local):
    table = pa.table({"k": ["a", "a"], "x": [1.0, None]})
    model = ps.Pipeline(Imputer("x", by="k", add_indicator=True)).fit(local.from_arrow(table))
    assert model.predict({"k": "a", "x": None}) == {"x": 1.0, "x_missing": True}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"by": "k", "strategy": "constant", "fill_value": 0},
            ConfigError,
            "by of Imputer is .*strategy is 'constant'",
        ),
        ({"by": "k", "missing_value": -1}, ConfigError, "by of Imputer is .*missing_value is -1"),
        ({"by": "x"}, ConfigError, "by 'x' is among the columns"),
        ({"by": "f"}, SchemaError, "column 'f' is double, but Imputer takes strings, integers or booleans to group by"),
        ({"by": "none"}, SchemaError, "none"),
    ],
)
def test_groups_that_cannot_be_are_refused_before_reading(local, options, error, message):
    with pytest.raises(error, match=message):
        ps.Pipeline(Imputer("x", **options)).fit(local.from_arrow(pa.table({"k": [1], "x": [1.0], "f": [1.0]})))


def test_too_many_values_of_groups_are_refused_by_name(local):
    statistic = GroupValueCounts(("k", "x"), limit=2)
    table = pa.table({"k": ["a", "a", "b"], "x": [1.0, 2.0, 3.0]})
    with pytest.raises(DataValueError, match="column 'x' has 3 or more different values of groups by k"):
        statistic.summarise(frames.from_arrow(table))
