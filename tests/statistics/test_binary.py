"""Curves and areas against scikit-learn and closed forms."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from gathering import gathered, named, states_of
from scipy import stats
from scipy.spatial import KDTree
from sklearn import metrics

from penstock import frames
from penstock.errors import DataValueError, ExecutionError
from penstock.statistics import BinaryCurve
from penstock.statistics.evaluation.curves import Curve

COLUMNS = ("score", "label", "weight")


def curve(*parts, **options):
    return gathered(BinaryCurve(COLUMNS[: len(parts[0])], **options), *(named(COLUMNS, part) for part in parts))


def sample(rows=2000, digits=2, seed=0):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, rows)
    return np.round(rng.normal(size=rows) + label, digits), label, rng.exponential(size=rows)


def test_the_area_under_roc_is_scikit_learns():
    for digits in (0, 2, 12):
        score, label, weight = sample(digits=digits)
        for given in ((), (weight,)):
            expected = metrics.roc_auc_score(label, score, sample_weight=weight if given else None)
            assert curve((score, label, *given)).area_under_roc == pytest.approx(expected, rel=1e-12)


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


def test_the_curve_of_precision_starts_at_the_first_and_its_area_is_of_trapezoids():
    found = curve(([0.9, 0.9, 0.1], [1, 0, 1]))
    recall, precision = found.pr()
    assert (recall.tolist(), precision.tolist()) == ([0, 0.5, 1], [0.5, 0.5, 2 / 3])
    assert found.area_under_pr == pytest.approx(0.25 + (1 / 2 + 2 / 3) / 4, rel=1e-15)


def test_separated_classes_of_boolean_labels_have_area_one():
    found = curve(([1, 2, 8], [False, False, True]))
    assert (found.area_under_roc, found.area_under_pr, found.reason) == (1, 1, None)


def test_equal_scores_have_area_one_half():
    assert curve(([0.3] * 4, [0, 1, 1, 0])).area_under_roc == 0.5


def test_zero_and_minus_zero_are_one_threshold():
    assert curve(([0.0], [1]), ([-0.0], [0])).thresholds.tolist() == [0]


def test_infinite_scores_are_ordered():
    assert curve(([np.inf, 0.0, -np.inf], [1, 1, 0])).area_under_roc == 1


def test_of_one_class_nothing_is_defined_and_it_says_why(subtests):
    for labels, reason in [
        ([1, 1], "no row has a negative label"),
        ([0, 0], "no row has a positive label"),
        ([], "a positive or a negative"),
    ]:
        with subtests.test(reason):
            part = (pa.array([0.5, 0.6][: len(labels)], pa.float64()), pa.array(labels, pa.int64()))
            found = curve(part, part, num_bins=2)
            assert (found.area_under_roc, found.area_under_pr, found.ks) == (None, None, None)
            assert (found.area_under_roc_bound, found.area_under_pr_bound, found.ks_bound) == (None, None, None)
            assert (found.roc_table().num_rows, found.pr_table().num_rows) == (0, 0)
            assert found.gains_table().num_rows == (10 if 1 in labels else 0)
            assert reason in found.reason


def test_a_class_of_no_weight_is_no_class():
    assert "negative" in curve(([0.1, 0.2], [0, 1], [0.0, 1.0])).reason


def table_of(score, label):
    [state] = states_of(BinaryCurve(COLUMNS[:2]), named(COLUMNS, (score, label)))
    return state["table"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_state_keeps_the_type_of_scores_and_small_counts(dtype):
    scores = np.array([0.3, 0.1, 0.3], dtype)
    found = table_of(scores, [1, 0, 0])
    assert found.to_pydict() == {"score": np.array([0.1, 0.3], dtype).tolist(), "positive": [0, 1], "negative": [1, 1]}
    assert found.nbytes == 2 * (np.dtype(dtype).itemsize + 4 + 4)
    assert curve((scores, [1, 0, 0])).thresholds.dtype == np.dtype(dtype)


@pytest.mark.parametrize("parts", [1, 2])
def test_limit_bytes_counts_what_the_state_takes(parts):
    score, label, _ = sample(rows=300, digits=12)
    halves = list(zip(np.array_split(score, parts), np.array_split(label, parts), strict=True))
    curve(*halves, limit_bytes=300 * 16)
    hint = r"'score' has 300 or more distinct scores; at 16 bytes each that is 4,800 bytes[\s\S]*num_bins"
    with pytest.raises(ExecutionError, match=hint) as caught:
        curve(*halves, limit_bytes=300 * 16 - 1)
    assert caught.value.column == "score"


def test_element_one_of_a_vector_is_the_score():
    for kind in (pa.list_(pa.float64()), pa.large_list(pa.float32()), pa.list_(pa.float32(), 2)):
        found = curve((pa.array([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5]], kind), [0, 1, 1]))
        assert found.thresholds == pytest.approx([0.7, 0.5, 0.1], rel=1e-6)
        assert found.area_under_roc == 1


def test_vectors_without_a_number_for_each_of_two_classes_are_refused():
    others = [[0.1], None, [0.1, None], [0.1, float("nan")], [], [0.1, 0.2, 0.7]]
    bad = pa.array([[0.1, 0.9], *others], pa.list_(pa.float64()))
    with pytest.raises(DataValueError, match="column 'score' has 6 values that are not lists of two numbers") as caught:
        curve((bad, [0, 1, 1, 0, 1, 0, 1]))
    frame = frames.from_arrow(pa.table({"score": bad}))
    assert frame.filter(caught.value.predicate)["score"].to_list()[:2] == [[0.1], None]
    assert len(frame.filter(caught.value.predicate)) == 6


def test_infinite_elements_have_no_cell():
    scores = pa.array([[0.0, 1.0], [0.0, float("-inf")]], pa.list_(pa.float64()))
    with pytest.raises(DataValueError, match="column 'score' has 1 values that are infinite") as caught:
        curve((scores, [0, 1]), num_bins=3)
    frame = frames.from_arrow(pa.table({"score": scores}))
    assert frame.filter(caught.value.predicate)["score"].to_list() == [[0.0, float("-inf")]]


@pytest.mark.thorough
@pytest.mark.parametrize(("num_bins", "weighted"), [(2, False), (7, True), (50, False)])
def test_the_exact_values_are_within_the_bounds_of_the_binned_ones(num_bins, weighted):
    for seed in range(20):
        data = sample(rows=200, digits=3, seed=seed)[: 3 if weighted else 2]
        exact, binned = curve(data), curve(data, num_bins=num_bins)
        assert len(binned.thresholds) <= num_bins
        assert abs(exact.area_under_roc - binned.area_under_roc) <= binned.area_under_roc_bound + 1e-12
        assert abs(exact.area_under_pr - binned.area_under_pr) <= binned.area_under_pr_bound + 1e-12
        assert -1e-12 <= exact.ks - binned.ks <= binned.ks_bound + 1e-12


def orders(cells):
    """Yield the exact curve of every order of the rows within each cell, each row a score of its own, and of ties."""
    for chosen in itertools.product(*(set(itertools.permutations("p" * p + "n" * n)) for p, n in cells)):
        rows = [each for cell in chosen for each in cell]
        for cuts in itertools.product([False, True], repeat=len(rows) - 1):
            places = list(itertools.accumulate(cuts, initial=0))
            ends = {sum(p + n for p, n in cells[:i]) - 1 for i in range(1, len(cells))}
            if all(cuts[end] for end in ends):
                labels = [each == "p" for each in rows]
                yield curve((-np.array(places, float), labels))


CELLS = [[(2, 2), (1, 1)], [(1, 2), (2, 1)], [(0, 1), (2, 2)], [(3, 0), (1, 2)]]


@pytest.mark.thorough
@pytest.mark.parametrize("cells", CELLS)
def test_the_bounds_hold_for_every_order_and_that_of_roc_is_reached(cells):
    positives, negatives = (np.array(each, float) for each in zip(*cells, strict=True))
    binned = Curve(-np.arange(len(cells), dtype=float), positives, negatives, binned=True)
    found = list(orders(cells))
    roc = [abs(each.area_under_roc - binned.area_under_roc) for each in found]
    assert max(roc) == pytest.approx(binned.area_under_roc_bound, rel=1e-12)
    assert max(abs(each.area_under_pr - binned.area_under_pr) for each in found) <= binned.area_under_pr_bound + 1e-12
    assert max(each.ks for each in found) == pytest.approx(binned.ks + binned.ks_bound, rel=1e-12)


def test_the_bound_of_pr_is_reached_from_below():
    # One cell of p positives and n negatives: (0, p/(p+n)) to (1, p/(p+n)), or (0, 0) to (1, p/(p+n)).
    binned = Curve(np.array([0.0]), np.array([3.0]), np.array([1.0]), binned=True)
    worst = curve(([0.9, 0.1, 0.1, 0.1], [0, 1, 1, 1]))
    assert binned.area_under_pr - worst.area_under_pr == pytest.approx(binned.area_under_pr_bound, rel=1e-12)


def test_the_bound_of_pr_is_approached_from_above():
    # In either cell the positives come first, those of the second one by one.
    binned = Curve(np.array([1.0, 0.0]), np.array([1.0, 500.0]), np.array([3.0, 2000.0]), binned=True)
    score, label = np.arange(1003, 0, -1.0), [1, 0] + [1] * 1000 + [0]
    best = curve((score, label, [1.0, 3.0] + [0.5] * 1000 + [2000.0]))
    assert best.area_under_pr - binned.area_under_pr <= binned.area_under_pr_bound
    assert best.area_under_pr - binned.area_under_pr == pytest.approx(binned.area_under_pr_bound, rel=1e-4)


def test_an_exact_curve_is_off_by_nothing():
    found = curve(sample(digits=0))
    assert (found.area_under_roc_bound, found.area_under_pr_bound, found.ks_bound) == (0, 0, 0)


def test_a_row_without_weight_fills_no_cell():
    with_zero = curve(([0.1, 0.2, 1e9], [0, 1, 1], [1.0, 1.0, 0.0]), num_bins=2)
    assert with_zero.thresholds.tolist() == curve(([0.1, 0.2], [0, 1], [1.0, 1.0]), num_bins=2).thresholds.tolist()


def test_ks_is_the_largest_distance_of_the_distributions_either_way():
    score, label, _ = sample(digits=1)
    expected = stats.ks_2samp(score[label == 1], score[label == 0]).statistic
    for sign in (1, -1):
        assert curve((sign * score, label)).ks == pytest.approx(expected, rel=1e-12)


def test_gains_share_out_ties_in_proportion():
    # 2 of 4 positives in the upper half, which ends inside the tie of the lower scores: 1 of 5 rows of 0.9 (positive).
    found = curve(([0.9] + [0.1] * 4, [1, 1, 0, 0, 0])).gains_table()
    expected = [0.25, 0.5, 0.5625, 0.625, 0.6875, 0.75, 0.8125, 0.875, 0.9375, 1.0]
    assert found["fraction"].to_pylist() == pytest.approx(np.arange(1, 11) / 10, rel=1e-12)
    assert found["gain"].to_pylist() == pytest.approx(expected, rel=1e-12)
    assert found["lift"].to_pylist() == pytest.approx(np.array(expected) / (np.arange(1, 11) / 10), rel=1e-12)


def test_gains_of_distinct_scores_are_counts():
    score, label, _ = sample(rows=1000, digits=12)
    best = label[np.argsort(-score)]
    expected = [best[: 100 * k].sum() / best.sum() for k in range(1, 11)]
    assert curve((score, label)).gains_table()["gain"].to_pylist() == pytest.approx(expected, rel=1e-12)


@pytest.mark.thorough
def test_thinned_curves_have_the_shape_of_the_whole():
    rng = np.random.default_rng(2)
    for rate in (0.5, 0.01):
        label = rng.random(20_000) < rate
        found = curve((rng.normal(size=20_000) + 2 * label, label))
        for table, (x, y) in ((found.roc_table(), found.roc()), (found.pr_table(), found.pr())):
            assert table.num_rows <= 500
            drawn = np.stack([table[name].to_numpy() for name in table.column_names[:2]])
            assert drawn[:, [0, -1]].tolist() == [x[[0, -1]].tolist(), y[[0, -1]].tolist()]
            line = np.concatenate([np.linspace(*pair, 20) for pair in zip(drawn.T, drawn.T[1:], strict=False)])
            distance, _ = KDTree(line).query(np.stack([x, y], axis=1))
            assert distance.max() < 0.01


def test_tables_name_the_threshold_of_each_point():
    found = curve(([0.9, 0.4, 0.1], [1, 0, 1]))
    assert found.roc_table().to_pydict() == {
        "falsePositiveRate": [0, 0, 1, 1],
        "truePositiveRate": [0, 0.5, 0.5, 1],
        "threshold": [None, 0.9, 0.4, 0.1],
    }
    assert found.pr_table()["threshold"].to_pylist() == [None, 0.9, 0.4, 0.1]
