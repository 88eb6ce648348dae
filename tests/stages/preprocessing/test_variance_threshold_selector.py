"""VarianceThresholdSelector against scikit-learn and closed forms."""

import numpy as np
import pyarrow as pa
import pytest
import sklearn.feature_selection

import penstock as ps
from penstock.errors import ConfigError, SchemaDriftError, SchemaError
from penstock.selectors import numeric
from penstock.stages import Imputer, StandardScaler, StringIndexer, VarianceThresholdSelector

RNG = np.random.default_rng(5)
NAMES = [f"x{place}" for place in range(6)]
X = 1e6 + RNG.normal(size=(200, 6)) * [0.0, 0.5, 0.9, 1.1, 2.0, 4.0]
TABLE = pa.table(dict(zip(NAMES, X.T, strict=True)))
SMALL = pa.table({"x": [1.0, 3.0, 8.0], "flat": [0.1, 0.1, 0.1], "s": ["a", "b", "b"]})


def test_the_columns_that_stay_are_those_of_scikit_learn(learn, subtests):
    rows = len(X)
    for threshold in [0.0, 0.25, 1.0, 10.0]:
        with subtests.test(threshold=threshold):
            bound, fitted = learn(VarianceThresholdSelector(NAMES, threshold), TABLE.slice(0, 30), TABLE.slice(30))
            oracle = sklearn.feature_selection.VarianceThreshold(threshold * (rows - 1) / rows).fit(X)
            expected = [name for name, stays in zip(NAMES, oracle.get_support(), strict=True) if stays]
            assert bound.learned_schema(TABLE.schema, fitted).names == expected
            # At 0 scikit-learn takes the range for the variance where that is smaller; it is not, here.
            np.testing.assert_allclose(
                list(fitted["variances"].values()), oracle.variances_ * rows / (rows - 1), rtol=1e-9
            )


def test_a_constant_column_has_variance_zero_whatever_rounding_does(learn):
    _, fitted = learn(VarianceThresholdSelector("x"), pa.table({"x": [0.1] * 7}), pa.table({"x": [0.1] * 3}))
    assert fitted == {"variances": {"x": 0.0}}


def test_nulls_take_no_part_and_a_column_without_two_values_is_left_out(learn):
    table = pa.table({"x": [1.0, None, 3.0], "one": [None, 5.0, None], "none": pa.nulls(3, pa.float64())})
    bound, fitted = learn(VarianceThresholdSelector(), table)
    assert fitted == {"variances": {"x": 2.0, "one": None, "none": None}}
    assert bound.left_out(fitted) == {"one": "it has no two values", "none": "it has no two values"}


def test_without_columns_all_numeric_ones_are_looked_at():
    schema = pa.schema({"i": pa.int8(), "s": pa.string(), "f": pa.float32(), "b": pa.bool_()})
    assert VarianceThresholdSelector().bind(schema).doubtful() == ("i", "f", "b")


def test_a_model_scores_data_without_the_columns_left_out(local, tmp_path):
    stages = [VarianceThresholdSelector(), Imputer(numeric()), StandardScaler(numeric()), StringIndexer("s")]
    model = ps.Pipeline(*stages).fit(local.from_arrow(SMALL))
    model.save(tmp_path / "model")
    lean = SMALL.drop_columns(["flat"])
    for each in (model, ps.PipelineModel.load(tmp_path / "model")):
        assert each.input_columns == ["x", "s"]
        whole = each.transform(local.from_arrow(SMALL)).to_arrow()
        assert whole.schema.names == ["x", "s"]
        assert each.transform(local.from_arrow(lean)).to_arrow().equals(whole)
        rows = lean.to_pylist()
        assert each.predict(rows, columns=["x", "s"]) == whole.to_pylist()
        assert [each.predict(row, columns=["x", "s"]) for row in rows] == whole.to_pylist()
    with pytest.raises(SchemaDriftError, match=r"lacks 1 column\(s\).*: x\."):
        model.transform(local.from_arrow(SMALL.drop_columns(["x"])))


def test_a_model_that_ends_with_a_selector_predicts_what_it_leaves(local):
    model = ps.Pipeline(StandardScaler(["x", "flat"]), VarianceThresholdSelector(["x", "flat"])).fit(
        local.from_arrow(SMALL)
    )
    assert model.predict({"x": 4.0, "flat": 9.0}) == {"x": 0.0}
    assert model.predict([{"x": 4.0, "flat": 9.0}] * 20) == [{"x": 0.0}] * 20
    with pytest.raises(SchemaError, match="the model gives no column 'flat'"):
        model.predict({"x": 4.0, "flat": 9.0}, columns="flat")


def test_a_threshold_that_is_no_amount_is_refused(subtests):
    for threshold in [-0.1, "0", float("nan")]:
        told = "variance_threshold of VarianceThresholdSelector is"
        with subtests.test(threshold=threshold), pytest.raises(ConfigError, match=told):
            VarianceThresholdSelector("x", threshold)
