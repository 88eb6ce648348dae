"""Imputer against closed forms: types, missing values, groups, and what is refused."""

import itertools
import math

import pyarrow as pa
import pytest

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.stages import Imputer, StringIndexer
from penstock.statistics.grouped.group_value_counts import GroupValueCounts


def test_the_mode_of_a_tie_is_the_smallest_by_bytes(apply):
    made = apply(Imputer("s", strategy="mode"), pa.table({"s": ["b", "Z", "é", "Z", "b", None]}))
    assert made["s"][5].as_py() == "Z"


def test_a_mode_near_the_largest_integers_is_exact(apply):
    made = apply(Imputer("x", strategy="mode"), pa.table({"x": [2**62 + 1, 2**62 + 1, 2**62, None]}))
    assert made["x"][3].as_py() == 2**62 + 1


def test_the_type_follows_the_strategy(apply, subtests):
    for kind, strategy, expected in [
        (pa.int32(), "mean", pa.float64()),
        (pa.int32(), "median", pa.float64()),
        (pa.int32(), "mode", pa.int32()),
        (pa.uint8(), "mode", pa.uint8()),
        (pa.bool_(), "mean", pa.float64()),
        (pa.bool_(), "mode", pa.bool_()),
        (pa.float32(), "mean", pa.float32()),
        (pa.float32(), "median", pa.float32()),
        (pa.string(), "mode", pa.string()),
    ]:
        with subtests.test(kind=kind, strategy=strategy):
            column = pa.array([1, 0, 1, None]).cast(kind)
            made = apply(Imputer("x", strategy=strategy), pa.table({"x": column}))
            assert made.schema.field("x").type == expected
            assert made["x"].null_count == 0


def test_a_constant_is_put_in_and_the_type_is_kept(apply, subtests):
    for column, fill_value in [
        (pa.array([1, None], pa.int8()), -128),
        (pa.array([1, None], pa.uint64()), 2**63),
        (pa.array([1.5, None]), 0),
        (pa.array([1.5, None], pa.float32()), 0.5),
        (pa.array(["a", None]), ""),
        (pa.array([True, None]), False),
    ]:
        with subtests.test(column=column, fill_value=fill_value):
            made = apply(Imputer("x", strategy="constant", fill_value=fill_value), pa.table({"x": column}))
            assert made["x"].to_pylist() == [column[0].as_py(), fill_value]
            assert made.schema.field("x").type == column.type


def test_a_constant_that_the_column_cannot_hold_is_refused(subtests):
    for kind, fill_value in [
        (pa.int64(), 0.5),
        (pa.int64(), 1.0),
        (pa.int8(), 128),
        (pa.int64(), True),
        (pa.bool_(), 1),
        (pa.float64(), "0"),
        (pa.float32(), 1e39),
        (pa.string(), 0),
    ]:
        with subtests.test(kind=kind, fill_value=fill_value):
            stage = Imputer("x", strategy="constant", fill_value=fill_value)
            with pytest.raises(ConfigError, match=f"which column 'x' of type {kind} cannot hold"):
                stage.bind(pa.schema({"x": kind}))


def test_indicators_do_not_replace_a_column(learn):
    schema = pa.schema({"x": pa.int64(), "x_missing": pa.int64()})
    with pytest.raises(ConfigError, match="adds the indicator 'x_missing', but there is a column of that name"):
        Imputer("x", add_indicator=True).bind(schema)


def test_wrong_parameters_are_refused(subtests):
    for parameters, message in [
        ({"strategy": "meen"}, r"strategy of Imputer is 'meen', expected one of .* Did you mean 'mean'\?"),
        ({"strategy": "constant"}, r"is 'constant' and fill_value is None; expected a fill_value for 'constant'"),
        ({"fill_value": 3}, r"is 'mean' and fill_value is 3; expected a fill_value for 'constant'"),
        ({"strategy": "constant", "fill_value": math.nan}, r"fill_value of Imputer is nan, expected a finite one"),
        ({"missing_value": math.nan}, r"missing_value of Imputer is nan, expected a finite one"),
    ]:
        with subtests.test(parameters=parameters), pytest.raises(ConfigError, match=message):
            Imputer("x", **parameters)


