"""Log loss and top-k accuracy against scikit-learn, closed forms and loops in plain Python."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from sklearn import metrics as sk

from penstock import frames
from penstock.errors import ConfigError, DataValueError
from penstock.statistics.evaluation.class_probabilities import ClassProbabilities

COLUMNS = ("probability", "label", "weight")


def scores(*parts, **options):
    statistic = ClassProbabilities(COLUMNS[: len(parts[0])], **options)
    tables = [pa.table(dict(zip(COLUMNS, part, strict=False))) for part in parts]
    return statistic.finish(statistic.merge([statistic.summarise(frames.from_arrow(table)) for table in tables]))


def sample(classes=5, rows=1000, seed=0):
    rng = np.random.default_rng(seed)
    probability = rng.dirichlet(np.ones(classes), rows)
    return probability, rng.integers(0, classes, rows), rng.exponential(size=rows)


def lists(probability, kind=None):
    return pa.array(probability.tolist(), kind or pa.list_(pa.float64()))


def results(found):
    return found.log_loss, found.top_k_accuracy


@pytest.mark.parametrize("weighted", [False, True])
def test_the_log_loss_is_scikit_learns(weighted):
    probability, label, weight = sample()
    found = scores((lists(probability), label, weight)[: 3 if weighted else 2])
    expected = sk.log_loss(label, probability, sample_weight=weight if weighted else None)
    assert found.log_loss == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_top_k_accuracy_is_scikit_learns_where_nothing_ties(weighted, k):
    probability, label, weight = sample()
    found = scores((lists(probability), label, weight)[: 3 if weighted else 2], k=k)
    expected = sk.top_k_accuracy_score(label, probability, k=k, sample_weight=weight if weighted else None)
    assert found.top_k_accuracy == pytest.approx(expected, rel=1e-12)


def test_classes_that_tie_with_the_kth_all_count():
    probability = [[0.4, 0.2, 0.2, 0.2]] * 4
    assert scores((probability, [0, 1, 2, 3]), k=2).top_k_accuracy == 1
    assert scores((probability, [0, 1, 2, 3]), k=1).top_k_accuracy == 0.25


def test_as_many_as_there_are_classes_are_always_right():
    probability, label, _ = sample(classes=3)
    assert scores((lists(probability), label), k=3).top_k_accuracy == 1


def test_the_log_loss_of_even_odds_is_the_logarithm_of_the_classes():
    assert scores(([[0.25] * 4] * 3, [0, 3, 1])).log_loss == pytest.approx(math.log(4), rel=1e-15)


@pytest.mark.parametrize("eps", [1e-15, 0.125])
def test_probabilities_are_clipped(eps):
    expected = (-math.log(eps) - math.log(1 - eps)) / 2
    assert scores(([[1.0, 0.0], [1.0, 0.0]], [1, 0]), eps=eps).log_loss == pytest.approx(expected, rel=1e-12)


def test_a_number_is_the_probability_of_class_one():
    probability, label, weight = sample(classes=2)
    pairs = scores((lists(probability), label, weight), k=1)
    assert results(scores((probability[:, 1], label, weight), k=1)) == pytest.approx(results(pairs), rel=1e-12)


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float64(), 5), pa.large_list(pa.float64())])
def test_every_kind_of_list_is_read(kind):
    probability, label, _ = sample()
    probability = probability.astype(np.float32).astype(np.float64)
    assert results(scores((lists(probability, kind), label))) == results(scores((lists(probability), label)))


def test_integer_probabilities_and_boolean_labels_are_accepted():
    assert scores(([[1, 0], [0, 1]], [False, True]), k=1).top_k_accuracy == 1


@pytest.mark.parametrize("cuts", [[0, 1, 999], [500], [10, 10, 20, 700]])
def test_any_partitioning_gives_the_same_scores(cuts):
    probability, label, weight = sample()
    split = [np.split(each, cuts) for each in (probability, label, weight)]
    parts = [(lists(some), *rest) for some, *rest in zip(*split, strict=True)]
    whole = scores((lists(probability), label, weight))
    assert results(scores(*parts[::-1])) == pytest.approx(results(whole), rel=1e-12)


def test_weights_are_repetitions():
    probability, label, _ = sample(rows=200)
    weight = np.random.default_rng(1).integers(0, 4, 200)
    repeated = scores((lists(np.repeat(probability, weight, axis=0)), np.repeat(label, weight)))
    assert results(scores((lists(probability), label, weight))) == pytest.approx(results(repeated), rel=1e-12)


@pytest.mark.parametrize("rows", [0, 2])
def test_no_weight_has_no_scores_and_says_why(rows):
    probability = pa.array([[0.5, 0.5]] * rows, pa.list_(pa.float64()))
    found = scores((probability, pa.array([0] * rows, pa.int64()), pa.array([0.0] * rows, pa.float64())))
    assert results(found) == (None, None)
    assert found.reason == "no row has a positive weight"


def test_an_empty_part_changes_nothing():
    empty = (pa.array([], pa.list_(pa.float64())), pa.array([], pa.int64()))
    assert scores(empty, ([[0.5, 0.5]], [1]), empty).log_loss == pytest.approx(math.log(2), rel=1e-15)


@pytest.mark.parametrize(
    ("values", "bad"),
    [
        ([[0.5, 0.5], [1.0], [0.5, 0.5]], 1),
        ([[0.5, 0.5], [], [0.5, 0.5]], 1),
        ([[0.2, 0.8], [0.5, 0.25, 0.25], [1.0]], 2),
        ([[0.5, None], [None, None], [0.5, 0.5]], 2),
        ([[float("nan"), 0.5], [float("nan")] * 2, [0.5, 0.5]], 2),
        ([[-2.0, 0.5], [0.5, 1.5], [0.5, 0.5]], 2),
        ([[float("inf"), 0.0], [0.5, 0.5], [0.5, 0.5]], 1),
        ([[0.5, 0.5], [0.5, 1.5], [0.5, 0.5]], 1),
        ([[], [], []], 3),
    ],
)
def test_lists_that_are_no_probabilities_are_refused(values, bad):
    # The length of most is expected; where all three lengths occur once the least, where all are empty 1.
    length = 1 if values[2] in ([1.0], []) else 2
    part = (pa.array(values, pa.list_(pa.float64())), [0, 0, 0])
    message = f"'probability' has {bad} values that are not lists of {length} numbers between 0 and 1"
    with pytest.raises(DataValueError, match=message) as caught:
        scores(part)
    assert (
        len(frames.from_arrow(pa.table(dict(zip(COLUMNS, part, strict=False)))).filter(caught.value.predicate)) == bad
    )


def test_parts_with_lists_of_different_lengths_are_refused():
    with pytest.raises(DataValueError, match="has 1 values that are not lists of 3 numbers"):
        scores(([[0.5, 0.5]], [0]), ([[0.5, 0.25, 0.25]] * 2, [0, 2]))


@pytest.mark.parametrize(
    ("part", "message", "bad"),
    [
        (([None, [0.5, 0.5]], [0, 1]), "column 'probability' has 1 values that are null", 1),
        (([0.5, None, float("nan")], [0, 1, 1]), "column 'probability' has 2 values that are null", 2),
        (([0.5, -0.5, 1.5], [0, 1, 1]), "column 'probability' has 2 values that are not between", 2),
        (([[0.5, 0.5]] * 2, [None, 1]), "column 'label' has 1 values that are null", 1),
        (([[0.5, 0.5]] * 2, [-1, 1]), "column 'label' has 1 values that are negative", 1),
        (([[0.5, 0.5]] * 2, [0.5, 1.0]), "column 'label' has 1 values that are not whole", 1),
        (([[0.5, 0.5]] * 2, [float("inf"), 1.0]), "column 'label' has 1 values that are infinite", 1),
        (([[0.5, 0.5]] * 3, [0, 2, 3]), "column 'label' has 2 values that are no place in 2 probabilities", 2),
        (([0.5, 0.5], [2, 1]), "column 'label' has 1 values that are no place in 2 probabilities", 1),
        (([[0.5, 0.5]] * 2, [0, 1], [-1.0, 1.0]), "column 'weight' has 1 values that are negative", 1),
        (([[0.5, 0.5]] * 2, [0, 1], [None, 1.0]), "column 'weight' has 1 values that are null", 1),
        (([[0.5, 0.5]] * 2, [0, 5], [1.0, 0.0]), "column 'label' has 1 values that are no place", 1),
    ],
)
def test_bad_values_are_refused_with_column_count_and_predicate(part, message, bad):
    with pytest.raises(DataValueError, match=message) as caught:
        scores(part)
    frame = frames.from_arrow(pa.table(dict(zip(COLUMNS, part, strict=False))))
    assert len(frame.filter(caught.value.predicate)) == bad


@pytest.mark.parametrize("columns", [("label",), ("probability", "label", "weight", "fold")])
def test_a_wrong_number_of_columns_is_refused(columns):
    with pytest.raises(ConfigError, match="expected \\(probability, label\\) or"):
        ClassProbabilities(columns)


@pytest.mark.parametrize(
    ("options", "message"), [({"eps": 0.0}, "eps is 0.0"), ({"eps": 0.5}, "eps is 0.5"), ({"k": 0}, "k is 0, expected")]
)
def test_numbers_out_of_range_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        ClassProbabilities(("probability", "label"), **options)
