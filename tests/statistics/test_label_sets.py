"""Scores of sets of labels against plain Python, scikit-learn and closed forms."""

from math import fsum

import numpy as np
import pyarrow as pa
import pytest
from gathering import gathered

from penstock.statistics.evaluation.label_sets import LabelScore, LabelSets

COLUMNS = ("prediction", "label", "weight")
MEANS = ("subset_accuracy", "accuracy", "precision", "recall", "f1_measure")


def table(part):
    kinds = (pa.list_(pa.int64()), pa.list_(pa.int64()), pa.float64())
    named = zip(COLUMNS, part, kinds, strict=False)
    return pa.table({name: pa.array(list(values), None if len(values) else kind) for name, values, kind in named})


def scores(part):
    return gathered(LabelSets(COLUMNS[: len(part)]), table(part))


def sample(rows=400, labels=9, seed=3, least=1):
    """Return predictions, labels (at least so many in each) and weights, some of them 0."""
    rng = np.random.default_rng(seed)
    sides = [[rng.permutation(labels)[: rng.integers(least, 6)].tolist() for _ in range(rows)] for _ in range(2)]
    return *sides, np.where(rng.random(rows) < 0.1, 0.0, rng.exponential(size=rows))


def by_hand(predictions, labels, weights):
    """Return each measure as its definition says, document by document."""
    pairs = [(set(p), set(t), w) for p, t, w in zip(predictions, labels, weights, strict=True) if w]
    weight = fsum(w for _, _, w in pairs)
    distinct = set().union(*(t for _, t, _ in pairs))
    measures = {
        "subset_accuracy": lambda p, t: float(p == t),
        "accuracy": lambda p, t: len(p & t) / len(p | t),
        "precision": lambda p, t: len(p & t) / len(p) if p else 0.0,
        "recall": lambda p, t: len(p & t) / len(t),
        "f1_measure": lambda p, t: 2 * len(p & t) / (len(p) + len(t)),
        "hamming_loss": lambda p, t: len(p ^ t) / len(distinct),
    }
    return {name: fsum(w * measure(p, t) for p, t, w in pairs) / weight for name, measure in measures.items()}


def weights_of(label, predictions, labels, weights):
    rows = list(zip(predictions, labels, weights, strict=True))
    return (
        fsum(w for p, t, w in rows if label in p and label in t),
        fsum(w for p, t, w in rows if label in p and label not in t),
        fsum(w for p, t, w in rows if label not in p and label in t),
    )


def test_means_over_documents_are_their_definitions():
    predictions, labels, weights = sample()
    for given, w in [((), [1.0] * len(labels)), ((weights,), weights)]:
        expected, found = by_hand(predictions, labels, w), scores((predictions, labels, *given))
        assert {name: getattr(found, name) for name in expected} == pytest.approx(expected, rel=1e-12)


def test_the_hamming_loss_does_not_count_labels_that_are_only_predicted():
    # Three labels differ in one document, and one label is true of it: 3 / 1, where scikit-learn has 3 / 3.
    assert scores(([[1, 2]], [[3]])).hamming_loss == 3.0


def test_scores_of_each_label_are_counted_by_hand():
    data = sample()
    found = scores(data)
    by_label = [weights_of(label, *data) for label in range(9)]
    expected = [*by_label, np.sum(by_label, axis=0)]
    for one, weights in zip([*map(found.of, range(9)), found.micro], expected, strict=True):
        given = (one.true_positives, one.false_positives, one.false_negatives)
        assert given == pytest.approx(weights, rel=1e-12)


def test_labels_may_be_strings():
    found = scores(([["a", "b"], ["c"]], [["a"], ["c"]]))
    assert found.labels["label"].to_pylist() == ["a", "b", "c"]
    assert (found.of("b").precision, found.of("c").recall) == (0.0, 1.0)


def test_integers_are_compared_with_floats_by_value():
    found = scores(([[1, 2]], [[1.0]]))
    assert (found.precision, found.of(1).true_positives) == (0.5, 1.0)


def test_the_order_of_a_list_does_not_matter():
    assert scores(([[1, 2, 3]], [[3, 1, 2]])).subset_accuracy == 1.0


def test_a_document_without_a_prediction_has_precision_zero():
    found = scores(([[], [1]], [[1], [1]]))
    assert (found.precision, found.recall, found.accuracy) == (0.5, 0.5, 0.5)


def test_a_document_without_labels_leaves_the_recall_undefined():
    found = scores(([[1], [1]], [[], [1]]))
    assert (found.recall, found.unlabelled, found.blank) == (None, 1, 0)
    assert (found.accuracy, found.f1_measure, found.precision) == (0.5, 0.5, 0.5)


def test_a_blank_document_leaves_accuracy_and_f1_undefined():
    found = scores(([[], [1]], [[], [1]]))
    assert (found.accuracy, found.f1_measure, found.blank) == (None, None, 1)
    assert (found.subset_accuracy, found.precision, found.hamming_loss, found.micro.recall) == (1.0, 0.5, 0.0, 1.0)


def test_documents_of_weight_zero_are_as_if_absent():
    found = scores(([[], [1], [7]], [[], [1], [8]], [0.0, 2.0, 0.0]))
    assert (found.count, found.blank, found.accuracy) == (1, 0, 1.0)
    assert found.labels["label"].to_pylist() == [1]


def test_without_weight_nothing_is_defined():
    for part in [([], []), ([[1]], [[1]], [0.0])]:
        found = scores(part)
        assert {getattr(found, name) for name in (*MEANS, "hamming_loss")} == {None}
        assert found.micro == LabelScore(0.0, 0.0, 0.0)
        assert found.micro.f1_measure is None


def test_a_label_that_does_not_occur_has_no_score():
    one = scores(([[1]], [[1]])).of("absent")
    assert (one.precision, one.recall, one.f1_measure) == (None, None, None)


def test_a_label_that_is_never_predicted_has_a_recall_alone():
    one = scores(([[1]], [[1, 2]])).of(2)
    assert (one.precision, one.recall, one.f1_measure) == (None, 0.0, 0.0)


def test_the_table_of_labels_has_the_heaviest_first_and_null_where_undefined():
    found = scores(([[3, 1], [1], [2]], [[1], [1, 2], [2]], [1.0, 1.0, 4.0])).by_label(most=5)
    assert found.to_pylist() == [
        {"label": 2, "weight": 5.0, "precision": 1.0, "recall": 0.8, "f1Measure": pytest.approx(8 / 9)},
        {"label": 1, "weight": 2.0, "precision": 1.0, "recall": 1.0, "f1Measure": 1.0},
        {"label": 3, "weight": 0.0, "precision": 0.0, "recall": None, "f1Measure": 0.0},
    ]


def test_the_table_of_labels_is_cut():
    assert scores(([[1, 2, 3]], [[1, 2, 3]])).by_label(most=2)["label"].to_pylist() == [1, 2]
