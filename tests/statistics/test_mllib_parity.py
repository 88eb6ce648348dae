"""The metrics of the binary and regression statistics are those of PySpark's evaluators."""

import numpy as np
import pyarrow as pa
import pytest
from gathering import cut, gathered
from mllib_metrics import frame_of, metrics_of

from penstock.statistics import BinaryCurve, RegressionErrors

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]


@pytest.fixture(scope="module")
def spark(request, engines):
    if "spark" not in request.config.getoption("--engines"):
        pytest.skip("spark is not among --engines")
    return engines.get("spark").session


def in_parts(statistic, data, parts=3):
    table = pa.table(data)
    return gathered(statistic, *cut(table, *(len(table) * place // parts for place in range(1, parts))))


def binary_data(case):
    rng = np.random.default_rng(11)
    label = rng.integers(0, 2, 600).astype(float)
    score = rng.normal(size=600) + label
    weight = rng.exponential(size=600)
    if case == "ties":
        score = np.round(score) + 0.0  # no -0.0: Spark counts it as another threshold, or not, by partition
    if case == "zero_weights":
        weight[np.argsort(score)[-5:]] = 0.0
    if case == "integer_weights":
        weight = np.ceil(weight)
    if case == "two_rows":
        score, label, weight = np.array([0.2, 0.7]), np.array([1.0, 0.0]), np.array([2.0, 3.0])
    if case == "one_score":
        score = np.full(600, 0.5)
    return {"score": score, "label": label, "weight": weight}


@pytest.mark.parametrize("case", ["distinct", "ties", "zero_weights", "integer_weights", "two_rows", "one_score"])
def test_areas_are_mllibs(spark, case):
    from pyspark.ml.evaluation import BinaryClassificationEvaluator

    data = binary_data(case)
    frame = frame_of(spark, data)
    for weighted in (True,) if "weights" in case else (False, True):
        options = {"weightCol": "weight"} if weighted else {}
        evaluator = BinaryClassificationEvaluator(rawPredictionCol="score", numBins=0, **options)
        curve = in_parts(BinaryCurve(("score", "label", "weight") if weighted else ("score", "label")), data)
        found = {"areaUnderROC": curve.area_under_roc, "areaUnderPR": curve.area_under_pr}
        assert found == pytest.approx(metrics_of(evaluator, frame, found), rel=1e-12)


def regression_data(case):
    rng = np.random.default_rng(12)
    label = rng.normal(size=500) + 3
    prediction = label + rng.normal(size=500)
    weight = rng.exponential(size=500)
    if case == "zeros":
        label[::3], prediction[::5] = 0.0, 0.0
    if case == "zero_weights":
        weight[::4] = 0.0
    if case == "light":
        weight /= 2 * weight.sum()
    if case == "worse_than_mean":
        prediction = -5 * label
    if case == "two_rows":
        label, prediction, weight = np.array([1.0, 4.0]), np.array([2.0, 2.0]), np.array([0.5, 3.0])
    return {"prediction": prediction, "label": label, "weight": weight}


@pytest.mark.parametrize("case", ["normal", "zeros", "zero_weights", "light", "worse_than_mean", "two_rows"])
def test_regression_metrics_are_mllibs(spark, case):
    from pyspark.ml.evaluation import RegressionEvaluator

    data = regression_data(case)
    frame = frame_of(spark, data)
    for weighted in (True,) if case in ("zero_weights", "light") else (False, True):
        columns = ("prediction", "label", "weight") if weighted else ("prediction", "label")
        errors = in_parts(RegressionErrors(columns), data)
        options = {"weightCol": "weight"} if weighted else {}
        for through_origin in (False, True):
            found = {name: getattr(errors, name) for name in ("rmse", "mse", "mae", "var")}
            found["r2"] = errors.r2(through_origin)
            evaluator = RegressionEvaluator(throughOrigin=through_origin, **options)
            assert found == pytest.approx(metrics_of(evaluator, frame, found), rel=1e-12)
