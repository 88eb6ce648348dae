"""Curves and areas against scikit-learn and closed forms."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from scipy.spatial import KDTree
from sklearn import metrics

from penstock import frames
from penstock.errors import ConfigError, DataValueError, ExecutionError
from penstock.statistics import BinaryCurve
from penstock.statistics.evaluation.curves import Curve

COLUMNS = ("score", "label", "weight")


def curve(*parts, **options):
    statistic = BinaryCurve(COLUMNS[: len(parts[0])], **options)
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
        (([0.1, 0.2], [0, 1], [1e308, 1e308]), "column 'weight' has 2 values that are too large", 2),
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


def table_of(score, label, weight=None):
    statistic = BinaryCurve(COLUMNS[: 2 if weight is None else 3])
    columns = (score, label) if weight is None else (score, label, weight)
    return statistic.summarise(frames.from_arrow(pa.table(dict(zip(COLUMNS, columns, strict=False)))))["table"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_state_keeps_the_type_of_scores_and_small_counts(dtype):
    found = table_of(np.array([0.3, 0.1, 0.3], dtype), [1, 0, 0])
    assert found.to_pydict() == {"score": np.array([0.1, 0.3], dtype).tolist(), "positive": [0, 1], "negative": [1, 1]}
    assert found.nbytes == 2 * (np.dtype(dtype).itemsize + 4 + 4)


def test_scores_of_float32_are_thresholds_of_float32():
    assert curve((np.array([0.1, 0.2], "float32"), [0, 1])).thresholds.dtype == np.float32


def test_limit_bytes_counts_what_the_state_takes():
    score, label, _ = sample(rows=300, digits=12)
    curve((score[:150], label[:150]), (score[150:], label[150:]), limit_bytes=300 * 16)
    hint = r"'score' has 300 or more distinct scores; at 16 bytes each that is 4,800 bytes[\s\S]*num_bins"
    with pytest.raises(ExecutionError, match=hint) as caught:
        curve((score[:150], label[:150]), (score[150:], label[150:]), limit_bytes=300 * 16 - 1)
    assert caught.value.column == "score"


def test_one_partition_may_pass_limit_bytes_too():
    with pytest.raises(ExecutionError, match="2 or more distinct scores"):
        curve(([0.1, 0.2], [0, 1]), limit_bytes=31)


@pytest.mark.parametrize("options", [{"num_bins": 1}, {"num_bins": -2}, {"limit_bytes": 0}])
def test_options_out_of_range_are_refused(options):
    with pytest.raises(ConfigError, match=f"{next(iter(options))} is .*, expected"):
        BinaryCurve(("score", "label"), **options)


VECTORS = {
    "list": pa.array([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5]], pa.list_(pa.float64())),
    "large_list": pa.array([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5]], pa.large_list(pa.float32())),
    "fixed": pa.array([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5]], pa.list_(pa.float32(), 2)),
}


@pytest.mark.parametrize("kind", VECTORS)
def test_element_one_of_a_vector_is_the_score(kind):
    found = curve((VECTORS[kind], [0, 1, 1]))
    assert found.thresholds == pytest.approx([0.7, 0.5, 0.1], rel=1e-6)
    assert found.area_under_roc == 1


def test_vectors_without_a_number_at_place_one_are_refused():
    bad = pa.array([[0.1, 0.9], [0.1], None, [0.1, None], [0.1, float("nan")], []], pa.list_(pa.float64()))
    with pytest.raises(DataValueError, match="column 'score' has 5 values that are null") as caught:
        curve((bad, [0, 1, 1, 0, 1, 0]))
    frame = frames.from_arrow(pa.table({"score": bad}))
    assert frame.filter(caught.value.predicate)["score"].to_list()[:2] == [[0.1], None]
    assert len(frame.filter(caught.value.predicate)) == 5


def test_infinite_elements_have_no_cell():
    scores = pa.array([[0.0, 1.0], [0.0, float("-inf")]], pa.list_(pa.float64()))
    with pytest.raises(DataValueError, match="column 'score' has 1 values that are infinite") as caught:
        curve((scores, [0, 1]), num_bins=3)
    frame = frames.from_arrow(pa.table({"score": scores}))
    assert frame.filter(caught.value.predicate)["score"].to_list() == [[0.0, float("-inf")]]


@pytest.mark.thorough
@pytest.mark.parametrize("num_bins", [2, 7, 50])
@pytest.mark.parametrize("weighted", [False, True])
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


def test_an_undefined_area_has_no_bound():
    found = curve(([0.1, 0.2], [1, 1]), num_bins=2)
    assert (found.area_under_roc_bound, found.area_under_pr_bound, found.ks_bound) == (None, None, None)


@pytest.mark.parametrize("cuts", [[0, 1, 1999], [500], [10, 10, 20, 1500]])
def test_cells_do_not_depend_on_the_partitioning(cuts):
    data = sample(digits=12)
    whole = curve(data, num_bins=64)
    parts = curve(*zip(*(np.split(column, cuts) for column in data), strict=True), num_bins=64)
    assert parts.thresholds.tolist() == whole.thresholds.tolist()
    assert parts.area_under_roc == pytest.approx(whole.area_under_roc, rel=1e-12)
    assert parts.area_under_pr == pytest.approx(whole.area_under_pr, rel=1e-12)


def test_infinite_scores_have_no_cell():
    with pytest.raises(DataValueError, match="column 'score' has 1 values that are infinite"):
        curve(([0.1, np.inf], [0, 1]), num_bins=4)


def test_a_row_without_weight_fills_no_cell():
    with_zero = curve(([0.1, 0.2, 1e9], [0, 1, 1], [1.0, 1.0, 0.0]), num_bins=2)
    assert with_zero.thresholds.tolist() == curve(([0.1, 0.2], [0, 1], [1.0, 1.0]), num_bins=2).thresholds.tolist()


def test_ks_is_the_largest_distance_of_the_distributions():
    score, label, _ = sample(digits=1)
    expected = stats.ks_2samp(score[label == 1], score[label == 0]).statistic
    assert curve((score, label)).ks == pytest.approx(expected, rel=1e-12)


def test_ks_of_inverted_scores_is_the_same():
    score, label, weight = sample(digits=1)
    assert curve((-score, label, weight)).ks == pytest.approx(curve((score, label, weight)).ks, rel=1e-12)


def test_ks_of_one_class_is_undefined():
    assert curve(([0.1], [1])).ks is None


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


def test_gains_need_a_positive():
    assert curve(([0.1], [0])).gains_table().num_rows == 0


@pytest.mark.thorough
@pytest.mark.parametrize("rate", [0.5, 0.01])
def test_thinned_curves_have_the_shape_of_the_whole(rate):
    rng = np.random.default_rng(2)
    label = rng.random(50_000) < rate
    found = curve((rng.normal(size=50_000) + 2 * label, label))
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


@pytest.mark.parametrize("labels", [[1], [0], []])
def test_undefined_curves_have_no_points(labels):
    found = curve((pa.array([0.5][: len(labels)], pa.float64()), pa.array(labels, pa.int64())))
    assert (found.roc_table().num_rows, found.pr_table().num_rows) == (0, 0)
