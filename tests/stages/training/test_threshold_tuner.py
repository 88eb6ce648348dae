"""Thresholds against all that there are, measured by scikit-learn; constraints, costs, ties, and what is refused."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn import metrics

from penstock import stages as st
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError
from penstock.pipeline import Pipeline, PipelineModel

METRICS = {
    "accuracy": metrics.accuracy_score,
    "balancedAccuracy": metrics.balanced_accuracy_score,
    "cohensKappa": lambda y, p, sample_weight: metrics.cohen_kappa_score(y, p, sample_weight=sample_weight),
    "f1": metrics.f1_score,
    "fMeasure": lambda y, p, sample_weight: metrics.fbeta_score(y, p, beta=2.0, sample_weight=sample_weight),
    "geometricMean": lambda y, p, sample_weight: np.sqrt(
        metrics.recall_score(y, p, sample_weight=sample_weight)
        * metrics.recall_score(y, p, sample_weight=sample_weight, pos_label=0)
    ),
    "jaccard": metrics.jaccard_score,
    "matthewsCorrelation": metrics.matthews_corrcoef,
    "precision": lambda y, p, sample_weight: metrics.precision_score(
        y, p, sample_weight=sample_weight, zero_division=0
    ),
    "recall": metrics.recall_score,
    "specificity": lambda y, p, sample_weight: metrics.recall_score(y, p, sample_weight=sample_weight, pos_label=0),
    "youdensJ": lambda y, p, sample_weight: metrics.balanced_accuracy_score(
        y, p, sample_weight=sample_weight, adjusted=True
    ),
}
RNG = np.random.default_rng(3)
LABEL = RNG.random(50) < 0.3
SCORE = np.round(RNG.beta(2, 3, 50) + 0.2 * LABEL, 2).clip(0, 1)
SCORE[np.argmin(LABEL)] = 1.0  # so that no threshold is always right
WEIGHT = RNG.uniform(0.5, 2.0, 50)


def fitted(local: Engine, stage: st.ThresholdTuner, **more: Any) -> PipelineModel:
    table = pa.table({"probability": SCORE, "y": LABEL, "w": WEIGHT, **more})
    return Pipeline(stage).fit(local.from_arrow(table, fragment_bytes=table.nbytes // 3))


@pytest.mark.thorough
def test_no_threshold_has_a_better_metric(local: Engine, subtests: Any) -> None:
    thresholds = [np.nextafter(SCORE.max(), 2), *np.unique(SCORE)[::-1]]
    for metric, of in METRICS.items():
        learned = fitted(local, st.ThresholdTuner("y", metric=metric, beta=2.0, weight="w")).fitted[0]
        values = {threshold: of(LABEL, threshold <= SCORE, sample_weight=WEIGHT) for threshold in thresholds}
        with subtests.test(metric):
            assert learned["value"] == pytest.approx(max(values.values()), rel=1e-12)
            assert learned["value"] == pytest.approx(values[learned["threshold"]], rel=1e-12)
            (tn, fp), (fn, tp) = metrics.confusion_matrix(LABEL, learned["threshold"] <= SCORE, sample_weight=WEIGHT)
            assert learned["confusion"] == pytest.approx({"tp": tp, "fp": fp, "fn": fn, "tn": tn})
            table = learned["table"].to_pydict()
            told = zip(table["threshold"], table["value"], strict=True)
            measured = {at: value for at, value in told if value is not None}
            assert measured == pytest.approx({at: values[at] for at in measured}, rel=1e-12, abs=1e-12)
            assert len(table["threshold"]) == len(values)


def test_the_best_recall_at_a_precision_is_found(local: Engine) -> None:
    learned = fitted(local, st.ThresholdTuner("y", metric="recall", min_precision=0.6)).fitted[0]
    precision, recall, thresholds = metrics.precision_recall_curve(LABEL, SCORE)
    allowed = precision[:-1] >= 0.6
    assert learned["value"] == recall[:-1][allowed].max()
    assert learned["threshold"] in thresholds[allowed]


def test_the_best_precision_at_a_recall_is_found(local: Engine) -> None:
    learned = fitted(local, st.ThresholdTuner("y", metric="precision", min_recall=0.5)).fitted[0]
    precision, recall, _ = metrics.precision_recall_curve(LABEL, SCORE)
    assert learned["value"] == precision[recall >= 0.5].max()


def test_a_precision_out_of_reach_is_told_with_the_largest(local: Engine) -> None:
    largest = metrics.precision_recall_curve(LABEL, SCORE)[0][:-1].max()
    assert largest < 0.99
    with pytest.raises(DataValueError, match=rf"precision of at least 0.99: the largest is {largest:.6g}, at 0\.\d+"):
        fitted(local, st.ThresholdTuner("y", min_precision=0.99))


def test_a_recall_out_of_reach_beside_a_precision_is_told(local: Engine) -> None:
    with pytest.raises(DataValueError, match=r"recall of at least 1.0 and a precision of at least 0.6: the largest is"):
        fitted(local, st.ThresholdTuner("y", min_precision=0.6, min_recall=1.0))


@pytest.mark.thorough
def test_costs_decide_and_gains_are_negative_costs(local: Engine) -> None:
    costs = {"fp": 1.0, "fn": 4.0, "tp": -0.5}
    learned = fitted(local, st.ThresholdTuner("y", costs=costs)).fitted[0]

    def cost(threshold: float) -> float:
        (_, fp), (fn, tp) = metrics.confusion_matrix(LABEL, threshold <= SCORE)
        return (fp + 4 * fn - tp / 2) / len(LABEL)

    assert learned["value"] == pytest.approx(min(map(cost, [2.0, *SCORE])), rel=1e-12)
    assert learned["value"] == pytest.approx(cost(learned["threshold"]), rel=1e-12)


def test_nothing_is_positive_where_that_costs_least(local: Engine) -> None:
    model = fitted(local, st.ThresholdTuner("y", costs={"fp": 1.0, "tp": 1.0}))
    assert model.fitted[0]["threshold"] == np.nextafter(SCORE.max(), 2)
    assert model.predict({"probability": float(SCORE.max())}) == {"prediction": False}


def test_of_equal_thresholds_the_largest_is_taken(local: Engine) -> None:
    table = pa.table({"probability": [0.1, 0.2, 0.3, 0.4], "y": [0, 1, 0, 1]})
    model = Pipeline(st.ThresholdTuner("y", metric="accuracy")).fit(local.from_arrow(table))
    assert model.fitted[0]["threshold"] == 0.4


def test_in_cells_the_metric_at_the_threshold_is_exact(local: Engine) -> None:
    learned = fitted(local, st.ThresholdTuner("y", metric="f1", num_bins=8)).fitted[0]
    assert learned["value"] == pytest.approx(metrics.f1_score(LABEL, learned["threshold"] <= SCORE), rel=1e-12)
    assert learned["table"].num_rows <= 9


def test_a_long_table_is_thinned_with_the_threshold_among_it(local: Engine) -> None:
    rng = np.random.default_rng(1)
    score = rng.random(20_000)
    table = pa.table({"probability": score, "y": rng.random(20_000) < score})
    learned = Pipeline(st.ThresholdTuner("y")).fit(local.from_arrow(table)).fitted[0]
    thresholds = learned["table"]["threshold"].to_pylist()
    assert 300 < len(thresholds) <= 500
    assert learned["threshold"] in thresholds


def test_the_report_names_the_threshold(local: Engine) -> None:
    model = fitted(local, st.ThresholdTuner("y", metric="f1"))
    (note,) = model.report.notes
    assert note == f"ThresholdTuner: threshold {model.fitted[0]['threshold']:.6g} of 'probability': f1 is" + (
        f" {model.fitted[0]['value']:.6g}"
    )


def test_lists_of_two_are_thresholded_by_their_second(local: Engine) -> None:
    plain = fitted(local, st.ThresholdTuner("y", metric="f1"))
    lists = fitted(
        local,
        st.ThresholdTuner("y", metric="f1", probability="both"),
        both=pa.array(np.column_stack([1 - SCORE, SCORE]).tolist(), pa.list_(pa.float64())),
    )
    assert lists.fitted[0]["threshold"] == plain.fitted[0]["threshold"]
    assert lists.predict({"both": [0.0, 1.0]}) == {"prediction": True}


WRONG = [
    ({"metric": "balanced_accuracy"}, "Did you mean 'balancedAccuracy'"),
    ({"metric": "f1", "costs": {"fp": 1}}, "metric of ThresholdTuner is 'f1', and costs is"),
    ({"costs": {"fpr": 1}}, "Did you mean 'fp'"),
    ({"costs": {}}, "expected numbers by"),
    ({"costs": {"fp": float("nan")}}, "expected finite numbers"),
    ({"min_recall": 1.5}, "min_recall of ThresholdTuner is 1.5"),
    ({"beta": 0}, "beta of ThresholdTuner is 0"),
]


def test_parameters_that_make_no_sense_are_refused(subtests: Any) -> None:
    for options, problem in WRONG:
        with subtests.test(**options), pytest.raises(ConfigError, match=problem):
            st.ThresholdTuner("y", **options)


def test_a_metric_that_is_undefined_at_every_threshold_is_refused(local: Engine) -> None:
    data = local.from_arrow(pa.table({"probability": [0.5, 0.5], "y": [0, 1]}))
    with pytest.raises(DataValueError, match="matthewsCorrelation is undefined at every threshold of 'probability'"):
        Pipeline(st.ThresholdTuner("y", metric="matthewsCorrelation")).fit(data)


@pytest.mark.parametrize("num_bins", [0, 8])
def test_rows_without_weight_are_as_if_absent(local: Engine, num_bins: int) -> None:
    weight = np.where(SCORE < 0.4, 0.0, WEIGHT)
    stage = st.ThresholdTuner("y", metric="f1", weight="w", num_bins=num_bins)
    table = pa.table({"probability": SCORE, "y": LABEL, "w": weight})
    some, all_of_them = (
        Pipeline(stage).fit(local.from_arrow(rows, fragment_bytes=rows.nbytes // 3)).fitted[0]
        for rows in (table.filter(weight > 0), table)
    )
    one, other = (np.array([list(row.values()) for row in each["table"].to_pylist()]) for each in (all_of_them, some))
    np.testing.assert_allclose(one, other, rtol=1e-12)
    assert all_of_them["threshold"] == some["threshold"]


def test_three_classes_are_refused(local: Engine) -> None:
    data = local.from_arrow(pa.table({"probability": [0.1, 0.2, 0.3], "y": [0, 1, 2]}))
    with pytest.raises(DataValueError, match=r"(?s)has 3 class.*a threshold is for two"):
        Pipeline(st.ThresholdTuner("y")).fit(data)


def test_a_class_without_weight_is_refused(local: Engine) -> None:
    data = local.from_arrow(pa.table({"probability": [0.1, 0.2], "y": [0, 1], "w": [1.0, 0.0]}))
    with pytest.raises(DataValueError, match=r"1 class.*of a weight above 0"):
        Pipeline(st.ThresholdTuner("y", weight="w")).fit(data)
