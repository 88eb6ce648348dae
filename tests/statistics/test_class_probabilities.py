"""Log loss and top-k accuracy against scikit-learn, closed forms and loops in plain Python."""

import math

import numpy as np
import pyarrow as pa
import pytest
from gathering import gathered, named

from penstock.errors import DataValueError
from penstock.statistics.evaluation.class_probabilities import ClassProbabilities

COLUMNS = ("probability", "label", "weight")


def scores(*parts, **options):
    return gathered(ClassProbabilities(COLUMNS[: len(parts[0])], **options), *(named(COLUMNS, part) for part in parts))


def sample(classes=5, rows=1000, seed=0):
    rng = np.random.default_rng(seed)
    probability = rng.dirichlet(np.ones(classes), rows)
    return probability, rng.integers(0, classes, rows), rng.exponential(size=rows)


def lists(probability, kind=None):
    return pa.array(probability.tolist(), kind or pa.list_(pa.float64()))


def results(found):
    return found.log_loss, found.top_k_accuracy


def test_classes_that_tie_with_the_kth_all_count():
    probability = [[0.4, 0.2, 0.2, 0.2]] * 4
    assert scores((probability, [0, 1, 2, 3]), k=2).top_k_accuracy == 1
    assert scores((probability, [0, 1, 2, 3]), k=1).top_k_accuracy == 0.25


def test_as_many_as_there_are_classes_are_always_right():
    probability, label, _ = sample(classes=3)
    assert scores((lists(probability), label), k=3).top_k_accuracy == 1


def test_probabilities_are_clipped():
    for eps in (1e-15, 0.125):
        expected = (-math.log(eps) - math.log(1 - eps)) / 2
        assert scores(([[1.0, 0.0], [1.0, 0.0]], [1, 0]), eps=eps).log_loss == pytest.approx(expected, rel=1e-12)


def test_a_number_is_the_probability_of_class_one():
    probability, label, weight = sample(classes=2)
    pairs = scores((lists(probability), label, weight), k=1)
    assert results(scores((probability[:, 1], label, weight), k=1)) == pytest.approx(results(pairs), rel=1e-12)


def test_every_kind_of_list_is_read():
    probability, label, _ = sample()
    probability = probability.astype(np.float32).astype(np.float64)
    expected = results(scores((lists(probability), label)))
    for kind in (pa.list_(pa.float32()), pa.list_(pa.float64(), 5), pa.large_list(pa.float64())):
        assert results(scores((lists(probability, kind), label))) == expected


def test_integer_probabilities_and_boolean_labels_are_accepted():
    assert scores(([[1, 0], [0, 1]], [False, True]), k=1).top_k_accuracy == 1


def test_no_weight_has_no_scores_and_says_why():
    for rows in (0, 2):
        probability = pa.array([[0.5, 0.5]] * rows, pa.list_(pa.float64()))
        found = scores((probability, pa.array([0] * rows, pa.int64()), pa.array([0.0] * rows, pa.float64())))
        assert results(found) == (None, None)
        assert found.reason == "no row has a positive weight"


def test_parts_with_lists_of_different_lengths_are_refused():
    with pytest.raises(DataValueError, match="has 1 values that are not lists of 3 numbers"):
        scores(([[0.5, 0.5]], [0]), ([[0.5, 0.25, 0.25]] * 2, [0, 2]))
