"""Scores of sets of labels against plain Python, scikit-learn and closed forms."""

from itertools import pairwise
from math import fsum

import numpy as np
import pyarrow as pa
import pytest
from sklearn import metrics
from sklearn.preprocessing import MultiLabelBinarizer

from penstock import frames
from penstock.errors import ConfigError, DataValueError
from penstock.frames import cudf
from penstock.statistics.evaluation.label_sets import LabelScore, LabelSets

COLUMNS = ("prediction", "label", "weight")
MEANS = ("subset_accuracy", "accuracy", "precision", "recall", "f1_measure")


def table(part):
    kinds = (pa.list_(pa.int64()), pa.list_(pa.int64()), pa.float64())
    named = zip(COLUMNS, part, kinds, strict=False)
    return pa.table({name: pa.array(list(values), None if len(values) else kind) for name, values, kind in named})


def states(*parts):
    statistic = LabelSets(COLUMNS[: len(parts[0])])
    return statistic, [statistic.summarise(frames.from_arrow(table(part))) for part in parts]


def scores(*parts):
    statistic, found = states(*parts)
    return statistic.finish(statistic.merge(found))


def sample(rows=400, labels=9, seed=3, least=1):
    """Return predictions, labels (at least so many in each) and weights, some of them 0."""
    rng = np.random.default_rng(seed)
    sides = [[rng.permutation(labels)[: rng.integers(least, 6)].tolist() for _ in range(rows)] for _ in range(2)]
    return *sides, np.where(rng.random(rows) < 0.1, 0.0, rng.exponential(size=rows))


def heavy_sample():
    """Return a sample without weights of 0, at which scikit-learn stumbles."""
    predictions, labels, weight = sample()
    return predictions, labels, weight + 0.1


def split(part, cuts):
    bounds = [0, *cuts, len(part[0])]
    return [tuple(column[start:end] for column in part) for start, end in pairwise(bounds)]


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


def binary(*sides):
    marks = MultiLabelBinarizer().fit([[*range(9)]])
    return [marks.transform(side) for side in sides]


@pytest.mark.parametrize("name", [*MEANS, "hamming_loss"])
def test_means_over_documents_are_their_definitions(name):
    data = sample()
    assert getattr(scores(data), name) == pytest.approx(by_hand(*data)[name], rel=1e-12)


def test_without_weights_every_document_weighs_one():
    predictions, labels, _ = sample()
    expected = by_hand(predictions, labels, [1.0] * len(labels))
    found = scores((predictions, labels))
    assert {name: getattr(found, name) for name in expected} == pytest.approx(expected, rel=1e-12)


def test_accuracy_is_scikit_learns_jaccard_score_of_samples():
    predictions, labels, weight = heavy_sample()
    marked, true = binary(predictions, labels)
    expected = metrics.jaccard_score(true, marked, average="samples", sample_weight=weight)
    assert scores((predictions, labels, weight)).accuracy == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("average", ["samples", "micro"])
def test_precision_recall_and_f1_are_scikit_learns(average):
    predictions, labels, weight = heavy_sample()
    marked, true = binary(predictions, labels)
    expected = metrics.precision_recall_fscore_support(true, marked, average=average, sample_weight=weight)[:3]
    found = scores((predictions, labels, weight))
    measures = found if average == "samples" else found.micro
    assert (measures.precision, measures.recall, measures.f1_measure) == pytest.approx(expected, rel=1e-12)


def test_the_hamming_loss_is_scikit_learns_where_every_label_is_true_of_a_document():
    predictions, labels, weight = heavy_sample()
    marked, true = binary(predictions, labels)
    expected = metrics.hamming_loss(true, marked, sample_weight=weight)
    assert scores((predictions, labels, weight)).hamming_loss == pytest.approx(expected, rel=1e-12)


def test_the_hamming_loss_does_not_count_labels_that_are_only_predicted():
    # Three labels differ in one document, and one label is true of it: 3 / 1, where scikit-learn has 3 / 3.
    assert scores(([[1, 2]], [[3]])).hamming_loss == 3.0


def test_scores_of_each_label_are_counted_by_hand():
    data = sample()
    found = scores(data)
    for label in range(9):
        one = found.of(label)
        given = (one.true_positives, one.false_positives, one.false_negatives)
        assert given == pytest.approx(weights_of(label, *data), rel=1e-12)


