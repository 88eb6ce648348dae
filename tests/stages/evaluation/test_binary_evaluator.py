"""Every metric of a binary classifier against PySpark and scikit-learn; optional columns, tables, bounds and errors."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn import metrics as sk

from penstock.engines.local import LocalEngine
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.stages.evaluation import BinaryClassificationEvaluator, evaluate

ROWS = 400
METRICS = ["areaUnderROC", "areaUnderPR", "logLoss", "brierScore", "ks", "expectedCalibrationError"]


def columns(seed=4):
    draw = np.random.default_rng(seed)
    margin = np.round(draw.normal(size=ROWS), 2)
    probability = 1 / (1 + np.exp(-margin))
    label = (draw.random(ROWS) < probability).astype(float)
    return {"label": label, "rawPrediction": margin, "probability": probability, "w": draw.integers(0, 4, ROWS) + 0.5}


def dataset(table, **options):
    return LocalEngine(device="cpu").from_arrow(table if isinstance(table, pa.Table) else pa.table(table), **options)


def scored(fragment_bytes=2000):
    return dataset(columns(), fragment_bytes=fragment_bytes)


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize("weight", [None, "w"])
def test_the_metrics_are_those_of_pyspark(spark, weight):
    from pyspark.ml import evaluation as ml
    from pyspark.ml.linalg import Vectors

    data = columns()
    vectors = [
        (label, Vectors.dense(-margin, margin), Vectors.dense(1 - p, p), w, float(margin > 0))
        for label, margin, p, w in zip(*(each.tolist() for each in data.values()), strict=True)
    ]
    frame = spark.createDataFrame(vectors, ["label", "rawPrediction", "probability", "w", "prediction"])
    options = {"weightCol": weight} if weight else {}
    binary = ml.BinaryClassificationEvaluator(numBins=0, **options)
    expected = {
        "areaUnderROC": binary.setMetricName("areaUnderROC").evaluate(frame),
        "areaUnderPR": binary.setMetricName("areaUnderPR").evaluate(frame),
        "logLoss": ml.MulticlassClassificationEvaluator(metricName="logLoss", **options).evaluate(frame),
    }
    found = BinaryClassificationEvaluator(weight=weight, metrics=list(expected)).evaluate(scored())
    assert found == {name: pytest.approx(value, rel=1e-12) for name, value in expected.items()}


@pytest.mark.parametrize("weight", [None, "w"])
def test_the_metrics_are_those_of_scikit_learn(weight):
    data = columns()
    label, probability, w = data["label"], data["probability"], data["w"] if weight else None
    false, true, _ = sk.roc_curve(label, probability, sample_weight=w)
    found = BinaryClassificationEvaluator(weight=weight).evaluate(scored())
    assert list(found) == METRICS
    assert found["areaUnderROC"] == pytest.approx(sk.roc_auc_score(label, probability, sample_weight=w), rel=1e-12)
    assert found["logLoss"] == pytest.approx(sk.log_loss(label, probability, sample_weight=w), rel=1e-12)
    assert found["brierScore"] == pytest.approx(sk.brier_score_loss(label, probability, sample_weight=w), rel=1e-12)
    assert found["ks"] == pytest.approx(np.max(np.abs(true - false)), rel=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("num_bins", [0, 30])
def test_the_partitioning_changes_nothing(num_bins):
    evaluator = BinaryClassificationEvaluator(weight="w", num_bins=num_bins)
    shuffled = dataset(pa.table(columns()).take(np.random.default_rng(0).permutation(ROWS)), fragment_bytes=1000)
    whole = evaluator.evaluate(scored(fragment_bytes=2**20))
    assert evaluator.evaluate(shuffled) == {name: pytest.approx(value, rel=1e-12) for name, value in whole.items()}


def test_without_a_column_of_probabilities_what_needs_it_says_so():
    found = BinaryClassificationEvaluator().evaluate(dataset(pa.table(columns()).drop_columns("probability")))
    absent = ["logLoss", "brierScore", "expectedCalibrationError"]
    assert found.reasons == dict.fromkeys(absent, "there is no column 'probability'")
    assert [name for name, value in found.items() if value is None] == absent
    assert set(found.tables) == {"roc", "pr", "gains"}


@pytest.mark.parametrize(
    "evaluator",
    [BinaryClassificationEvaluator(metrics="logLoss"), BinaryClassificationEvaluator(probability="probabilities")],
)
def test_probabilities_that_were_asked_for_must_be_there(evaluator):
    with pytest.raises(SchemaError, match="is not in the data") as caught:
        evaluator.evaluate(dataset(pa.table(columns()).drop_columns("probability")))
    assert (caught.value.column, caught.value.stage) == (evaluator.probability, "BinaryClassificationEvaluator")


def test_a_metric_of_no_column_is_refused():
    with pytest.raises(ConfigError, match="'brierScore' needs a column, but probability is None"):
        BinaryClassificationEvaluator(metrics=["ks", "brierScore"], probability=None)


@pytest.mark.parametrize(
    ("metrics", "read"),
    [
        ("ks", ("rawPrediction", "label", "w")),
        ("logLoss", ("label", "probability", "w")),
        (None, ("rawPrediction", "label", "probability", "w")),
    ],
)
def test_only_the_columns_of_the_metrics_are_read(metrics, read):
    evaluator = BinaryClassificationEvaluator(metrics=metrics, weight="w")
    assert evaluator.columns() == read
    found = evaluator.evaluate(dataset(pa.table(columns()).select(read)))
    assert list(found) == list(evaluator.names)
    assert None not in found.values()


def test_vectors_give_what_their_elements_give():
    data = columns()
    vectors = {
        **data,
        "rawPrediction": pa.array([[-x, x] for x in data["rawPrediction"].tolist()], pa.list_(pa.float64())),
        "probability": pa.array([[1 - p, p] for p in data["probability"].tolist()], pa.list_(pa.float64(), 2)),
    }
    evaluator = BinaryClassificationEvaluator()
    assert evaluator.evaluate(dataset(vectors)) == evaluator.evaluate(scored(fragment_bytes=2**20))


def test_a_bad_vector_names_its_row():
    vectors = {"label": [0, 1], "rawPrediction": pa.array([[0.1, 0.9], [0.5]], pa.list_(pa.float64()))}
    with pytest.raises(DataValueError, match="'rawPrediction' has 1 values that are null") as caught:
        BinaryClassificationEvaluator().evaluate(dataset(vectors))
    assert (caught.value.column, caught.value.row) == ("rawPrediction", 1)


@pytest.mark.parametrize("name", ["label", "w"])
def test_only_scores_and_probabilities_may_be_vectors(name):
    data = {**columns(), name: pa.array([[0.0, 1.0]] * ROWS)}
    with pytest.raises(SchemaError, match=f"column '{name}' is list"):
        BinaryClassificationEvaluator(weight="w").evaluate(dataset(data))


def test_vectors_of_strings_are_refused():
    with pytest.raises(SchemaError, match="'rawPrediction' is list<"):
        BinaryClassificationEvaluator().evaluate(dataset({"label": [1], "rawPrediction": [["a", "b"]]}))


def test_a_probability_out_of_range_names_its_row():
    data = columns()
    data["probability"][7] = 1.5
    with pytest.raises(DataValueError, match=r"'probability' has 1 values that are not between") as caught:
        BinaryClassificationEvaluator().evaluate(dataset(data))
    assert (caught.value.column, caught.value.row) == ("probability", 7)


def test_one_class_leaves_the_losses_defined():
    found = BinaryClassificationEvaluator().evaluate(
        dataset({"label": [1, 1], "rawPrediction": [0.1, 0.2], "probability": [0.5, 0.5]})
    )
    assert found.reasons == dict.fromkeys(["areaUnderROC", "areaUnderPR", "ks"], found.reasons["ks"])
    assert "negative" in found.reasons["ks"]
    assert found["brierScore"] == 0.25


@pytest.mark.parametrize("weights", [[], [0.0, 0.0]])
def test_without_weight_every_metric_is_undefined_with_a_reason(weights):
    values = pa.array([0.0, 1.0][: len(weights)], pa.float64())
    data = dict.fromkeys(("label", "rawPrediction", "probability"), values) | {"w": pa.array(weights, pa.float64())}
    found = BinaryClassificationEvaluator(weight="w", num_bins=5).evaluate(dataset(data))
    assert dict(found) == dict.fromkeys(METRICS)
    assert all(found.reasons[name] for name in METRICS)
    assert found.bounds == {}


@pytest.mark.thorough
def test_cells_come_with_bounds_that_hold():
    exact = BinaryClassificationEvaluator(weight="w").evaluate(scored())
    found = BinaryClassificationEvaluator(weight="w", num_bins=20).evaluate(scored())
    assert set(found.bounds) == {"areaUnderROC", "areaUnderPR", "ks"}
    assert found["areaUnderROC"] != exact["areaUnderROC"]
    assert all(abs(found[name] - exact[name]) <= bound for name, bound in found.bounds.items())
    assert found["logLoss"] == exact["logLoss"]


def test_exact_curves_have_no_bounds():
    assert BinaryClassificationEvaluator().evaluate(scored()).bounds == {}


def test_the_tables_are_what_the_report_draws():
    found = BinaryClassificationEvaluator().evaluate(scored())
    assert {name: table.column_names for name, table in found.tables.items()} == {
        "roc": ["falsePositiveRate", "truePositiveRate", "threshold"],
        "pr": ["recall", "precision", "threshold"],
        "gains": ["fraction", "gain", "lift"],
        "calibration": ["lower", "upper", "weight", "predicted", "observed"],
    }
    assert all(0 < table.num_rows <= 500 for table in found.tables.values())


def test_calibration_bins_and_eps_are_used():
    data = {"label": [1, 0], "rawPrediction": [0.1, 0.2], "probability": [0.0, 0.6]}
    found = BinaryClassificationEvaluator(calibration_bins=2, eps=0.25).evaluate(dataset(data))
    assert found.tables["calibration"]["upper"].to_pylist() == [0.5, 1.0]
    assert found["logLoss"] == pytest.approx(-(np.log(0.25) + np.log(0.4)) / 2, rel=1e-12)


@pytest.mark.parametrize("options", [{"num_bins": 1}, {"calibration_bins": 0}, {"eps": 1.0}])
def test_numbers_out_of_range_are_refused_before_reading(options):
    with pytest.raises(ConfigError, match="expected"):
        BinaryClassificationEvaluator(**options)


def test_replicates_take_cells():
    assert BinaryClassificationEvaluator().reweighted("r") == BinaryClassificationEvaluator(weight="r", num_bins=1000)
    assert BinaryClassificationEvaluator(num_bins=7).reweighted("r").num_bins == 7


@pytest.mark.thorough
def test_a_bootstrap_covers_the_metrics():
    found = evaluate(scored(), [BinaryClassificationEvaluator(weight="w")], bootstrap=20)
    assert set(found.intervals) == set(METRICS)
    low, high = found.intervals["areaUnderROC"]
    assert low < found["areaUnderROC"] < high


def test_losses_are_better_when_small():
    evaluator = BinaryClassificationEvaluator()
    better = {name: evaluator.is_larger_better(name) for name in METRICS}
    assert [name for name, larger in better.items() if not larger] == [
        "logLoss",
        "brierScore",
        "expectedCalibrationError",
    ]