def test_a_column_of_another_type_is_refused_before_reading(subtests):
    for kind, strategy, message in [
        (pa.string(), "mean", r"column 'x' is string, but Imputer with strategy 'mean' takes numbers"),
        (pa.date32(), "mode", r"is date32\[day\], but Imputer with strategy 'mode' takes numbers and strings"),
    ]:
        with subtests.test(kind=kind, strategy=strategy), pytest.raises(SchemaError, match=message):
            Imputer("x", strategy=strategy).bind(pa.schema({"x": kind}))


VALUES = {
    pa.int64(): ([5, 1, 5, -9, 2, 8, -9, 3, 5, None], -9),
    pa.float32(): ([0.1, 0.5, 0.5, 0.7, 0.1, 2.5, 3.5, 0.25, 0.5, None], 0.1),
    pa.float64(): ([-0.0, 4.0, 2.5, 0.0, 2.5, 8.0, 2.5, 1.0, 0.125, None], 0),
    pa.bool_(): ([True, False, True, False, False, True, False, False, True, None], True),
    pa.string(): (["?", "a", "b", "b", "?", "é", "?", "", "b", None], "?"),
}


@pytest.mark.thorough
def test_a_missing_value_is_as_null_to_the_bit(local, subtests):
    for strategy, kind in itertools.product(["mean", "median", "mode", "constant"], VALUES):
        if kind != pa.string() or strategy in ("mode", "constant"):
            with subtests.test(strategy=strategy, kind=kind):
                values, missing = VALUES[kind]
                column = pa.array(values * 5, kind)
                stored = pa.scalar(missing, kind).as_py()
                nulls = pa.array([None if value == stored else value for value in column.to_pylist()], kind)
                options = {"strategy": strategy, "add_indicator": True, "output_columns": ["y"]}
                if strategy == "constant":
                    options["fill_value"] = values[1]
                models = [
                    ps.Pipeline(Imputer("x", **options, **more)).fit(
                        local.from_arrow(pa.table({"x": x}), fragment_bytes=128)
                    )
                    for x, more in [(column, {"missing_value": missing}), (nulls, {})]
                ]
                assert models[0].fitted == models[1].fitted
                made = [
                    model.transform(local.from_arrow(pa.table({"x": x}))).to_arrow()
                    for model, x in zip(models, (column, nulls), strict=True)
                ]
                assert made[0].drop(["x"]).equals(made[1].drop(["x"]))
                assert made[0]["x"].combine_chunks().equals(column)
                assert [models[0].predict({"x": value}) for value in column[:10].to_pylist()] == made[0].slice(
                    0, 10
                ).drop(["x"]).to_pylist()


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


def test_a_missing_value_that_the_column_cannot_hold_is_refused(subtests):
    for kind, value in [(pa.int8(), 999), (pa.int64(), "?"), (pa.float64(), True), (pa.string(), 1), (pa.bool_(), 1)]:
        with subtests.test(kind=kind, value=value):
            stage = Imputer("x", strategy="mode", missing_value=value)
            with pytest.raises(
                ConfigError, match=r"missing_value of Imputer is .*, which column 'x' of type .* cannot hold"
            ):
                stage.bind(pa.schema({"x": kind}))


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


def test_groups_that_cannot_be_are_refused_before_reading(local, subtests):
    for options, error, message in [
        (
            {"by": "k", "strategy": "constant", "fill_value": 0},
            ConfigError,
            "by of Imputer is .*strategy is 'constant'",
        ),
        ({"by": "k", "missing_value": -1}, ConfigError, "by of Imputer is .*missing_value is -1"),
        ({"by": "x"}, ConfigError, "by 'x' is among the columns"),
        ({"by": "f"}, SchemaError, "column 'f' is double, but Imputer takes strings, integers or booleans to group by"),
        ({"by": "none"}, SchemaError, "none"),
    ]:
        with subtests.test(options=options), pytest.raises(error, match=message):
            ps.Pipeline(Imputer("x", **options)).fit(local.from_arrow(pa.table({"k": [1], "x": [1.0], "f": [1.0]})))


def test_too_many_values_of_groups_are_refused_by_name(local):
    statistic = GroupValueCounts(("k", "x"), limit=2)
    table = pa.table({"k": ["a", "a", "b"], "x": [1.0, 2.0, 3.0]})
    with pytest.raises(DataValueError, match="column 'x' has 3 or more different values of groups by k"):
        statistic.summarise(frames.from_arrow(table))
