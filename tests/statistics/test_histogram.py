"""Residuals in cells against NumPy's quantiles, scikit-learn, and sums over the rows themselves."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn import metrics

from penstock import frames
from penstock.errors import ConfigError, DataValueError
from penstock.statistics.evaluation.histogram import Residuals

COLUMNS = ("prediction", "label", "weight")
INFINITY = float("inf")


def gathered(*parts, **options):
    statistic = Residuals(COLUMNS[: len(parts[0])], **options)
    tables = [pa.table(dict(zip(COLUMNS, part, strict=False))) for part in parts]
    return statistic.finish(statistic.merge([statistic.summarise(frames.from_arrow(table)) for table in tables]))


def sample(rows=5001, seed=3):
    rng = np.random.default_rng(seed)
    prediction = rng.normal(size=rows)
    return prediction, prediction + rng.standard_t(2, rows) * (1 + prediction**2), rng.integers(0, 4, rows) / 2


@pytest.mark.parametrize("most", [50, 10_000])
@pytest.mark.parametrize("q", [0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0])
def test_quantiles_are_within_a_cell_of_numpys(q, most):
    prediction, label, weight = sample()
    found = gathered((prediction, label, weight), most=most)
    residual, kept = label - prediction, weight > 0
    exact = np.quantile(residual[kept], q, method="inverted_cdf", weights=weight[kept])
    assert abs(found.quantile(q) - exact) < found.width
    assert len(found.fine.lower) <= most


def test_the_bound_is_small_beside_the_spread():
    prediction, label, _ = sample()
    width = gathered((prediction, label)).width
    low, high = np.quantile(label - prediction, [0.25, 0.75])
    assert 0 < width < (high - low) / 200


def test_few_distinct_residuals_give_quantiles_themselves():
    label = np.array([0.1, 0.1, 0.3, 0.7])
    found = gathered((np.zeros(4), label))
    assert [found.quantile(q) for q in (0.25, 0.5, 0.75, 1.0)] == pytest.approx([0.1, 0.1, 0.3, 0.7], rel=1e-15)


@pytest.mark.parametrize("most", [50, 10_000])
def test_the_median_of_distances_is_within_a_cell_of_scikit_learns(most):
    prediction, label, _ = sample()  # an odd number of rows: one is in the middle
    found = gathered((prediction, label), most=most)
    assert abs(found.median_absolute - metrics.median_absolute_error(label, prediction)) < found.width


def test_the_weighted_median_of_distances_is_within_a_cell_of_numpys():
    prediction, label, weight = sample()
    found = gathered((prediction, label, weight), most=100)
    exact = np.quantile(np.abs(label - prediction), 0.5, method="inverted_cdf", weights=weight)
    assert abs(found.median_absolute - exact) < found.width


def test_a_histogram_is_counts_between_its_edges():
    prediction, label, _ = sample()
    table = gathered((prediction, label)).histogram()
    assert table.num_rows <= 60
    for low, high, weight in zip(*(table[name].to_pylist() for name in table.column_names), strict=True):
        residual = label - prediction
        assert weight == np.count_nonzero((residual >= low) & (residual < high))
    assert sum(table["weight"].to_pylist()) == len(label)


def test_ranges_of_the_prediction_have_its_residuals():
    prediction, label, weight = sample()
    table = gathered((prediction, label, weight)).ranges()
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


@pytest.mark.parametrize("cuts", [[0, 5000], [1, 2, 500], [300, 300]])
def test_any_partitioning_gives_the_same(cuts):
    data = sample()
    order = np.random.default_rng(8).permutation(len(data[0]))
    parts = zip(*(np.split(column[order], cuts) for column in data), strict=True)
    whole, parts = gathered(data), gathered(*parts)
    assert parts.width == whole.width
    assert parts.median_absolute == pytest.approx(whole.median_absolute, rel=1e-12)
    assert parts.quantile(0.9) == pytest.approx(whole.quantile(0.9), rel=1e-12)
    assert parts.histogram()["lower"].equals(whole.histogram()["lower"])
    for name in ("lower", "upper", "weight", "mean"):
        assert parts.ranges()[name].to_numpy() == pytest.approx(whole.ranges()[name].to_numpy(), rel=1e-12)


def test_rows_of_no_weight_change_nothing():
    found = gathered(([0.0, 1.0, 5.0], [1.0, 3.0, 1e9], [1.0, 1.0, 0.0]))
    assert (found.quantile(1.0), found.ranges().num_rows) == (2.0, 2)


@pytest.mark.parametrize("rows", [0, 2])
def test_without_weight_nothing_is_defined(rows):
    found = gathered((np.ones(rows), np.ones(rows), np.zeros(rows)))
    assert (found.quantile(0.5), found.median_absolute) == (None, None)
    assert found.reason == "no row has a positive weight"
    assert (found.histogram().num_rows, found.ranges().num_rows) == (0, 0)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (([None, 1.0], [1.0, 1.0]), "column 'prediction' has 1 values that are null"),
        (([INFINITY, -INFINITY], [1.0, 1.0]), "column 'prediction' has 2 values that are infinite"),
        (([1.0, 1.0], [float("nan"), 1.0]), "column 'label' has 1 values that are null"),
        (([1.0, 1.0], [1e200, 1.0]), "column 'label' has 1 values that are too large, expected numbers of"),
        (([1.0, 1.0], [1.0, 1.0], [-1.0, 1.0]), "column 'weight' has 1 values that are negative"),
        (([1.0, 1.0], [1.0, 1.0], [INFINITY, 1.0]), "column 'weight' has 1 values that are too large"),
    ],
)
def test_bad_values_are_refused_with_column_count_and_predicate(part, message):
    with pytest.raises(DataValueError, match=message) as caught:
        gathered(([1.0], [1.0], [1.0])[: len(part)], part)
    frame = frames.from_arrow(pa.table(dict(zip(COLUMNS, part, strict=False))))
    assert f"has {len(frame.filter(caught.value.predicate))} values" in str(caught.value)


def test_integers_and_booleans_are_numbers():
    found = gathered(([1, 2, 3], [True, False, True]))
    assert found.quantile(0.0) == -2.0


@pytest.mark.parametrize("columns", [("prediction",), ("a", "b", "c", "d")])
def test_a_wrong_number_of_columns_is_refused(columns):
    with pytest.raises(ConfigError, match="expected \\(prediction, label\\)"):
        Residuals(columns)


def test_one_cell_is_refused():
    with pytest.raises(ConfigError, match="most is 1, expected at least 2"):
        Residuals(COLUMNS, most=1)


def test_a_quantile_that_is_no_fraction_is_refused():
    with pytest.raises(ConfigError, match="q is 50, expected a fraction"):
        gathered(([1.0], [1.0])).quantile(50)
