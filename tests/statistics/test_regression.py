"""Regression errors against scikit-learn, NumPy and closed forms."""

import numpy as np
import pyarrow as pa
import pytest
from gathering import gathered, named
from sklearn import metrics

from penstock.errors import ConfigError, DataValueError
from penstock.statistics import RegressionErrors

COLUMNS = ("prediction", "label", "weight")


def errors(*parts):
    return gathered(RegressionErrors(COLUMNS[: len(parts[0])]), *(named(COLUMNS, part) for part in parts))


def sample(rows=1000, offset=0.0, seed=0):
    rng = np.random.default_rng(seed)
    label = offset + rng.normal(size=rows)
    return label + rng.normal(size=rows), label, rng.exponential(size=rows)


def test_metrics_are_scikit_learns():
    for offset in (0.0, 1e8):
        prediction, label, weight = sample(offset=offset)
        found = errors((prediction, label))
        assert found.rmse == pytest.approx(metrics.root_mean_squared_error(label, prediction), rel=1e-12)
        assert found.r2() == pytest.approx(metrics.r2_score(label, prediction), rel=1e-12)
        for given, options in [((), {}), ((weight,), {"sample_weight": weight})]:
            found = errors((prediction, label, *given))
            assert found.mse == pytest.approx(metrics.mean_squared_error(label, prediction, **options), rel=1e-12)
            assert found.mae == pytest.approx(metrics.mean_absolute_error(label, prediction, **options), rel=1e-12)
            assert found.count == 1000


def test_var_is_the_explained_sum_of_squares_even_far_from_zero():
    prediction, label, weight = sample(offset=1e8)
    mean = np.average(label - 1e8, weights=weight)
    expected = np.average(((prediction - 1e8) - mean) ** 2, weights=weight)
    assert errors((prediction, label, weight)).var == pytest.approx(expected, rel=1e-12)


def test_r2_through_the_origin_compares_with_zero():
    found = errors(([1.0, 2.0], [2.0, 2.0]))
    assert found.r2(through_origin=True) == 1 - 1 / 8


def test_weighted_r2_is_mllibs():
    # Weights 1, 1, 2: mean 9/4, m2 = 11/4; unbiased variance m2 / (4 - 6/4); total = variance * 3; squared error 1.
    found = errors(([1.0, 1.0, 3.0], [1.0, 2.0, 3.0], [1.0, 1.0, 2.0]))
    assert found.r2() == pytest.approx(1 - 1 / (2.75 / 2.5 * 3), rel=1e-15)
    assert found.r2(through_origin=True) == pytest.approx(1 - 1 / 23, rel=1e-15)
    light = errors(([1.0, 1.0, 3.0], [1.0, 2.0, 3.0], [0.125, 0.125, 0.25]))  # an eighth each; total = variance * -1/2
    assert light.r2() == pytest.approx(1 + 0.125 / (2.75 / 2.5 / 2), rel=1e-15)


def test_rows_of_no_weight_change_nothing():
    with_them = errors(([1.0, 2.0, 9.0], [1.0, 3.0, 0.0], [1.0, 2.0, 0.0]))
    without = errors(([1.0, 2.0], [1.0, 3.0], [1.0, 2.0]))
    assert (with_them.mse, with_them.var, with_them.r2()) == (without.mse, without.var, without.r2())


def test_constant_labels_have_no_r2_and_say_why():
    found = errors(([1.0, 2.0], [3.0, 3.0]))
    assert found.r2() is None
    assert found.reason() == "the labels do not vary, or the weights sum to 1"
    assert (found.mse, found.r2(through_origin=True), found.reason(through_origin=True)) == (2.5, 1 - 5 / 18, None)


def test_one_row_has_no_r2():
    found = errors(([1.0], [3.0]))
    assert (found.r2(), found.mae, found.var) == (None, 2.0, 4.0)


def test_labels_of_zero_have_no_r2_through_the_origin():
    found = errors(([1.0, 2.0], [0.0, 0.0]))
    assert (found.r2(through_origin=True), found.reason(through_origin=True)) == (None, "every label is 0")


def test_without_weight_nothing_is_defined():
    for rows in (0, 2):
        found = errors((np.ones(rows), np.ones(rows), np.zeros(rows)))
        assert [found.mse, found.rmse, found.mae, found.var, found.r2(), found.r2(True)] == [None] * 6
        assert (found.mape, found.pinball(0.5), found.max_error) == (None, None, None)
        reasons = {found.reason(), found.reason(through_origin=True), found.mape_reason}
        assert reasons == {"no row has a positive weight"}


def test_large_integers_do_not_overflow():
    top = 2**62
    found = errors((pa.array([-top, top]), pa.array([top, -top])))
    assert (found.mae, found.mse) == (2.0**63, 2.0**126)


def test_squares_that_overflow_are_refused():
    for column, part in [("prediction", ([1e200], [0.0])), ("label", ([0.0], [1e200]))]:
        with pytest.raises(DataValueError, match=f"column '{column}' has values so large"):
            errors(([1.0], [1.0]), part, part)


def test_labels_of_zero_have_no_relative_error_and_are_counted():
    found = errors(([1.0, 1.0], [0.0, 2.0], [1.0, 1.0]), ([1.0, 1.0], [-0.0, 0.0], [2.0, 0.0]))
    assert found.mape is None
    assert found.mape_reason == "2 rows have a label of 0, relative to which there is no error"


def test_a_label_of_zero_without_weight_does_not_matter():
    assert errors(([1.0, 1.0], [0.0, 2.0], [0.0, 1.0])).mape == 0.5


def test_relative_errors_that_overflow_are_undefined():
    found = errors(([1.0, 1.0], [1e-320, 1.0]))
    assert (found.mape, found.mape_reason) == (None, "labels are so near to 0 that relative errors overflow")
    assert found.mae == 0.5


def test_the_largest_error_is_that_of_rows_with_weight():
    assert errors(([1.0, 1.0], [9.0, 2.0], [0.0, 1.0])).max_error == 1.0


def test_a_quantile_that_is_no_fraction_is_refused():
    with pytest.raises(ConfigError, match="quantile is 95, expected a fraction"):
        errors(([1.0], [1.0])).pinball(95)
