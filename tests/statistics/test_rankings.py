"""Measures of ranked lists against plain Python, scikit-learn and closed forms."""

from math import fsum, log2

import numpy as np
import pyarrow as pa
import pytest
from gathering import gathered

from penstock.statistics.evaluation.rankings import Rankings

COLUMNS = ("prediction", "label", "weight")
MEASURES = (
    "mean_average_precision", "mean_average_precision_at_k", "precision", "recall", "ndcg", "mean_reciprocal_rank",
    "hit_rate",
)  # fmt: skip


def table(part):
    kinds = (pa.list_(pa.int64()), pa.list_(pa.int64()), pa.float64())
    named = zip(COLUMNS, part, kinds, strict=False)
    return pa.table({name: pa.array(list(values), None if len(values) else kind) for name, values, kind in named})


def ranking(part, k=5):
    return gathered(Rankings(COLUMNS[: len(part)], k), table(part))


def sample(rows=300, items=15, seed=8):
    """Return predictions of any length, labels (some lists empty), and weights, some of them 0."""
    rng = np.random.default_rng(seed)
    predictions = [rng.permutation(items)[: rng.integers(0, items)].tolist() for _ in range(rows)]
    labels = [rng.permutation(items)[: rng.integers(0, 8)].tolist() for _ in range(rows)]
    return predictions, labels, np.where(rng.random(rows) < 0.1, 0.0, rng.exponential(size=rows))


def of_one(ranked, labels, k):
    """Return each measure of one document as its definition says."""
    truth, hits = set(labels), [item in set(labels) for item in ranked]
    if not truth:
        return dict.fromkeys(MEASURES, 0.0)
    precisions = [sum(hits[: place + 1]) / (place + 1) if hit else 0.0 for place, hit in enumerate(hits)]
    gains = [1 / log2(place + 2) for place in range(max(k, len(ranked), len(truth)))]
    return {
        "mean_average_precision": fsum(precisions) / len(truth),
        "mean_average_precision_at_k": fsum(precisions[:k]) / min(len(truth), k),
        "precision": sum(hits[:k]) / k,
        "recall": sum(hits[:k]) / len(truth),
        "ndcg": fsum(g for g, hit in zip(gains, hits[:k], strict=False) if hit) / fsum(gains[: min(len(truth), k)]),
        "mean_reciprocal_rank": 1 / (hits.index(True) + 1) if any(hits) else 0.0,
        "hit_rate": float(any(hits[:k])),
    }


def by_hand(predictions, labels, weights, k):
    found = [of_one(ranked, truth, k) for ranked, truth in zip(predictions, labels, strict=True)]
    return {name: fsum(w * x[name] for w, x in zip(weights, found, strict=True)) / fsum(weights) for name in MEASURES}


def measures(found):
    return {name: getattr(found, name) for name in MEASURES}


@pytest.mark.parametrize("k", [1, 5, 40])
def test_measures_are_their_definitions(k):
    predictions, labels, weights = sample()
    for given, w in [((), [1.0] * len(labels)), ((weights,), weights)]:
        found = measures(ranking((predictions, labels, *given), k=k))
        assert found == pytest.approx(by_hand(predictions, labels, w, k), rel=1e-12)


def test_items_may_be_strings():
    data = sample()
    named = [[[f"item {item}" for item in items] for items in side] for side in data[:2]]
    assert measures(ranking((*named, data[2]))) == measures(ranking(data))


def test_curves_at_each_cut_off_are_the_measures_there():
    data = sample()
    curves = ranking(data, k=7).at_k(most=7)
    for row in curves.to_pylist():
        expected = by_hand(*data, row["k"])
        assert row == pytest.approx(
            {"k": row["k"], **{n: expected[n] for n in ("precision", "recall", "ndcg")}}, rel=1e-12
        )
    assert curves["k"].to_pylist() == list(range(1, 8))


def test_the_table_of_curves_is_thinned_to_its_ends():
    found = ranking(([[1]], [[1]]), k=1000).at_k(most=4)
    assert found["k"].to_pylist() == [1, 334, 667, 1000]
    assert found["precision"].to_pylist() == pytest.approx([1, 1 / 334, 1 / 667, 1 / 1000], rel=1e-12)


def test_documents_without_labels_count_as_zero_and_are_told():
    found = ranking(([[1], [1], [1]], [[1], [], []], [2.0, 1.0, 5.0]), k=1)
    assert (found.precision, found.mean_average_precision, found.mean_reciprocal_rank) == (0.25, 0.25, 0.25)
    assert (found.count, found.unlabelled, found.unlabelled_weight) == (3, 2, 6.0)


def test_an_item_that_is_ranked_twice_hits_twice():
    # Hits at places 1, 2 and 3 of one label: precision 1 at each, and three times the label is found.
    found = ranking(([[7, 7, 7]], [[7]]), k=3)
    assert (found.mean_average_precision, found.recall, found.mean_reciprocal_rank) == (3.0, 3.0, 1.0)


def test_a_label_that_is_named_twice_is_one():
    assert ranking(([[7, 8]], [[7, 7, 7]]), k=2).recall == 1.0


def test_the_reciprocal_rank_looks_beyond_k_and_the_hit_rate_does_not():
    found = ranking(([[1, 2, 3, 4]], [[4]]), k=3)
    assert (found.mean_reciprocal_rank, found.hit_rate) == (0.25, 0.0)


def test_documents_of_weight_zero_are_as_if_absent():
    found = ranking(([[1], [2]], [[1], []], [1.0, 0.0]), k=1)
    assert (found.count, found.unlabelled, found.precision) == (1, 0, 1.0)


def test_without_predictions_every_measure_is_zero():
    assert set(measures(ranking(([[], []], [[1], [2]]))).values()) == {0.0}


def test_without_weight_nothing_is_defined():
    for part in [([], []), ([[1]], [[1]], [0.0])]:
        found = ranking(part)
        assert set(measures(found).values()) == {None}
        assert found.at_k(most=5).num_rows == 0
