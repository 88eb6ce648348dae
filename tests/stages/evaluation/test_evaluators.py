"""Metrics against scikit-learn and closed forms, one scan for all, and errors that say where."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import metrics as sk

from penstock.engines.local import LocalEngine
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.stages.evaluation import BinaryClassificationEvaluator, Evaluator, RegressionEvaluator, evaluate

ROWS = 300


@pytest.fixture(scope="module")
def engine() -> LocalEngine:
    return LocalEngine(device="cpu")


@pytest.fixture(scope="module")
def columns() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(11)
    label = generator.integers(0, 2, ROWS)
    return {
        "label": label,
        "rawPrediction": np.round(label + generator.normal(size=ROWS), 1),  # rounded, so that scores tie
        "weight": generator.integers(0, 4, ROWS).astype(float),
        "target": generator.normal(1e6, 2.0, ROWS),
        "noise": generator.normal(0.3, 1.0, ROWS),
    }


@pytest.fixture
def scored(engine, columns):
    table = pa.table({**columns, "prediction": columns["target"] + columns["noise"]})
    return engine.from_arrow(table, fragment_bytes=2000)


def evaluated(engine, evaluator, **columns):
    return evaluator.evaluate(engine.from_arrow(pa.table(columns)))


def test_area_under_roc_is_that_of_sklearn(scored, columns):
    expected = sk.roc_auc_score(columns["label"], columns["rawPrediction"])
    assert BinaryClassificationEvaluator().evaluate(scored)["areaUnderROC"] == pytest.approx(expected, rel=1e-12)


def test_weighted_area_under_roc_is_that_of_sklearn(scored, columns):
    expected = sk.roc_auc_score(columns["label"], columns["rawPrediction"], sample_weight=columns["weight"])
    found = BinaryClassificationEvaluator(weight="weight").evaluate(scored)["areaUnderROC"]
    assert found == pytest.approx(expected, rel=1e-12)


def test_area_under_pr_is_the_trapezoid_from_the_first_precision(scored, columns):
    # scikit-learn's curve ends at (recall 0, precision 1); MLlib's begins at the first threshold's precision.
    precision, recall, _ = sk.precision_recall_curve(columns["label"], columns["rawPrediction"])
    precision[-1] = precision[-2]
    expected = sk.auc(recall, precision)
    assert BinaryClassificationEvaluator().evaluate(scored)["areaUnderPR"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.thorough
def test_regression_errors_are_those_of_sklearn(scored, columns):
    truth, guess = columns["target"], columns["target"] + columns["noise"]
    found = RegressionEvaluator(label="target").evaluate(scored)
    assert found["mse"] == pytest.approx(sk.mean_squared_error(truth, guess), rel=1e-9)
    assert found["rmse"] == pytest.approx(sk.root_mean_squared_error(truth, guess), rel=1e-9)
    assert found["mae"] == pytest.approx(sk.mean_absolute_error(truth, guess), rel=1e-9)
    assert found["r2"] == pytest.approx(sk.r2_score(truth, guess), rel=1e-9)


@pytest.mark.thorough
def test_weighted_errors_are_those_of_sklearn(scored, columns):
    truth, guess, weight = columns["target"], columns["target"] + columns["noise"], columns["weight"]
    found = RegressionEvaluator(label="target", weight="weight").evaluate(scored)
    assert found["mse"] == pytest.approx(sk.mean_squared_error(truth, guess, sample_weight=weight), rel=1e-9)
    assert found["mae"] == pytest.approx(sk.mean_absolute_error(truth, guess, sample_weight=weight), rel=1e-9)


@pytest.mark.thorough
def test_var_is_the_distance_of_predictions_from_the_mean_label(scored, columns):
    guess = columns["target"] + columns["noise"]
    expected = np.mean((guess - columns["target"].mean()) ** 2)
    assert RegressionEvaluator(label="target").evaluate(scored)["var"] == pytest.approx(expected, rel=1e-9)


def test_r2_through_the_origin_compares_with_zero(engine):
    evaluator = RegressionEvaluator(through_origin=True, metrics=["r2"])
    found = evaluated(engine, evaluator, label=[1.0, 2.0], prediction=[1.0, 1.0])
    assert found == {"r2": pytest.approx(1 - 1 / 5)}


@pytest.mark.parametrize(("labels", "absent"), [([1, 1], "negative"), ([0, 0], "positive"), ([False], "positive")])
def test_areas_of_one_class_are_undefined_with_a_reason(engine, labels, absent):
    evaluator = BinaryClassificationEvaluator(metrics=["areaUnderROC", "areaUnderPR"])
    found = evaluated(engine, evaluator, label=labels, rawPrediction=[0.1, 0.2][: len(labels)])
    assert found == {"areaUnderROC": None, "areaUnderPR": None}
    assert absent in found.reasons["areaUnderROC"]
    assert found.reasons.keys() == found.keys()


def test_r2_of_constant_labels_is_undefined_and_the_rest_is_not(engine):
    found = evaluated(engine, RegressionEvaluator(), label=[2.0, 2.0], prediction=[1.0, 3.0])
    assert found["r2"] is None
    assert found["mse"] == 1.0
    assert list(found.reasons) == ["r2"]


def test_without_rows_everything_is_undefined(engine):
    empty = pa.table({name: pa.array([], pa.float64()) for name in ("label", "prediction", "rawPrediction")})
    found = evaluate(engine.from_arrow(empty), [BinaryClassificationEvaluator(), RegressionEvaluator()])
    assert set(found.values()) == {None}
    assert found.keys() == found.reasons.keys()
    assert all(found.reasons.values())


@pytest.mark.thorough
def test_several_evaluators_share_one_scan_of_their_columns(scored, monkeypatch):
    gathered = []
    probe = type(scored).probe

    def noted(self, probes, label):
        gathered.append(probes)
        return probe(self, probes, label)

    monkeypatch.setattr(type(scored), "probe", noted)
    evaluators = [
        BinaryClassificationEvaluator(metrics=["areaUnderROC"]),
        BinaryClassificationEvaluator(metrics=["areaUnderPR"]),
        RegressionEvaluator(label="target", metrics=["rmse", "var"]),
    ]
    found = evaluate(scored, evaluators)
    assert list(found) == ["areaUnderROC", "areaUnderPR", "rmse", "var"]
    [[probe]] = gathered
    [whole] = probe.statistics
    assert set(whole.columns) == {"rawPrediction", "label", "prediction", "target"}
    assert len(whole.statistics) == len(set(whole.statistics))


def test_two_evaluators_of_one_metric_are_refused(scored):
    twice = [RegressionEvaluator(), RegressionEvaluator(label="target")]
    with pytest.raises(ConfigError, match=r"'rmse' is reported by .*[\s\S]*metrics="):
        evaluate(scored, twice)


def test_no_evaluator_is_refused(scored):
    with pytest.raises(ConfigError, match="no evaluator"):
        evaluate(scored, [])


def test_an_unknown_metric_names_the_nearest():
    with pytest.raises(ConfigError, match="Did you mean 'areaUnderROC'"):
        BinaryClassificationEvaluator(metrics=["areaUnderRoc"])


def test_one_metric_may_be_given_as_a_string():
    assert RegressionEvaluator(metrics="mae").names == ("mae",)


def test_no_metrics_are_refused():
    with pytest.raises(ConfigError, match="empty"):
        RegressionEvaluator(metrics=())


@pytest.mark.parametrize(
    ("evaluator", "larger"),
    [
        (BinaryClassificationEvaluator(), {"areaUnderROC": True, "areaUnderPR": True, "logLoss": False}),
        (RegressionEvaluator(), {"rmse": False, "mse": False, "mae": False, "r2": True, "var": True}),
    ],
)
def test_which_metrics_are_better_when_larger(evaluator: Evaluator, larger):
    assert {name: evaluator.is_larger_better(name) for name in larger} == larger


def test_larger_better_of_an_unknown_metric_is_refused():
    with pytest.raises(ConfigError, match="'auc'"):
        RegressionEvaluator().is_larger_better("auc")


def test_a_missing_column_is_refused_before_reading(scored):
    with pytest.raises(SchemaError, match="Did you mean 'prediction'") as caught:
        RegressionEvaluator(prediction="predictions").evaluate(scored)
    assert caught.value.column == "predictions"
    assert caught.value.stage == "RegressionEvaluator"


def test_a_column_of_strings_is_refused(engine):
    with pytest.raises(SchemaError, match="'label' is string"):
        evaluated(engine, RegressionEvaluator(), label=["a"], prediction=[1.0])


def test_a_bad_label_names_its_file_and_row(engine, tmp_path):
    for part, labels in enumerate([[0, 1, 1], [0, 2, 1]]):
        pq.write_table(pa.table({"label": labels, "rawPrediction": [0.1, 0.2, 0.3]}), tmp_path / f"{part}.parquet")
    dataset = engine.read_parquet(str(tmp_path / "*.parquet"))
    with pytest.raises(DataValueError) as caught:
        BinaryClassificationEvaluator().evaluate(dataset)
    place = caught.value
    assert place.path is not None
    assert place.path.endswith("1.parquet")
    assert (place.row, place.column, place.stage) == (1, "label", "BinaryClassificationEvaluator")
