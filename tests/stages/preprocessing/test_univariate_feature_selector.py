"""UnivariateFeatureSelector against SciPy and scikit-learn."""

import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats
import sklearn.feature_selection as sk

import penstock as ps
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.selectors import numeric
from penstock.stages import LinearRegression, UnivariateFeatureSelector

RNG = np.random.default_rng(11)
ROWS, WIDTH = 300, 8
NAMES = [f"x{place}" for place in range(WIDTH)]
CLASSES = RNG.integers(0, 3, ROWS)
X = 100 + RNG.normal(size=(ROWS, WIDTH)) + CLASSES[:, None] * np.linspace(0, 0.7, WIDTH)
Y = X @ np.linspace(0, 1, WIDTH) + RNG.normal(size=ROWS)
CODES = (X - 100).round().clip(-1, 2) + 1
TESTS = {
    "chi-squared": ("categorical", "categorical", CODES.astype(np.int64), CLASSES),
    "variance": ("continuous", "categorical", X, CLASSES),
    "regression": ("continuous", "continuous", X, Y),
}


def table(x: np.ndarray, label: Any) -> pa.Table:
    return pa.table({**dict(zip(NAMES, x.T, strict=False)), "label": label})


def selector(test: str, **options: Any) -> UnivariateFeatureSelector:
    feature_type, label_type, *_ = TESTS[test]
    return UnivariateFeatureSelector(NAMES, feature_type=feature_type, label_type=label_type, **options)


def in_parts(learn, test: str, **options: Any) -> tuple[Any, Any]:
    *_, x, label = TESTS[test]
    whole = table(x, label)
    return learn(selector(test, **options), whole.slice(0, 0), whole.slice(0, 40), whole.slice(40))


