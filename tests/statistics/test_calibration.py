"""Losses and calibration of probabilities against scikit-learn and closed forms."""

import numpy as np
import pyarrow as pa
import pytest
from gathering import demand_refused, gathered, named
from sklearn import calibration

from penstock import frames
from penstock.statistics.evaluation.calibration import Probabilities

COLUMNS = ("probability", "label", "weight")


def found(part, **options):
    return gathered(Probabilities(COLUMNS[: len(part)], **options), named(COLUMNS, part))


def sample(rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    probability = rng.beta(1, 3, rows)
    return probability, (rng.random(rows) < probability**1.5).astype(int), rng.exponential(size=rows)


def test_a_certain_mistake_costs_what_eps_allows_and_the_brier_score_one():
    assert found(([0.0, 1.0], [1, 1])).log_loss == pytest.approx(-np.log(1e-15) / 2, rel=1e-9)
    clipped = found(([1.0], [0]), eps=0.25)
    assert (clipped.log_loss, clipped.brier_score) == (pytest.approx(-np.log(0.25), rel=1e-15), 1)


def test_the_table_is_scikit_learns_calibration_curve():
    probability, label, _ = sample()
    edges = np.linspace(0, 1, 11), np.arange(11) % 2
    for values, classes, bins in [*((probability, label, bins) for bins in (1, 7, 10, 100)), (*edges, 10)]:
        observed, predicted = calibration.calibration_curve(classes, values, n_bins=bins)
        table = found((values, classes), bins=bins).table()
        assert table["observed"].to_pylist() == pytest.approx(observed, rel=1e-12)
        assert table["predicted"].to_pylist() == pytest.approx(predicted, rel=1e-12)


def test_the_table_has_the_filled_bins_with_edges_and_weight():
    table = found(([0.25, 0.3, 1.0], [0, 1, 1], [1.0, 3.0, 2.0]), bins=4).table()
    assert table.to_pydict() == {
        "lower": [0.0, 0.25, 0.75],
        "upper": [0.25, 0.5, 1.0],
        "weight": [1.0, 3.0, 2.0],
        "predicted": pytest.approx([0.25, 0.3, 1.0]),
        "observed": [0.0, 1.0, 1.0],
    }


def test_expected_calibration_error_is_the_weighted_gap_of_the_bins():
    probability, label, weight = sample()
    expected = 0.0
    for low, high in zip(np.linspace(0, 0.9, 10), np.linspace(0.1, 1, 10), strict=True):
        inside = (probability > low) & (probability <= high)
        gap = np.average(probability[inside], weights=weight[inside]) - np.average(
            label[inside], weights=weight[inside]
        )
        expected += weight[inside].sum() / weight.sum() * abs(gap)
    assert found((probability, label, weight)).expected_calibration_error == pytest.approx(expected, rel=1e-9)


@pytest.mark.thorough
def test_long_partitions_lose_no_digits():
    probability = np.full(1_000_000, 0.1)
    given = found((probability, np.zeros(1_000_000)))
    assert given.table()["predicted"].to_pylist() == pytest.approx([0.1], rel=1e-14)


def test_without_weight_everything_is_undefined_and_says_why():
    for part in [([0.1, 0.9], [0, 1], [0.0, 0.0]), (pa.array([], pa.float64()),) * 2]:
        given = found(part)
        assert (given.log_loss, given.brier_score, given.expected_calibration_error) == (None, None, None)
        assert given.reason == "no row has a positive weight"
        assert given.table().num_rows == 0


def test_element_one_of_a_vector_is_the_probability():
    vectors = pa.array([[0.75, 0.25], [0.5, 0.5]], pa.list_(pa.float64()))
    assert found((vectors, [0, 1])).brier_score == (0.25**2 + 0.5**2) / 2


def test_a_vector_out_of_range_is_refused():
    vectors = pa.table({"probability": pa.array([[0.75, 0.25], [0.0, 1.5]], pa.list_(pa.float64())), "label": [0, 1]})
    message = "column 'probability' has 1 values that are not between"
    error = demand_refused(Probabilities(("probability", "label")), message, vectors)
    assert frames.from_arrow(vectors).filter(error.predicate)["probability"].to_list() == [[0.0, 1.5]]
