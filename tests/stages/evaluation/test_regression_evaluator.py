"""Every metric of predicted numbers against PySpark and scikit-learn; the tables of residuals, bounds and reasons."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn import metrics as sk

from penstock.engines.local import LocalEngine
from penstock.errors import ConfigError, DataValueError
from penstock.stages.evaluation import RegressionEvaluator, evaluate
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


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize("through_origin", [False, True])
@pytest.mark.parametrize("weight", [None, "w"])
def test_metrics_are_mllibs(spark, weight, through_origin):
    from pyspark.ml.evaluation import RegressionEvaluator as MLlib

    data = columns()
    rows = list(zip(*(column.tolist() for column in data.values()), strict=True))
    frame = spark.createDataFrame(rows, list(data)).coalesce(1).cache()
    options = {"weightCol": weight} if weight else {}
    theirs = {name: MLlib(metricName=name, throughOrigin=through_origin, **options) for name in MLLIBS}
    mine = RegressionEvaluator(weight=weight, through_origin=through_origin, metrics=MLLIBS)
    expected = {name: evaluator.evaluate(frame) for name, evaluator in theirs.items()}
    assert mine.evaluate(scored()) == pytest.approx(expected, rel=1e-12)
    better = {name: evaluator.isLargerBetter() for name, evaluator in theirs.items()}
    assert {name: mine.is_larger_better(name) for name in MLLIBS} == better


@pytest.mark.thorough
@pytest.mark.parametrize("weight", [None, "w"])
def test_the_other_metrics_are_scikit_learns(weight):
    data = columns()
    label, prediction, weights = data["label"], data["prediction"], data["w"] if weight else None
    found = RegressionEvaluator(weight=weight, quantile=0.9, metrics=OURS).evaluate(scored())
    mape = sk.mean_absolute_percentage_error(label, prediction, sample_weight=weights)
    assert found["mape"] == pytest.approx(mape, rel=1e-12)
    loss = sk.mean_pinball_loss(label, prediction, sample_weight=weights, alpha=0.9)
    assert found["pinballLoss"] == pytest.approx(loss, rel=1e-12)
    assert found["maxError"] == sk.max_error(label, prediction)
    median = np.quantile(np.abs(label - prediction), 0.5, method="inverted_cdf", weights=weights)
    assert abs(found["medianAbsoluteError"] - median) <= found.bounds["medianAbsoluteError"] < 1e-2


@pytest.mark.thorough
def test_all_metrics_are_reported_in_order_unless_some_are_asked_for():
    assert list(RegressionEvaluator().evaluate(scored())) == MLLIBS + OURS


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
@pytest.mark.parametrize(
    ("metrics", "kinds"),
    [("mae", [RegressionErrors]), ("medianAbsoluteError", [Residuals]), (None, [RegressionErrors, Residuals])],
)
def test_only_what_the_metrics_need_is_gathered(metrics, kinds):
    evaluator = RegressionEvaluator(metrics=metrics)
    assert [type(each) for each in evaluator.statistics(pa.schema([])).values()] == kinds
    assert list(evaluator.evaluate(scored())) == list(evaluator.names)


def test_a_label_of_zero_leaves_only_mape_undefined():
    found = RegressionEvaluator().evaluate(dataset({"label": [0.0, 2.0], "prediction": [1.0, 2.5]}))
    assert found.reasons == {"mape": "1 rows have a label of 0, relative to which there is no error"}
    assert found["maxError"] == 1.0


@pytest.mark.parametrize("rows", [0, 2])
def test_without_weight_all_is_undefined_with_a_reason(rows):
    ones = pa.array([1.0] * rows, pa.float64())
    data = {"label": ones, "prediction": ones, "w": pa.array([0.0] * rows, pa.float64())}
    found = RegressionEvaluator(weight="w").evaluate(dataset(data))
    assert found == dict.fromkeys(MLLIBS + OURS)
    assert set(found.reasons.values()) == {"no row has a positive weight"}
    assert found.bounds == {}
    assert found.tables["residualQuantiles"]["value"].null_count == 7


@pytest.mark.thorough
def test_slices_and_a_bootstrap_have_every_metric():
    data = {**columns(), "part": np.arange(ROWS) % 2}
    found = evaluate(dataset(data), [RegressionEvaluator()], slices=["part"], bootstrap=20)
    halves = RegressionEvaluator().evaluate(dataset({name: values[::2] for name, values in data.items()}))
    first = found.slices["part"].to_pylist()[0]
    assert {name: first[name] for name in halves} == pytest.approx(halves, rel=1e-12)
    assert all(low <= found[name] <= high for name, (low, high) in found.intervals.items())
    assert list(found.intervals) == MLLIBS + OURS


def test_a_bad_value_is_refused_by_each_alone():
    data = dataset({"label": [1.0, 2.0], "prediction": [1.0, float("inf")]})
    for metric in ("mae", "medianAbsoluteError"):
        with pytest.raises(DataValueError, match="column 'prediction' has 1 values that are infinite") as caught:
            RegressionEvaluator(metrics=metric).evaluate(data)
        assert caught.value.row == 1


def test_a_quantile_that_is_no_fraction_is_refused():
    with pytest.raises(ConfigError, match="quantile is 50, expected a fraction"):
        RegressionEvaluator(quantile=50)
