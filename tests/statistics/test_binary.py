"""Curves and areas against scikit-learn and closed forms."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn import metrics

from penstock import frames
from penstock.errors import ConfigError, DataValueError
from penstock.statistics import BinaryCurve

COLUMNS = ("score", "label", "weight")


def curve(*parts):
    statistic = BinaryCurve(COLUMNS[: len(parts[0])])
    tables = [pa.table(dict(zip(COLUMNS, part, strict=False))) for part in parts]
    return statistic.finish(statistic.merge([statistic.summarise(frames.from_arrow(table)) for table in tables]))


def sample(rows=2000, digits=2, seed=0):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, rows)
    return np.round(rng.normal(size=rows) + label, digits), label, rng.exponential(size=rows)


@pytest.mark.parametrize("digits", [0, 2, 12])
def test_the_area_under_roc_is_scikit_learns(digits):
    score, label, weight = sample(digits=digits)
    expected = metrics.roc_auc_score(label, score, sample_weight=weight)
    assert curve((score, label, weight)).area_under_roc == pytest.approx(expected, rel=1e-12)


def test_the_roc_points_are_scikit_learns():
    score, label, _ = sample(digits=1)
    false, true = curve((score, label)).roc()
    expected = metrics.roc_curve(label, score, drop_intermediate=False)
    assert false[:-1] == pytest.approx(expected[0], rel=1e-12)
    assert true[:-1] == pytest.approx(expected[1], rel=1e-12)
    assert (false[-1], true[-1]) == (1, 1)


def test_the_precision_recall_points_are_scikit_learns():
    score, label, weight = sample(digits=1)
    recall, precision = curve((score, label, weight)).pr()
    expected = metrics.precision_recall_curve(label, score, sample_weight=weight)
    assert precision[1:] == pytest.approx(expected[0][:-1][::-1], rel=1e-12)
    assert recall[1:] == pytest.approx(expected[1][:-1][::-1], rel=1e-12)


def test_the_precision_recall_curve_starts_at_the_first_precision():
    recall, precision = curve(([0.9, 0.9, 0.1], [1, 0, 1])).pr()
    assert (recall.tolist(), precision.tolist()) == ([0, 0.5, 1], [0.5, 0.5, 2 / 3])


def test_the_area_under_pr_is_a_trapezoid():
    # Points (0, 1/2), (1/2, 1/2), (1, 2/3): 1/4 + (1/2 + 2/3) / 4.
    assert curve(([0.9, 0.9, 0.1], [1, 0, 1])).area_under_pr == pytest.approx(0.25 + 7 / 24, rel=1e-15)


@pytest.mark.parametrize("cuts", [[0, 1, 1999], [500], [10, 10, 20, 1500]])
def test_any_partitioning_gives_the_same_areas(cuts):
    data = sample()
    whole = curve(data)
    parts = curve(*zip(*(np.split(column, cuts) for column in data), strict=True))
    assert parts.area_under_roc == pytest.approx(whole.area_under_roc, rel=1e-12)
    assert parts.area_under_pr == pytest.approx(whole.area_under_pr, rel=1e-12)
    assert parts.thresholds.tolist() == whole.thresholds.tolist()


def test_weights_are_repetitions():
    score, label, _ = sample(rows=200)
    weight = np.random.default_rng(1).integers(0, 4, 200)
    repeated = curve((np.repeat(score, weight), np.repeat(label, weight)))
    assert curve((score, label, weight)).area_under_roc == pytest.approx(repeated.area_under_roc, rel=1e-12)


def test_separated_classes_have_area_one():
    found = curve(([0.1, 0.2, 0.8], [0, 0, 1]))
    assert (found.area_under_roc, found.area_under_pr) == (1, 1)


def test_equal_scores_have_area_one_half():
    assert curve(([0.3] * 4, [0, 1, 1, 0])).area_under_roc == 0.5


def test_zero_and_minus_zero_are_one_threshold():
    assert curve(([0.0], [1]), ([-0.0], [0])).thresholds.tolist() == [0]


def test_infinite_scores_are_ordered():
    assert curve(([np.inf, 0.0, -np.inf], [1, 1, 0])).area_under_roc == 1


def test_boolean_labels_and_integer_scores_are_accepted():
    assert curve(([3, 2, 1], [True, False, False])).area_under_roc == 1


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([1, 1], "no row has a negative label"),
        ([0, 0], "no row has a positive label"),
        ([], "a positive or a negative"),
    ],
)
def test_one_class_has_no_area_and_says_why(labels, reason):
    part = (pa.array([0.5, 0.6][: len(labels)], pa.float64()), pa.array(labels, pa.int64()))
    found = curve(part, part)
    assert (found.area_under_roc, found.area_under_pr) == (None, None)
    assert reason in found.reason


def test_a_class_of_no_weight_is_no_class():
    assert "negative" in curve(([0.1, 0.2], [0, 1], [0.0, 1.0])).reason


def test_two_classes_have_no_reason():
    assert curve(([0.1, 0.2], [0, 1])).reason is None


@pytest.mark.parametrize(
    ("part", "message", "bad"),
    [
        (([0.1, None, float("nan")], [0, 1, 1]), "column 'score' has 2 values that are null", 2),
        (([0.1, 0.2], [None, 1]), "column 'label' has 1 values that are null", 1),
        (([0.1, 0.2], [2, -1]), "column 'label' has 2 values that are not binary, expected 0 and 1", 2),
        (([0.1, 0.2], [0, 1], [-1.0, 1.0]), "column 'weight' has 1 values that are negative", 1),
        (([0.1, 0.2], [0, 1], [None, 1.0]), "column 'weight' has 1 values that are null", 1),
        (([0.1, 0.2], [0, 1], [float("inf"), 1.0]), "column 'weight' has 1 values that are infinite", 1),
    ],
)
def test_bad_values_are_refused_with_column_count_and_predicate(part, message, bad):
    good = ([0.5], [1], [1.0])[: len(part)]
    with pytest.raises(DataValueError, match=message) as caught:
        curve(good, part)
    frame = frames.from_arrow(pa.table(dict(zip(COLUMNS, part, strict=False))))
    assert len(frame.filter(caught.value.predicate)) == bad


@pytest.mark.parametrize("columns", [("score",), ("score", "label", "weight", "fold")])
def test_a_wrong_number_of_columns_is_refused(columns):
    with pytest.raises(ConfigError, match="expected \\(score, label\\) or \\(score, label, weight\\)"):
        BinaryCurve(columns)


def test_summaries_of_weights_are_equal_to_the_bit():
    score, label, weight = sample(rows=50_000, digits=1)
    assert len({curve((score, label, weight)).area_under_pr for _ in range(5)}) == 1
