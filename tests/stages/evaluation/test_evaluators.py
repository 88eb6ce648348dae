"""Evaluators in common: one scan, metric names, columns checked before any read."""

import numpy as np
import pyarrow as pa
import pytest

from penstock.errors import ConfigError, SchemaError
from penstock.stages.evaluation import BinaryClassificationEvaluator, RegressionEvaluator, evaluate


@pytest.fixture
def scored(local):
    draw = np.random.default_rng(11)
    columns = {name: draw.normal(size=300) for name in ("rawPrediction", "prediction", "target", "weight")}
    return local.from_arrow(pa.table({**columns, "label": draw.integers(0, 2, 300)}), fragment_bytes=2000)


def test_r2_through_the_origin_compares_with_zero(local):
    rows = local.from_arrow(pa.table({"label": [1.0, 2.0], "prediction": [1.0, 1.0]}))
    found = RegressionEvaluator(through_origin=True, metrics=["r2"]).evaluate(rows)
    assert found == {"r2": pytest.approx(1 - 1 / 5)}


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


def test_metrics_are_named_by_one_or_several_that_are_known(scored):
    assert RegressionEvaluator(metrics="mae").names == ("mae",)
    with pytest.raises(ConfigError, match="Did you mean 'areaUnderROC'"):
        BinaryClassificationEvaluator(metrics=["areaUnderRoc"])
    with pytest.raises(ConfigError, match="empty"):
        RegressionEvaluator(metrics=())
    with pytest.raises(ConfigError, match="'auc'"):
        RegressionEvaluator().is_larger_better("auc")
    with pytest.raises(ConfigError, match="no evaluator"):
        evaluate(scored, [])


def test_which_metrics_are_better_when_larger():
    for evaluator, smaller in [
        (BinaryClassificationEvaluator(), ["logLoss", "brierScore", "expectedCalibrationError"]),
        (RegressionEvaluator(metrics=["rmse", "mse", "mae", "r2", "var"]), ["rmse", "mse", "mae"]),
    ]:
        assert [name for name in evaluator.names if not evaluator.is_larger_better(name)] == smaller


def test_a_column_that_is_missing_or_of_strings_is_refused_before_reading(local, scored):
    with pytest.raises(SchemaError, match="Did you mean 'prediction'") as caught:
        RegressionEvaluator(prediction="predictions").evaluate(scored)
    assert (caught.value.column, caught.value.stage) == ("predictions", "RegressionEvaluator")
    with pytest.raises(SchemaError, match="'label' is string"):
        RegressionEvaluator().evaluate(local.from_arrow(pa.table({"label": ["a"], "prediction": [1.0]})))