def chi2_contingency(x: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found = [
        scipy.stats.chi2_contingency(scipy.stats.contingency.crosstab(column, label).count, correction=False)
        for column in x.T
    ]
    return np.array([each.statistic for each in found]), np.array([each.pvalue for each in found])


ORACLES = {"chi-squared": chi2_contingency, "variance": sk.f_classif, "regression": sk.f_regression}
MODES = {
    "percentile": lambda p, share: np.argsort(p, kind="stable")[: int(share * len(p))],
    "fpr": lambda p, alpha: np.nonzero(p < alpha)[0],
    "fdr": lambda p, alpha: np.nonzero(scipy.stats.false_discovery_control(p) <= alpha)[0],
    "fwe": lambda p, alpha: np.nonzero(p < alpha / len(p))[0],
    "num_top_features": lambda p, k: np.argsort(p, kind="stable")[:k],
}


def test_scores_and_p_values_are_those_of_scipy_and_scikit_learn(learn, subtests):
    for test in TESTS:
        with subtests.test(test=test):
            *_, x, label = TESTS[test]
            scores, p_values = ORACLES[test](x, label)
            _, fitted = in_parts(learn, test)
            # scikit-learn forms sums of squares of numbers near 100, which costs digits.
            np.testing.assert_allclose(list(fitted["scores"].values()), scores, rtol=1e-9)
            np.testing.assert_allclose(list(fitted["p_values"].values()), p_values, rtol=1e-7, atol=1e-300)
            assert fitted["selected"] == NAMES  # of 8 columns, 50 are chosen


@pytest.mark.thorough
def test_each_mode_chooses_as_defined(learn, subtests):
    for mode, threshold in [("percentile", 0.3), ("fpr", 0.1), ("fdr", 0.1), ("fwe", 0.1), ("num_top_features", 3)]:
        for test in TESTS:
            with subtests.test(mode=mode, threshold=threshold, test=test):
                *_, x, label = TESTS[test]
                expected = sorted(MODES[mode](ORACLES[test](x, label)[1], threshold))
                bound, fitted = in_parts(learn, test, selection_mode=mode, selection_threshold=threshold)
                assert fitted["selected"] == [NAMES[place] for place in expected]
                assert 0 < len(expected) < WIDTH
                assert bound.learned_schema(table(x, label).schema, fitted).names == [*fitted["selected"], "label"]


def test_thresholds_are_those_of_mllib_unless_given(subtests):
    for mode, threshold in [("num_top_features", 50), ("percentile", 0.1), ("fdr", 0.05)]:
        with subtests.test(mode=mode, threshold=threshold):
            assert selector("variance", selection_mode=mode).threshold == threshold


def test_p_values_too_small_for_a_float_are_ordered_by_their_scores(learn):
    label = np.arange(2000) % 2
    x = np.random.default_rng(0).normal(size=(2000, 3)) * 1e-3 + label[:, None] * [1.0, 3.0, 2.0]
    stage = UnivariateFeatureSelector(
        ["x0", "x1", "x2"], feature_type="continuous", label_type="categorical", selection_threshold=1
    )
    _, fitted = learn(stage, table(x, label))
    assert set(fitted["p_values"].values()) == {0.0}
    assert fitted["selected"] == ["x1"]


def test_a_constant_feature_scores_0_and_one_that_explains_all_the_most(learn, subtests):
    given = pa.table({"all": [2.0, 2.0, 4.0, 4.0], "flat": [0.1] * 4, "label": [0, 0, 1, 1]})
    for label_type in ["categorical", "continuous"]:
        with subtests.test(label_type=label_type):
            _, fitted = learn(
                UnivariateFeatureSelector(["all", "flat"], feature_type="continuous", label_type=label_type), given
            )
            assert fitted["scores"] == {"all": sys.float_info.max, "flat": 0.0}
            assert fitted["p_values"] == {"all": 0.0, "flat": 1.0}


def test_categories_may_be_of_any_type_and_null_is_one_of_them(learn):
    given = pa.table({"s": ["a", None, "b", None, "a"], "i": [1, 1, None, 2, 2], "b": [True, False, None, None, True],
                      "label": ["u", "v", "u", "v", "v"]})  # fmt: skip
    stage = UnivariateFeatureSelector(["s", "i", "b"], feature_type="categorical", label_type="categorical")
    _, fitted = learn(stage, given.slice(0, 2), given.slice(2))
    texts = np.array([[str(value) for value in given[name].to_pylist()] for name in ("s", "i", "b")]).T
    scores, p_values = chi2_contingency(texts, np.array(given["label"]))
    np.testing.assert_allclose(list(fitted["scores"].values()), scores, rtol=1e-14)
    np.testing.assert_allclose(list(fitted["p_values"].values()), p_values, rtol=1e-13)


def test_too_few_rows_for_a_test_tell_nothing(learn):
    pair = pa.table({"x": [1.0, 2.0], "label": [0, 1]})
    for label_type in ("categorical", "continuous"):
        _, fitted = learn(UnivariateFeatureSelector("x", feature_type="continuous", label_type=label_type), pair)
        assert fitted == {"scores": {"x": 0.0}, "p_values": {"x": 1.0}, "selected": ["x"]}


def test_a_feature_that_is_named_later_is_told_with_its_p_value(local):
    stages = [selector("regression", selection_threshold=1), LinearRegression("label", features=["x0"])]
    told = r"'x0', which LinearRegression names, was left out by UnivariateFeatureSelector: its p-value, \d"
    with pytest.raises(SchemaError, match=told):
        ps.Pipeline(*stages).fit(local.from_arrow(table(X, Y)))


def test_values_that_cannot_be_tested_are_refused_with_their_column(local, subtests):
    for change, told in [
        ({"label": [0, 0, 0]}, "label 'label' has 1 class"),
        ({"label": [0.0, 0.5, 1.0]}, "'label' has 1 values that are not whole"),
        ({"x": [1.0, None, 3.0]}, "'x' has 1 values that are null"),
        ({"x": [1.0, np.inf, 3.0]}, "'x' has 1 values that are infinite"),
    ]:
        with subtests.test(change=change):
            given = pa.table({"x": [1.0, 2.0, 3.0], "label": [0, 1, 1], **change})
            stage = UnivariateFeatureSelector("x", feature_type="continuous", label_type="categorical")
            with pytest.raises(DataValueError, match=told) as caught:
                ps.Pipeline(stage).fit(local.from_arrow(given))
            assert caught.value.column == next(iter(change))


def test_too_many_categories_are_refused(learn):
    given = pa.table({"x": np.arange(10_001), "label": np.arange(10_001) % 2})
    stage = UnivariateFeatureSelector("x", feature_type="categorical", label_type="categorical")
    with pytest.raises(DataValueError, match="'x' has 10001 or more distinct values, expected at most 10000"):
        learn(stage, given.slice(0, 9_000), given.slice(9_000))


def test_parameters_that_make_no_sense_are_refused(subtests):
    for options, told in [
        ({"feature_type": "categorical", "label_type": "continuous"}, "no test of categorical features"),
        ({"selection_mode": "numTopFeatures"}, "Did you mean 'num_top_features'"),
        ({"selection_threshold": 0.5}, "selection_threshold of .* is 0.5, expected an integer >= 1"),
        ({"selection_mode": "fpr", "selection_threshold": 5}, "is 5, expected a number >= 0 and <= 1"),
    ]:
        with subtests.test(options=options), pytest.raises(ConfigError, match=told):
            UnivariateFeatureSelector("x", **{"feature_type": "continuous", "label_type": "categorical", **options})


def test_types_that_a_test_does_not_take_are_refused_before_reading(subtests):
    for feature_type, label_type, kind, label in [
        ("categorical", "categorical", pa.float64(), pa.int64()),
        ("continuous", "categorical", pa.string(), pa.int64()),
        ("continuous", "continuous", pa.float64(), pa.string()),
        ("continuous", "categorical", pa.float64(), pa.date32()),
    ]:
        with subtests.test(feature_type=feature_type, label_type=label_type, kind=kind, label=label):
            stage = UnivariateFeatureSelector("x", feature_type=feature_type, label_type=label_type)
            with pytest.raises(SchemaError, match=f"does not take for {feature_type}|does not take for {label_type}"):
                stage.bind(pa.schema({"x": kind, "label": label}))


def test_a_label_among_the_columns_is_refused():
    stage = UnivariateFeatureSelector(numeric(), feature_type="continuous", label_type="categorical")
    with pytest.raises(ConfigError, match="label 'label' is among the columns"):
        stage.bind(pa.schema({"x": pa.float64(), "label": pa.int64()}))
