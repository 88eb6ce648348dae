"""Calibration and thresholds by cross-validation, against a plain loop over folds and scikit-learn; and no leaks."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import fbeta_score
from sklearn.svm import SVC

import penstock as ps
from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, SchemaError

ROWS = 150


def table(classes: int = 2) -> pa.Table:
    rng = np.random.default_rng(classes)
    place = rng.integers(0, classes, ROWS)
    x = rng.normal(size=(ROWS, 2)) * [1, 30] + np.outer(place, [1.2, 5])
    names = np.array(["a", "b", "c"])[place]
    return pa.table({"row": np.arange(ROWS), "x": x[:, 0], "z": x[:, 1], "y": names, "w": rng.integers(1, 4, ROWS)})


def dataset(engine: Engine, rows: pa.Table) -> Dataset:
    return engine.from_arrow(rows, fragment_bytes=rows.nbytes // 2 + 1)


def logistic(**options: Any) -> ps.Pipeline:
    features = ("x", "z")
    return ps.Pipeline(st.StandardScaler(features), st.LogisticRegression("y", features=features, **options))


def bayes(**options: Any) -> ps.Pipeline:
    """Return a pipeline that is fitted fast."""
    options = {"features": ("x", "z"), "model_type": "gaussian", **options}
    return ps.Pipeline(st.StandardScaler(("x", "z")), st.NaiveBayes("y", **options))


def predictions_by_hand(pipeline: ps.Pipeline | ps.CalibratedClassifier, data: Dataset, folds: int) -> pa.Table:
    """Return every row scored by a model that was fitted without it, by a plain loop."""
    parts = [pipeline.fit(fold.train).transform(fold.validation).to_arrow() for fold in data.folds(folds)]
    return pa.concat_tables(parts).sort_by("row")


@pytest.mark.thorough
@pytest.mark.parametrize(("method", "classes"), [("sigmoid", 3), ("isotonic", 2)])
def test_a_calibrated_classifier_is_that_of_a_plain_loop(local: Engine, method: str, classes: int) -> None:
    data = dataset(local, table(classes))
    model = ps.CalibratedClassifier(bayes(), method=method, folds=3).fit(data)
    by_hand = local.from_arrow(predictions_by_hand(bayes(), data, folds=3))
    stage = st.ProbabilityCalibrator("y", method=method)
    expected = ps.PipelineModel(
        (*(alone := bayes().fit(data)).stages, *(after := ps.Pipeline(stage).fit(by_hand)).stages),
        (*alone.fitted, *after.fitted),
        data.schema,
    )
    assert model.digest == expected.digest
    assert model.schema == data.schema
    assert model.names == ("StandardScaler", "NaiveBayes", "ProbabilityCalibrator")


@pytest.mark.thorough
def test_a_tuned_threshold_is_the_best_of_all_out_of_fold(local: Engine) -> None:
    data = dataset(local, table())
    model = ps.TunedThreshold(bayes(weight="w"), "fMeasure", beta=2.0, folds=2).fit(data)
    scored = predictions_by_hand(bayes(weight="w"), data, folds=2)
    told, label, weights = scored["probability"].to_numpy(), np.array(scored["y"]) == "b", scored["w"].to_numpy()
    values = {t: fbeta_score(label, told >= t, beta=2, sample_weight=weights) for t in sorted(told, reverse=True)}
    best = max(values, key=values.__getitem__)
    assert model.fitted[-1]["threshold"] == best
    assert model.fitted[-1]["value"] == pytest.approx(values[best], rel=1e-12)
    made = model.transform(data).to_arrow()
    assert made["prediction"].to_pylist() == ["ab"[int(p >= best)] for p in made["probability"].to_pylist()]


@pytest.mark.thorough
def test_costs_move_the_threshold_and_the_report_tells_it(local: Engine) -> None:
    data = dataset(local, table())
    dear, cheap = (ps.TunedThreshold(bayes(), costs={"fp": 1, "fn": cost}, folds=2).fit(data) for cost in (9, 0.1))
    assert dear.fitted[-1]["threshold"] < 0.3
    assert cheap.fitted[-1]["threshold"] > 0.7
    assert dear.report is not None
    assert any(note.startswith("ThresholdTuner: threshold 0.") for note in dear.report.notes)


@pytest.mark.thorough
def test_a_threshold_of_calibrated_probabilities_is_nested(local: Engine) -> None:
    data = dataset(local, table())
    calibrated = ps.CalibratedClassifier(bayes(), folds=2)
    model = ps.TunedThreshold(calibrated, "f1", folds=2).fit(data)
    assert model.names[1:] == ("NaiveBayes", "ProbabilityCalibrator", "ThresholdTuner")
    scored = local.from_arrow(predictions_by_hand(calibrated, data, folds=2))
    by_hand = ps.Pipeline(st.ThresholdTuner("y", metric="f1")).fit(scored)
    assert model.fitted[-1]["threshold"] == by_hand.fitted[0]["threshold"]


def test_every_engine_gives_the_same(distributed_engine: Engine, local: Engine) -> None:
    search = ps.TunedThreshold(bayes(), "f1", folds={"num_folds": 2, "stratify": "y"})
    one, other = (search.fit(dataset(engine, table())).digest for engine in (distributed_engine, local))
    assert one == other


@pytest.mark.thorough
def test_the_thresholds_of_the_classifier_are_kept(local: Engine) -> None:
    data = dataset(local, table())
    for pipeline in (bayes(thresholds=(0.9, 0.1)), logistic(threshold=0.1)):
        model = ps.CalibratedClassifier(pipeline, folds=2).fit(data)
        made = model.transform(data).to_arrow()
        assert made["prediction"].to_pylist() == ["ab"[int(p > 0.1)] for p in made["probability"].to_pylist()]


@pytest.mark.thorough
def test_an_estimator_of_scores_alone_gets_probabilities(local: Engine) -> None:
    data = dataset(local, table())
    pipeline = ps.Pipeline(st.SklearnEstimator(SVC(), "y", features=("x", "z")))
    model = ps.CalibratedClassifier(pipeline, folds=2).fit(data)
    assert 0 < model.predict({"x": 1.0, "z": 0.0})["probability"] < 1


@pytest.mark.thorough
def test_a_class_that_a_fold_lacks_is_told(local: Engine) -> None:
    rows = table(3).filter(pa.compute.not_equal(table(3)["y"], "c"))
    rare = rows.set_column(3, "y", pa.array(["c", *rows["y"].to_pylist()[1:]]))
    with pytest.raises(DataValueError, match=r"training rows of fold \d have no 'c' in label 'y'") as caught:
        ps.CalibratedClassifier(bayes()).fit(dataset(local, rare))
    assert "stratify" in (caught.value.hint or "")


@pytest.mark.thorough
def test_of_folds_in_time_only_what_comes_later_is_learned_from(local: Engine) -> None:
    data = dataset(local, table())
    folds = data.folds(2, time="row")
    model = ps.TunedThreshold(bayes(), "f1", folds=folds).fit(data)
    assert sum(model.fitted[-1]["confusion"].values()) == sum(fold.validation.count() for fold in folds) == 2 * ROWS / 3


def test_what_is_no_pipeline_of_a_classifier_method_metric_or_label_is_refused_before_reading(local: Engine) -> None:
    data = local.from_arrow(pa.table({"x": [None, 1.0], "y": [1.0, 2.0]}))
    with pytest.raises(ConfigError, match=r"TunedThreshold takes a pipeline with a classifier.*LinearRegression"):
        ps.TunedThreshold(ps.Pipeline(st.LinearRegression("y", features="x"))).fit(data)
    with pytest.raises(ConfigError, match="CalibratedClassifier takes a Pipeline, found"):
        ps.CalibratedClassifier(st.LogisticRegression("y"))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="Did you mean 'isotonic'"):
        ps.CalibratedClassifier(bayes(), method="isotonik")
    with pytest.raises(ConfigError, match="Did you mean 'recall'"):
        ps.TunedThreshold(bayes(), "recal")
    with pytest.raises(SchemaError, match="'y'"):
        ps.CalibratedClassifier(bayes()).fit(local.from_arrow(pa.table({"x": [1.0], "z": [1.0]})))


@pytest.mark.thorough
def test_early_stopping_trains_all_rows_as_long_as_folds(local: Engine) -> None:
    classifier = st.XGBoostClassifier("y", features=("x", "z"), num_boost_round=50, early_stopping_rounds=3)
    model = ps.CalibratedClassifier(ps.Pipeline(classifier), folds=2).fit(dataset(local, table()))
    assert 0 < model.stages[0].num_boost_round < 50
    assert model.stages[0].early_stopping_rounds is None
