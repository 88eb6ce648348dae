"""Losses and calibration of probabilities against scikit-learn and closed forms."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn import calibration, metrics

from penstock import frames
from penstock.errors import ConfigError, DataValueError
from penstock.statistics.evaluation.calibration import Probabilities

COLUMNS = ("probability", "label", "weight")


def found(*parts, **options):
    statistic = Probabilities(COLUMNS[: len(parts[0])], **options)
    tables = [pa.table(dict(zip(COLUMNS, part, strict=False))) for part in parts]
    return statistic.finish(statistic.merge([statistic.summarise(frames.from_arrow(table)) for table in tables]))


def sample(rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    probability = rng.beta(1, 3, rows)
    return probability, (rng.random(rows) < probability**1.5).astype(int), rng.exponential(size=rows)


@pytest.mark.parametrize("weighted", [False, True])
def test_log_loss_and_brier_score_are_scikit_learns(weighted):
    probability, label, weight = sample()
    given = found((probability, label, weight) if weighted else (probability, label))
    options = {"sample_weight": weight} if weighted else {}
    assert given.log_loss == pytest.approx(metrics.log_loss(label, probability, **options), rel=1e-12)
    assert given.brier_score == pytest.approx(metrics.brier_score_loss(label, probability, **options), rel=1e-12)


def test_a_certain_mistake_costs_what_eps_allows():
    assert found(([0.0, 1.0], [1, 1])).log_loss == pytest.approx(-np.log(1e-15) / 2, rel=1e-9)
    assert found(([1.0], [0]), eps=0.25).log_loss == pytest.approx(-np.log(0.25), rel=1e-15)


def test_clipping_leaves_the_brier_score_alone():
    assert found(([1.0], [0]), eps=0.25).brier_score == 1


@pytest.mark.parametrize("bins", [1, 7, 10, 100])
def test_the_table_is_scikit_learns_calibration_curve(bins):
    probability, label, _ = sample()
    observed, predicted = calibration.calibration_curve(label, probability, n_bins=bins)
    table = found((probability, label), bins=bins).table()
    assert table["observed"].to_pylist() == pytest.approx(observed, rel=1e-12)
    assert table["predicted"].to_pylist() == pytest.approx(predicted, rel=1e-12)


def test_edges_fall_as_those_of_scikit_learn():
    probability = np.linspace(0, 1, 11)
    label = np.arange(11) % 2
    observed, predicted = calibration.calibration_curve(label, probability, n_bins=10)
    table = found((probability, label)).table()
    assert table["predicted"].to_pylist() == pytest.approx(predicted, rel=1e-12)
    assert table["observed"].to_pylist() == pytest.approx(observed, rel=1e-12)


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


@pytest.mark.parametrize("cuts", [[0, 1, 1999], [500], [10, 10, 20, 1500]])
def test_any_partitioning_gives_the_same(cuts):
    data = sample()
    shuffled = [column[np.random.default_rng(5).permutation(2000)] for column in data]
    whole, parts = found(data), found(*zip(*(np.split(column, cuts) for column in shuffled), strict=True))
    for name in ("log_loss", "brier_score", "expected_calibration_error"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-12)


@pytest.mark.thorough
def test_long_partitions_lose_no_digits():
    probability = np.full(1_000_000, 0.1)
    given = found((probability, np.zeros(1_000_000)))
    assert given.table()["predicted"].to_pylist() == pytest.approx([0.1], rel=1e-14)


def test_weights_are_repetitions():
    probability, label, _ = sample(rows=200)
    weight = np.random.default_rng(1).integers(0, 4, 200)
    repeated = found((np.repeat(probability, weight), np.repeat(label, weight)))
    weighted = found((probability, label, weight))
    assert weighted.log_loss == pytest.approx(repeated.log_loss, rel=1e-12)
    assert weighted.expected_calibration_error == pytest.approx(repeated.expected_calibration_error, rel=1e-12)


@pytest.mark.parametrize("part", [([0.1, 0.9], [0, 1], [0.0, 0.0]), (pa.array([], pa.float64()),) * 2])
def test_without_weight_everything_is_undefined_and_says_why(part):
    given = found(part)
    assert (given.log_loss, given.brier_score, given.expected_calibration_error) == (None, None, None)
    assert given.reason == "no row has a positive weight"
    assert given.table().num_rows == 0


def test_one_row_is_enough():
    given = found(([0.5], [True]))
    assert (given.brier_score, given.expected_calibration_error, given.reason) == (0.25, 0.5, None)


def test_element_one_of_a_vector_is_the_probability():
    vectors = pa.array([[0.75, 0.25], [0.5, 0.5]], pa.list_(pa.float64()))
    assert found((vectors, [0, 1])).brier_score == (0.25**2 + 0.5**2) / 2


@pytest.mark.parametrize(
    ("part", "message", "bad"),
    [
        (([0.1, None, float("nan")], [0, 1, 1]), "column 'probability' has 2 values that are null", 2),
        (
            ([-0.1, 1.5, float("inf")], [0, 1, 1]),
            "column 'probability' has 3 values that are not between, .* 0 and 1",
            3,
        ),
        (([0.1, 0.2], [None, 1]), "column 'label' has 1 values that are null", 1),
        (([0.1, 0.2], [2, -1]), "column 'label' has 2 values that are not binary", 2),
        (([0.1, 0.2], [0, 1], [-1.0, 1.0]), "column 'weight' has 1 values that are negative", 1),
        (([0.1, 0.2], [0, 1], [None, 1.0]), "column 'weight' has 1 values that are null", 1),
        (([0.1, 0.2], [0, 1], [1e308, 1.0]), "column 'weight' has 1 values that are too large", 1),
    ],
)
def test_bad_values_are_refused_with_column_count_and_predicate(part, message, bad):
    good = ([0.5], [1], [1.0])[: len(part)]
    with pytest.raises(DataValueError, match=message) as caught:
        found(good, part)
    frame = frames.from_arrow(pa.table(dict(zip(COLUMNS, part, strict=False))))
    assert len(frame.filter(caught.value.predicate)) == bad


def test_a_vector_out_of_range_is_refused():
    vectors = pa.array([[0.75, 0.25], [0.0, 1.5]], pa.list_(pa.float64()))
    with pytest.raises(DataValueError, match="column 'probability' has 1 values that are not between") as caught:
        found((vectors, [0, 1]))
    frame = frames.from_arrow(pa.table({"probability": vectors}))
    assert frame.filter(caught.value.predicate)["probability"].to_list() == [[0.0, 1.5]]


@pytest.mark.parametrize("options", [{"bins": 0}, {"bins": 501}, {"eps": 0.0}, {"eps": 0.5}, {"columns": ("a",)}])
def test_options_out_of_range_are_refused(options):
    with pytest.raises(ConfigError, match="expected"):
        Probabilities(**{"columns": COLUMNS, **options})
