"""Confusion matrices against scikit-learn, closed forms and counting by hand, in whatever parts the rows come."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from gathering import gathered, named
from sklearn import metrics as sk

from penstock.errors import DataValueError, SchemaError
from penstock.statistics.evaluation.confusion import Confusion

COLUMNS = ("prediction", "label", "weight")


def matrix(*parts, limit=10_000):
    return gathered(Confusion(COLUMNS[: len(parts[0])], limit), *(named(COLUMNS, part) for part in parts))


def sample(classes=4, rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, classes, rows)
    prediction = np.where(rng.random(rows) < 0.6, label, rng.integers(0, classes, rows))
    return prediction, label, rng.exponential(size=rows)


def names(codes):
    return np.array(["ash", "birch", "elm", "oak", "yew"])[codes]


def test_the_cells_are_the_pairs_that_occur():
    prediction, label, _ = sample(rows=50)
    cells = matrix((prediction, label)).cells(100)
    counted = Counter(zip(label.tolist(), prediction.tolist(), strict=True))
    assert list(zip(*(cells[name].to_pylist() for name in ("label", "prediction", "weight")), strict=True)) == [
        (label, prediction, counted[label, prediction]) for label, prediction in sorted(counted)
    ]


def test_rates_by_label_are_scikit_learns():
    numbers = sample()
    for prediction, label, weight in (numbers, (names(numbers[0]), names(numbers[1]), numbers[2])):
        found = matrix((prediction, label, weight))
        precision, recall, measure, _ = sk.precision_recall_fscore_support(
            label, prediction, beta=0.5, sample_weight=weight, labels=found.classes
        )
        classes = found.classes.tolist()
        assert [found.precision(each) for each in classes] == pytest.approx(precision, rel=1e-12)
        assert [found.recall(each) for each in classes] == pytest.approx(recall, rel=1e-12)
        assert [found.f_measure(each, 0.5) for each in classes] == pytest.approx(measure, rel=1e-12)


def test_the_false_positive_rate_is_over_the_other_labels():
    # Of three rows that are not 0 one is predicted 0; of three that are not 1 two are predicted 1.
    found = matrix(([0, 1, 1, 0, 1], [0, 0, 1, 2, 2]))
    assert (found.false_positive_rate(0), found.false_positive_rate(1)) == (1 / 3, 2 / 4)
    assert found.weighted_false_positive_rate == pytest.approx(2 / 5 / 3 + 1 / 5 / 2, rel=1e-15)


def test_accuracy_and_hamming_loss_are_complements():
    found = matrix(([0, 1, 1, 0], [0, 1, 0, 0], [1.0, 2.0, 4.0, 1.0]))
    assert (found.accuracy, found.hamming_loss) == (0.5, 0.5)


def test_right_predictions_agree_wholly():
    found = matrix(([0, 1, 2], [0, 1, 2], [0.1, 0.2, 0.7]))
    assert (found.accuracy, found.cohens_kappa, found.matthews_correlation, found.balanced_accuracy) == (1, 1, 1, 1)


def test_a_tiny_class_keeps_its_digits():
    # Subtracting from the total, 1 + 1e-20, would leave no row of another label.
    found = matrix(([0, 0, 1], [0, 1, 1], [1.0, 1e-20, 1e-20]))
    assert found.false_positive_rate(0) == pytest.approx(0.5, rel=1e-12)
    assert found.cohens_kappa == pytest.approx(2 / 3, rel=1e-12)


def test_rows_of_no_weight_are_as_if_absent():
    found = matrix(([0, 1, 2], [0, 1, 1], [1.0, 3.0, 0.0]), ([3], [4], [0.0]))
    assert found.classes.tolist() == [0, 1]
    assert found.label_reason(4) is not None


def test_numbers_and_booleans_are_compared_by_value():
    found = matrix((pa.array([0.0, 1.0, 1.0]), pa.array([False, True, False])))
    assert found.accuracy == pytest.approx(2 / 3)
    assert found.recall(True) == found.recall(1) == found.recall(1.0) == 1


def test_zero_and_minus_zero_are_one_label():
    assert matrix(([-0.0], [0.0]), ([0.0, 0.0], [-0.0, 0.0])).weight.tolist() == [3]


def test_a_string_is_no_number():
    found = matrix((["1", "2"], ["1", "1"]))
    assert found.recall("1") == 0.5
    assert "has label 1.0" in found.label_reason(1.0)
    assert "has label '1'" in matrix(([1, 2], [1, 1])).label_reason("1")


def test_a_label_that_is_only_predicted_has_a_reason_and_a_row():
    found = matrix(([0, 1, 2], [0, 0, 1]))
    assert (found.precision(2), found.recall(2), found.f_measure(2), found.false_positive_rate(2)) == (None,) * 4
    assert found.label_reason(2) == "no row of positive weight has label 2"
    assert found.by_label(9).to_pylist()[2] == {
        "label": 2,
        "weight": 0,
        "precision": 0,
        "recall": None,
        "falsePositiveRate": 1 / 3,
        "fMeasure": None,
    }


def test_averages_are_over_true_labels_only():
    found = matrix(([0, 1, 2], [0, 0, 1]))
    assert (found.weighted_recall, found.weighted_precision) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert found.balanced_accuracy == 0.25


def test_a_label_that_is_never_predicted_has_precision_and_measure_zero():
    found = matrix(([0, 0], [0, 1]))
    assert (found.precision(1), found.recall(1), found.f_measure(1)) == (0, 0, 0)


def test_one_label_has_no_false_positive_rate():
    found = matrix((["b", "c"], ["b", "b"]))
    assert (found.false_positive_rate("b"), found.weighted_false_positive_rate) == (None, None)
    assert found.one_label_reason == "every label is 'b'"
    assert (found.recall("b"), found.matthews_correlation) == (0.5, None)


def test_kappa_of_one_label_and_several_predictions_is_zero():
    assert matrix(([0, 1], [0, 0])).cohens_kappa == 0


def test_one_class_has_no_kappa():
    found = matrix(([3, 3], [3, 3]))
    assert (found.cohens_kappa, found.one_label_reason) == (None, "every label is 3.0")


def test_one_prediction_has_no_correlation():
    found = matrix(([1, 1], [0, 1]))
    assert (found.matthews_correlation, found.one_class_reason) == (None, "every prediction is 1.0")
    assert found.cohens_kappa == 0


@pytest.mark.parametrize("part", [([], [], []), ([0, 1], [0, 1], [0.0, 0.0])])
def test_no_weight_has_no_metrics_and_says_why(part):
    found = matrix(tuple(pa.array(values, pa.float64()) for values in part))
    assert [found.accuracy, found.hamming_loss, found.weighted_precision, found.weighted_recall] == [None] * 4
    assert [found.weighted_f_measure(), found.balanced_accuracy, found.matthews_correlation] == [None] * 3
    assert [found.cohens_kappa, found.weighted_false_positive_rate, found.recall(0)] == [None] * 3
    reasons = {found.reason, found.one_label_reason, found.one_class_reason, found.label_reason(0)}
    assert reasons == {"no row has a positive weight"}
    assert (len(found.cells(9)), len(found.by_label(9))) == (0, 0)


def test_tables_keep_the_heaviest_in_order():
    found = matrix((["c", "b", "a", "a"], ["c", "b", "b", "a"], [4.0, 1.0, 2.0, 3.0]))
    assert found.cells(2)["label"].to_pylist() == ["a", "c"]
    assert found.by_label(2)["label"].to_pylist() == ["a", "c"]


def test_thousands_of_labels_are_counted():
    label = np.arange(9_000)
    found = matrix((label, label), (label[::-1], label))
    assert found.accuracy == 0.5
    assert found.cohens_kappa == pytest.approx(0.5 * (1 - 1 / 8999), rel=1e-9)


def test_too_many_labels_in_one_part_are_refused():
    with pytest.raises(DataValueError, match=r"'label' has 4 or more .* at most 3 classes[\s\S]*regression") as caught:
        matrix(([0, 0, 0, 0], [0, 1, 2, 3]), limit=3)
    assert caught.value.column == "label"


def test_too_many_predictions_in_all_parts_are_refused():
    with pytest.raises(DataValueError, match="'prediction' has 4 or more") as caught:
        matrix(([0, 1], [0, 0]), ([2, 3], [0, 0]), limit=3)
    assert caught.value.column == "prediction"


def test_strings_are_not_compared_with_numbers():
    for part in [(["1"], [1]), ([True], ["True"])]:
        with pytest.raises(SchemaError, match=r"'prediction' is .* but column 'label' is") as caught:
            matrix(part)
        assert caught.value.column == "prediction"