def test_weights_are_repetitions():
    predictions, labels, _ = sample(rows=120)
    weight = np.random.default_rng(1).integers(0, 4, 120)
    repeated = [
        [each for each, times in zip(side, weight, strict=True) for _ in range(times)] for side in sample(120)[:2]
    ]
    found, expected = scores((predictions, labels, weight)), scores(tuple(repeated))
    assert {name: getattr(found, name) for name in MEANS} == pytest.approx({n: getattr(expected, n) for n in MEANS})
    assert found.labels == expected.labels
    assert found.hamming_loss == pytest.approx(expected.hamming_loss, rel=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("cuts", [[0, 1, 399], [200], [10, 10, 300]])
def test_any_partitioning_in_any_order_gives_the_same(cuts):
    data = sample()
    whole, parts = scores(data), scores(*reversed(split(data, cuts)))
    assert {name: getattr(parts, name) for name in (*MEANS, "hamming_loss")} == pytest.approx(
        {name: getattr(whole, name) for name in (*MEANS, "hamming_loss")}, rel=1e-12
    )
    assert parts.labels["label"] == whole.labels["label"]
    assert parts.labels["false_positives"].to_numpy() == pytest.approx(whole.labels["false_positives"].to_numpy())


def test_counts_of_documents_that_weigh_one_are_exact():
    data = sample()[:2]
    assert scores(*split(data, [7, 300])).labels == scores(data).labels


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


@pytest.mark.parametrize("part", [([], []), ([[1]], [[1]], [0.0])])
def test_without_weight_nothing_is_defined(part):
    found = scores(part, part)
    assert {getattr(found, name) for name in (*MEANS, "hamming_loss")} == {None}
    assert found.micro == LabelScore(0.0, 0.0, 0.0)
    assert found.micro.f1_measure is None


def test_lists_that_are_all_empty_are_blank():
    assert scores(([[], []], [[], []])).blank == 2


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


NAN = float("nan")
BAD = [
    (([None, [1]], [[1], [1]]), "column 'prediction' has 1 values that are null", 1),
    (([[1]] * 3, [None, [1], None]), "column 'label' has 2 values that are null", 2),
    (([[1, None], [1]], [[1], [1]]), "column 'prediction' has 1 values that are lists with nulls", 1),
    (([[1], [2]], [[0.5, NAN], [NAN]]), "column 'label' has 2 values that are lists with nulls", 2),
    (([[1, 2], [1]], [[3, 2, 3], [1]]), "column 'label' has 1 values that are lists with repeats, expected .* once", 1),
    (([["a", "a"]], [["a"]]), "column 'prediction' has 1 values that are lists with repeats", 1),
    (([[1], [1]], [[1], [1]], [-1.0, 1.0]), "column 'weight' has 1 values that are negative", 1),
    (([[1], [1]], [[1], [1]], [None, float("inf")]), "column 'weight' has 1 values that are null", 1),
    (([[1, 1], [1]], [[1], [1]], [0.0, 1.0]), "column 'prediction' has 1 values that are lists with repeats", 1),
]


@pytest.mark.parametrize(("part", "message", "bad"), BAD)
def test_bad_values_are_refused_with_column_count_and_predicate(part, message, bad):
    statistic, found = states(part)
    empty = statistic.summarise(frames.from_arrow(table(part).slice(0, 0)))
    with pytest.raises(DataValueError, match=message) as caught:
        statistic.finish(statistic.merge([empty, *found, empty]))
    assert len(frames.from_arrow(table(part)).filter(caught.value.predicate)) == bad


def test_on_a_gpu_lists_are_scored_on_the_host(monkeypatch):
    # A Polars frame stands in for one on a GPU.
    monkeypatch.setattr(frames, "is_gpu", lambda frame: True)
    monkeypatch.setattr(cudf, "to_arrow", lambda native: native.to_arrow())
    assert scores(([[1]], [[1]])).accuracy == 1.0


@pytest.mark.parametrize("columns", [("prediction",), ("prediction", "label", "weight", "fold")])
def test_a_wrong_number_of_columns_is_refused(columns):
    with pytest.raises(ConfigError, match="expected \\(prediction, label\\) or \\(prediction, label, weight\\)"):
        LabelSets(columns)
