"""The metrics of the binary and regression statistics are those of PySpark's evaluators."""

import numpy as np
import pyarrow as pa
import pytest

from penstock import frames
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


def gathered(statistic, data, parts=3):
    chunks = [np.array_split(column, parts) for column in data.values()]
    tables = [pa.table(dict(zip(data, chunk, strict=True))) for chunk in zip(*chunks, strict=True)]
    return statistic.finish(statistic.merge([statistic.summarise(frames.from_arrow(table)) for table in tables]))


def spark_frame(spark, data):
    rows = zip(*(column.tolist() for column in data.values()), strict=True)
    return spark.createDataFrame(list(rows), list(data))


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
    if case == "inverted":
        label = 1 - label
    if case == "two_rows":
        score, label, weight = np.array([0.2, 0.7]), np.array([1.0, 0.0]), np.array([2.0, 3.0])
    if case == "one_score":
        score = np.full(600, 0.5)
    return {"score": score, "label": label, "weight": weight}


@pytest.mark.pairwise
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", ["areaUnderROC", "areaUnderPR"])
@pytest.mark.parametrize(
    "case", ["distinct", "ties", "zero_weights", "integer_weights", "inverted", "two_rows", "one_score"]
)
def test_areas_are_mllibs(spark, case, metric, weighted):
    from pyspark.ml.evaluation import BinaryClassificationEvaluator

    data = binary_data(case)
    options = {"weightCol": "weight"} if weighted else {}
    evaluator = BinaryClassificationEvaluator(rawPredictionCol="score", metricName=metric, numBins=0, **options)
    curve = gathered(BinaryCurve(("score", "label", "weight") if weighted else ("score", "label")), data)
    found = {"areaUnderROC": curve.area_under_roc, "areaUnderPR": curve.area_under_pr}[metric]
    assert found == pytest.approx(evaluator.evaluate(spark_frame(spark, data)), rel=1e-12)


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


OF_MLLIB = {
    "rmse": "rootMeanSquaredError", "mse": "meanSquaredError", "mae": "meanAbsoluteError", "var": "explainedVariance",
}  # fmt: skip
"""Metrics by what MLlib calls them where it tells all of one pass; they do not depend on the origin."""


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", ["normal", "zeros", "zero_weights", "light", "worse_than_mean", "two_rows"])
def test_regression_metrics_are_mllibs(spark, case, weighted):
    data = regression_data(case)
    columns = ("prediction", "label", "weight") if weighted else ("prediction", "label")
    errors, frame = gathered(RegressionErrors(columns), data), spark_frame(spark, data)
    plain, through_origin = (of_mllib(frame, weighted, through) for through in (False, True))
    found = {name: getattr(errors, name) for name in OF_MLLIB}
    expected = {name: getattr(plain, theirs)() for name, theirs in OF_MLLIB.items()}
    assert found == pytest.approx(expected, rel=1e-12)
    assert [errors.r2(), errors.r2(True)] == pytest.approx([plain.r2(), through_origin.r2()], rel=1e-12)


def of_mllib(frame, weighted, through_origin):
    """Return all the metrics that MLlib has of one pass."""
    from pyspark.ml.evaluation import RegressionEvaluator

    options = {"weightCol": "weight"} if weighted else {}
    evaluator = RegressionEvaluator(throughOrigin=through_origin, **options)
    evaluator._transfer_params_to_java()
    return evaluator._java_obj.getMetrics(frame._jdf)


def test_where_mllib_has_no_number_there_is_none(spark):
    from pyspark.ml.evaluation import RegressionEvaluator

    data = {"prediction": np.array([3.0, 3.0]), "label": np.array([3.0, 3.0])}
    assert np.isnan(RegressionEvaluator(metricName="r2").evaluate(spark_frame(spark, data)))
    assert gathered(RegressionErrors(("prediction", "label")), data, parts=1).r2() is None
