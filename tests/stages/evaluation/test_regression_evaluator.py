"""Every metric of predicted numbers against PySpark and scikit-learn; the tables of residuals, bounds and reasons."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn import metrics as sk

from penstock.engines.local import LocalEngine
from penstock.errors import ConfigError, DataValueError
from penstock.stages.evaluation import RegressionEvaluator
from penstock.statistics.evaluation.histogram import Residuals
from penstock.statistics.evaluation.regression import RegressionErrors

ROWS = 501
MLLIBS = ["rmse", "mse", "r2", "mae", "var"]
OURS = ["mape", "pinballLoss", "maxError", "medianAbsoluteError"]


def dataset(columns, **options):
    return LocalEngine(device="cpu").from_arrow(pa.table(columns), **options)


def columns():
    rng = np.random.default_rng(21)
    label = rng.normal(5.0, 2.0, ROWS)
    return {"label": label, "prediction": label + rng.normal(0.3, 1.0, ROWS), "w": rng.integers(0, 4, ROWS) + 0.5}


def scored():
    return dataset(columns(), fragment_bytes=2000)


def test_metrics_are_scikit_learns():
    data = columns()
    label, prediction = data["label"], data["prediction"]
    found = RegressionEvaluator().evaluate(scored())
    assert list(found) == MLLIBS + OURS
    assert found["rmse"] == pytest.approx(sk.root_mean_squared_error(label, prediction), rel=1e-12)
    assert found["r2"] == pytest.approx(sk.r2_score(label, prediction), rel=1e-12)
    assert found["var"] == pytest.approx(np.mean((prediction - label.mean()) ** 2), rel=1e-12)
    for weight, given in [(None, {}), ("w", {"sample_weight": data["w"]})]:
        found = RegressionEvaluator(weight=weight, quantile=0.9).evaluate(scored())
        assert found["mse"] == pytest.approx(sk.mean_squared_error(label, prediction, **given), rel=1e-12)
        assert found["mae"] == pytest.approx(sk.mean_absolute_error(label, prediction, **given), rel=1e-12)
        mape = sk.mean_absolute_percentage_error(label, prediction, **given)
        assert found["mape"] == pytest.approx(mape, rel=1e-12)
        loss = sk.mean_pinball_loss(label, prediction, alpha=0.9, **given)
        assert found["pinballLoss"] == pytest.approx(loss, rel=1e-12)
        assert found["maxError"] == sk.max_error(label, prediction)
        weights = data["w"] if weight else None
        median = np.quantile(np.abs(label - prediction), 0.5, method="inverted_cdf", weights=weights)
        assert abs(found["medianAbsoluteError"] - median) <= found.bounds["medianAbsoluteError"] < 1e-2


@pytest.mark.thorough
def test_tables_have_the_residuals():
    data = columns()
    residual = data["label"] - data["prediction"]
    found = RegressionEvaluator().evaluate(scored())
    assert list(found.tables) == ["residuals", "residualHistogram", "residualQuantiles"]
    by_prediction, bars, quantiles = found.tables.values()
    assert by_prediction.column_names == ["lower", "upper", "weight", "mean", "std"]
    mean = np.average(by_prediction["mean"].to_numpy(), weights=by_prediction["weight"].to_numpy())
    assert mean == pytest.approx(residual.mean(), rel=1e-12)
    assert bars.column_names == ["lower", "upper", "weight"]
    assert (sum(bars["weight"].to_pylist()), bars["lower"][0].as_py() <= residual.min()) == (ROWS, True)
    assert quantiles["quantile"].to_pylist() == [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99]
    exact = np.quantile(residual, quantiles["quantile"].to_numpy(), method="inverted_cdf")
    assert np.abs(quantiles["value"].to_numpy() - exact).max() < found.bounds["medianAbsoluteError"]


@pytest.mark.thorough
def test_only_what_the_metrics_need_is_gathered():
    both = [RegressionErrors, Residuals]
    for metrics, kinds in [("mae", [RegressionErrors]), ("medianAbsoluteError", [Residuals]), (None, both)]:
        evaluator = RegressionEvaluator(metrics=metrics)
        assert [type(each) for each in evaluator.statistics(pa.schema([])).values()] == kinds
        assert list(evaluator.evaluate(scored())) == list(evaluator.names)


def test_labels_of_zero_or_of_one_value_leave_only_one_metric_undefined():
    found = RegressionEvaluator().evaluate(dataset({"label": [2.0, 2.0], "prediction": [1.0, 3.0]}))
    assert found.reasons == {"r2": "the labels do not vary, or the weights sum to 1"}
    assert (found["r2"], found["mse"]) == (None, 1.0)
    found = RegressionEvaluator().evaluate(dataset({"label": [0.0, 2.0], "prediction": [1.0, 2.5]}))
    assert found.reasons == {"mape": "1 rows have a label of 0, relative to which there is no error"}
    assert found["maxError"] == 1.0


def test_without_weight_all_is_undefined_with_a_reason():
    for rows in (0, 2):
        ones = pa.array([1.0] * rows, pa.float64())
        data = {"label": ones, "prediction": ones, "w": pa.array([0.0] * rows, pa.float64())}
        found = RegressionEvaluator(weight="w").evaluate(dataset(data))
        assert found == dict.fromkeys(MLLIBS + OURS)
        assert set(found.reasons.values()) == {"no row has a positive weight"}
        assert found.bounds == {}
        assert found.tables["residualQuantiles"]["value"].null_count == 7


def test_a_bad_value_is_refused_by_each_alone():
    data = dataset({"label": [1.0, 2.0], "prediction": [1.0, float("inf")]})
    for metric in ("mae", "medianAbsoluteError"):
        with pytest.raises(DataValueError, match="column 'prediction' has 1 values that are infinite") as caught:
            RegressionEvaluator(metrics=metric).evaluate(data)
        assert caught.value.row == 1


def test_a_quantile_that_is_no_fraction_is_refused():
    with pytest.raises(ConfigError, match="quantile is 50, expected a fraction"):
        RegressionEvaluator(quantile=50)
