"""Tests of independence, of means and of distributions, and mutual information, against scipy and scikit-learn."""

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from sklearn import metrics

from penstock import stat
from penstock.errors import ConfigError, DataValueError, SchemaError

CATEGORIES = ("n", "b", "c")


def counts(one, other):
    values, classes = np.unique(one), np.unique(other)
    return np.array([[np.sum((one == value) & (other == each)) for each in classes] for value in values])


def test_chi_squares_are_scipys(data, drawn):
    found = stat.chi_square_test(data, CATEGORIES, "label")
    for name in CATEGORIES:
        expected = stats.chi2_contingency(counts(drawn[name], drawn["label"]), correction=False)
        assert found[name].statistic == pytest.approx(expected.statistic, rel=1e-12)
        assert found[name].p_value == pytest.approx(expected.pvalue, rel=1e-9)
        assert found[name].degrees_of_freedom == expected.dof


def test_analyses_of_variance_are_scipys(data, drawn):
    found = stat.anova_test(data, ["x", "y.z", "b"], "label")
    for name in ("x", "y.z", "b"):
        groups = [drawn[name][drawn["label"] == each].astype(float) for each in range(3)]
        expected = stats.f_oneway(*groups)
        assert found[name].statistic == pytest.approx(expected.statistic, rel=1e-8)
        assert found[name].p_value == pytest.approx(expected.pvalue, rel=1e-7)
        assert found[name].degrees_of_freedom == (2, 897)


def test_mutual_information_is_scikit_learns(data, drawn):
    found = stat.mutual_information(data, CATEGORIES, "label")
    expected = {name: metrics.mutual_info_score(drawn["label"], drawn[name]) for name in CATEGORIES}
    assert found == pytest.approx(expected, rel=1e-10)


def test_a_null_is_a_category(local):
    data = local.from_arrow(pa.table({"c": ["a", None, "a", None], "label": [0, 1, 0, 1]}))
    assert stat.mutual_information(data, "c", "label")["c"] == pytest.approx(math.log(2))
    assert stat.chi_square_test(data, "c", "label")["c"].statistic == pytest.approx(4.0)


def test_a_column_of_one_value_tells_nothing(local):
    data = local.from_arrow(pa.table({"c": ["a", "a"], "x": [1.0, 1.0], "label": [0, 1]}))
    assert stat.chi_square_test(data, "c", "label")["c"] == stat.ChiSquareResult(0.0, 1.0, 0)
    assert stat.mutual_information(data, "c", "label")["c"] == 0.0
    assert stat.anova_test(data, "x", "label")["x"] == stat.AnovaResult(0.0, 1.0, (1, 0))


TESTS = (stat.chi_square_test, stat.anova_test, stat.mutual_information)


@pytest.mark.parametrize("test", TESTS)
def test_no_rows_and_a_label_without_a_value_are_refused(local, test):
    data = local.from_arrow(pa.schema({"c": pa.int32(), "label": pa.string()}).empty_table())
    with pytest.raises(DataValueError, match="has no rows, expected at least one"):
        test(data, "c", "label")
    data = local.from_arrow(pa.table({"c": [1, 2], "label": ["a", None]}))
    with pytest.raises(DataValueError, match="column 'label' has 1 values that are null") as caught:
        test(data, "c", "label")
    assert caught.value.row == 1


def test_columns_and_labels_of_other_types_are_refused(local):
    data = local.from_arrow(pa.table({"x": [1.5], "c": ["a"], "t": [[1]]}))
    with pytest.raises(SchemaError, match="'x' is double, chi_square_test expects strings, integers or booleans"):
        stat.chi_square_test(data, "x", "c")
    with pytest.raises(SchemaError, match=r"'t' is list<.*>, anova_test expects strings, booleans or whole numbers"):
        stat.anova_test(data, "x", "t")
    with pytest.raises(ConfigError, match="label 'c' is among the columns"):
        stat.mutual_information(data, "c", "c")


def test_one_sample_is_compared_as_by_scipy(data, drawn):
    for cdf, args in [("norm", ()), ("norm", (1.0, 1.3)), ("expon", (-3.0,)), (stats.cauchy.cdf, ())]:
        found = stat.kolmogorov_smirnov_test(data, "x", cdf, *args)
        expected = stats.kstest(drawn["x"], cdf, args=args, method="exact")
        assert found.statistic == pytest.approx(expected.statistic, rel=1e-12)
        assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
        assert (found.statistic_error, found.count) == (0.0, 900)
    found = stat.kolmogorov_smirnov_test(data, "n", "norm", 1.5, 1.0)  # of ties
    assert found.statistic == pytest.approx(stats.kstest(drawn["n"], "norm", args=(1.5, 1.0)).statistic, rel=1e-12)


def test_two_samples_are_compared_as_by_scipy(engine, data, drawn):
    other = np.append(drawn["x"][:300] * 1.1 + 0.2, drawn["x"][:20])
    found = stat.kolmogorov_smirnov_test(data, "x", engine.from_arrow(pa.table({"x": other})))
    expected = stats.ks_2samp(drawn["x"], other, method="asymp")
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-12)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)


def test_the_distance_of_very_many_values_is_within_its_error(local):
    values = np.random.default_rng(2).normal(size=200_000)
    found = stat.kolmogorov_smirnov_test(local.from_arrow(pa.table({"x": values})), "x")
    assert 0 < found.statistic_error < 0.001
    assert found.statistic == pytest.approx(stats.kstest(values, "norm").statistic, abs=found.statistic_error)


def test_nulls_are_left_out(local):
    data = local.from_arrow(pa.table({"x": [0.1, None, 0.4, math.nan, 0.7]}))
    assert stat.kolmogorov_smirnov_test(data, "x", "uniform").count == 3


def test_a_sample_without_values_is_refused(local):
    with pytest.raises(DataValueError, match="column 'x' has no value"):
        stat.kolmogorov_smirnov_test(local.from_arrow(pa.table({"x": pa.array([None], pa.float64())})), "x")


def test_distributions_that_are_not_known_are_refused(local):
    data = local.from_arrow(pa.table({"x": [1.0]}))
    with pytest.raises(ConfigError, match=r"cdf is 'normal', expected a continuous distribution of scipy\.stats"):
        stat.kolmogorov_smirnov_test(data, "x", "normal")
    with pytest.raises(ConfigError, match="cdf is a second sample"):
        stat.kolmogorov_smirnov_test(data, "x", data, 1.0)
