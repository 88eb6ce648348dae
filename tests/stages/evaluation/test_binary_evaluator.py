"""Every metric of a binary classifier against PySpark and scikit-learn; optional columns, tables, bounds and errors."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn import metrics as sk

from penstock.engines.local import LocalEngine
from penstock.errors import ConfigError, SchemaError
from penstock.stages.evaluation import BinaryClassificationEvaluator
from penstock.statistics.evaluation.curves import Curve

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


@pytest.mark.parametrize("weight", [None, "w"])
def test_the_metrics_are_those_of_scikit_learn(weight):
    data = columns()
    label, probability, w = data["label"], data["probability"], data["w"] if weight else None
    false, true, _ = sk.roc_curve(label, probability, sample_weight=w)
    # scikit-learn's curve ends at (recall 0, precision 1); MLlib's begins at the first threshold's precision.
    precision, recall, _ = sk.precision_recall_curve(label, probability, sample_weight=w)
    precision[-1] = precision[-2]
    found = BinaryClassificationEvaluator(weight=weight).evaluate(scored())
    assert list(found) == METRICS
    assert found.bounds == {}
    assert found["areaUnderROC"] == pytest.approx(sk.roc_auc_score(label, probability, sample_weight=w), rel=1e-12)
    assert found["areaUnderPR"] == pytest.approx(sk.auc(recall, precision), rel=1e-12)
    assert found["logLoss"] == pytest.approx(sk.log_loss(label, probability, sample_weight=w), rel=1e-12)
    assert found["brierScore"] == pytest.approx(sk.brier_score_loss(label, probability, sample_weight=w), rel=1e-12)
    assert found["ks"] == pytest.approx(np.max(np.abs(true - false)), rel=1e-12)


def test_without_a_column_of_probabilities_what_needs_it_says_so():
    found = BinaryClassificationEvaluator().evaluate(dataset(pa.table(columns()).drop_columns("probability")))
    absent = ["logLoss", "brierScore", "expectedCalibrationError"]
    assert found.reasons == dict.fromkeys(absent, "there is no column 'probability'")
    assert [name for name, value in found.items() if value is None] == absent
    assert set(found.tables) == {"roc", "pr", "gains"}


def test_probabilities_that_were_asked_for_must_be_there():
    for options in ({"metrics": "logLoss"}, {"probability": "probabilities"}):
        evaluator = BinaryClassificationEvaluator(**options)
        with pytest.raises(SchemaError, match="is not in the data") as caught:
            evaluator.evaluate(dataset(pa.table(columns()).drop_columns("probability")))
        assert (caught.value.column, caught.value.stage) == (evaluator.probability, "BinaryClassificationEvaluator")


def test_a_metric_of_no_column_is_refused():
    with pytest.raises(ConfigError, match="'brierScore' needs a column, but probability is None"):
        BinaryClassificationEvaluator(metrics=["ks", "brierScore"], probability=None)


def test_only_the_columns_of_the_metrics_are_read():
    for metrics, read in [
        ("ks", ("rawPrediction", "label", "w")),
        ("logLoss", ("label", "probability", "w")),
        (None, ("rawPrediction", "label", "probability", "w")),
    ]:
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


def test_only_scores_and_probabilities_may_be_vectors_and_of_numbers_only():
    for name in ("label", "w"):
        data = {**columns(), name: pa.array([[0.0, 1.0]] * ROWS)}
        with pytest.raises(SchemaError, match=f"column '{name}' is list"):
            BinaryClassificationEvaluator(weight="w").evaluate(dataset(data))
    with pytest.raises(SchemaError, match="'rawPrediction' is list<"):
        BinaryClassificationEvaluator().evaluate(dataset({"label": [1], "rawPrediction": [["a", "b"]]}))


def test_one_class_leaves_the_losses_defined():
    found = BinaryClassificationEvaluator().evaluate(
        dataset({"label": [1, 1], "rawPrediction": [0.1, 0.2], "probability": [0.5, 0.5]})
    )
    assert found.reasons == dict.fromkeys(["areaUnderROC", "areaUnderPR", "ks"], found.reasons["ks"])
    assert "negative" in found.reasons["ks"]
    assert found["brierScore"] == 0.25


@pytest.mark.thorough
def test_cells_come_with_bounds_that_hold():
    exact = BinaryClassificationEvaluator(weight="w").evaluate(scored())
    found = BinaryClassificationEvaluator(weight="w", num_bins=20).evaluate(scored())
    assert set(found.bounds) == {"areaUnderROC", "areaUnderPR", "ks"}
    assert found["areaUnderROC"] != exact["areaUnderROC"]
    assert all(abs(found[name] - exact[name]) <= bound for name, bound in found.bounds.items())
    assert found["logLoss"] == exact["logLoss"]


def test_the_tables_are_what_the_report_draws():
    found = BinaryClassificationEvaluator().evaluate(scored())
    assert {name: table.column_names for name, table in found.tables.items()} == {
        "roc": ["falsePositiveRate", "truePositiveRate", "threshold"],
        "pr": ["recall", "precision", "threshold"],
        "gains": ["fraction", "gain", "lift"],
        "calibration": ["lower", "upper", "weight", "predicted", "observed"],
    }
    assert all(0 < table.num_rows <= 500 for table in found.tables.values())


def test_a_metric_that_is_not_asked_for_costs_no_table_and_no_pass_over_thresholds(monkeypatch):
    for name in ("pr", "pr_table", "gains_table"):
        monkeypatch.delattr(Curve, name)
    found = BinaryClassificationEvaluator(metrics="areaUnderROC").evaluate(scored())
    assert (list(found.tables), found["areaUnderROC"]) == (["roc"], pytest.approx(0.7, abs=0.1))


def test_calibration_bins_and_eps_are_used():
    data = {"label": [1, 0], "rawPrediction": [0.1, 0.2], "probability": [0.0, 0.6]}
    found = BinaryClassificationEvaluator(calibration_bins=2, eps=0.25).evaluate(dataset(data))
    assert found.tables["calibration"]["upper"].to_pylist() == [0.5, 1.0]
    assert found["logLoss"] == pytest.approx(-(np.log(0.25) + np.log(0.4)) / 2, rel=1e-12)


def test_without_weight_in_cells_there_are_no_bounds():
    data = {**{name: [0.0, 1.0] for name in ("label", "rawPrediction", "probability")}, "w": [0.0, 0.0]}
    found = BinaryClassificationEvaluator(weight="w", num_bins=5).evaluate(dataset(data))
    assert dict(found) == dict.fromkeys(METRICS)
    assert all(found.reasons[name] for name in METRICS)
    assert found.bounds == {}


def test_replicates_take_cells():
    assert BinaryClassificationEvaluator().reweighted("r") == BinaryClassificationEvaluator(weight="r", num_bins=1000)
    assert BinaryClassificationEvaluator(num_bins=7).reweighted("r").num_bins == 7
