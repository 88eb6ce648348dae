"""Residuals in cells against NumPy's quantiles, scikit-learn, and sums over the rows themselves."""

import numpy as np
import pytest
from gathering import gathered, named

from penstock.errors import ConfigError
from penstock.statistics.evaluation.histogram import Residuals

COLUMNS = ("prediction", "label", "weight")


def residuals(part, **options):
    return gathered(Residuals(COLUMNS[: len(part)], **options), named(COLUMNS, part))


def sample(rows=5001, seed=3):
    rng = np.random.default_rng(seed)
    prediction = rng.normal(size=rows)
    return prediction, prediction + rng.standard_t(2, rows) * (1 + prediction**2), rng.integers(0, 4, rows) / 2


@pytest.mark.parametrize("most", [50, 10_000])
def test_quantiles_are_within_a_cell_of_numpys(most):
    prediction, label, weight = sample()
    found = residuals((prediction, label, weight), most=most)
    residual, kept = label - prediction, weight > 0
    assert len(found.fine.lower) <= most
    for q in (0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0):
        exact = np.quantile(residual[kept], q, method="inverted_cdf", weights=weight[kept])
        assert abs(found.quantile(q) - exact) < found.width


def test_the_bound_is_small_beside_the_spread():
    prediction, label, _ = sample()
    width = residuals((prediction, label)).width
    low, high = np.quantile(label - prediction, [0.25, 0.75])
    assert 0 < width < (high - low) / 200


def test_few_distinct_residuals_give_quantiles_themselves():
    label = np.array([0.1, 0.1, 0.3, 0.7])
    found = residuals((np.zeros(4), label))
    assert [found.quantile(q) for q in (0.25, 0.5, 0.75, 1.0)] == pytest.approx([0.1, 0.1, 0.3, 0.7], rel=1e-15)


def test_a_histogram_is_counts_between_its_edges():
    prediction, label, _ = sample()
    table = residuals((prediction, label)).histogram()
    assert table.num_rows <= 60
    for low, high, weight in zip(*(table[name].to_pylist() for name in table.column_names), strict=True):
        residual = label - prediction
        assert weight == np.count_nonzero((residual >= low) & (residual < high))
    assert sum(table["weight"].to_pylist()) == len(label)


def test_ranges_of_the_prediction_have_its_residuals():
    prediction, label, weight = sample()
    table = residuals((prediction, label, weight)).ranges()
    assert 50 < table.num_rows <= 100
    for row in table.to_pylist():
        held = (prediction >= row["lower"]) & (prediction < row["upper"]) & (weight > 0)
        residual = (label - prediction)[held]
        mean = np.average(residual, weights=weight[held])
        assert row["weight"] == pytest.approx(weight[held].sum(), rel=1e-12)
        assert row["mean"] == pytest.approx(mean, rel=1e-12)
        variance = np.average((residual - mean) ** 2, weights=weight[held])
        # Of a few rows of nearly one residual the sums of squares cancel.
        assert row["std"] == pytest.approx(np.sqrt(variance), rel=1e-9, abs=1e-7 * abs(mean))


def test_rows_of_no_weight_change_nothing():
    found = residuals(([0.0, 1.0, 5.0], [1.0, 3.0, 1e9], [1.0, 1.0, 0.0]))
    assert (found.quantile(1.0), found.ranges().num_rows) == (2.0, 2)


def test_without_weight_nothing_is_defined():
    for rows in (0, 2):
        found = residuals((np.ones(rows), np.ones(rows), np.zeros(rows)))
        assert (found.quantile(0.5), found.median_absolute) == (None, None)
        assert found.reason == "no row has a positive weight"
        assert (found.histogram().num_rows, found.ranges().num_rows) == (0, 0)


def test_integers_and_booleans_are_numbers():
    found = residuals(([1, 2, 3], [True, False, True]))
    assert found.quantile(0.0) == -2.0


def test_a_quantile_that_is_no_fraction_is_refused():
    with pytest.raises(ConfigError, match="q is 50, expected a fraction"):
        residuals(([1.0], [1.0])).quantile(50)
