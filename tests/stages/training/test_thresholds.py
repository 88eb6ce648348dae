"""Thresholds of classes decide as MLlib's do, for every classifier and for one row as for many."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock import stages as st
from penstock.engines.base import Engine
from penstock.errors import ConfigError
from penstock.pipeline import Pipeline, PipelineModel
from penstock.stages.base import Fitted
from penstock.stages.thresholds import winners
from penstock.stages.trainer import Trainer

ROWS = 200
CLASSES = ["high", "low", "middle"]
FAST = {"module_options": {"hidden": []}, "epochs": 2, "batch_size": 50}
CLASSIFIERS = [
    (st.LogisticRegression, {}),
    (st.NaiveBayes, {"model_type": "gaussian"}),
    (st.XGBoostClassifier, {"num_boost_round": 3, "max_depth": 2}),
    (st.RandomForestClassifier, {"num_trees": 3, "max_depth": 2}),
    (st.TorchClassifier, FAST),
]
NAMES = [stage.__name__ for stage, _ in CLASSIFIERS]


def of_mllib(probabilities: Sequence[float], thresholds: Sequence[float]) -> int:
    """Return what ProbabilisticClassificationModel.probability2prediction of MLlib returns."""
    most, place = -math.inf, 0
    for number, (probability, threshold) in enumerate(zip(probabilities, thresholds, strict=True)):
        share = probability / threshold if threshold else math.inf if probability else math.nan
        if share > most:
            most, place = share, number
    return place


def table(classes: int) -> pa.Table:
    draw = np.random.default_rng(3)
    x = draw.normal(size=(ROWS, 2))
    cuts = [0.4] if classes == 2 else [-0.6, 0.8]
    label = np.digitize(x @ [1.0, -0.7] + draw.logistic(size=ROWS), cuts)
    return pa.table({"a": x[:, 0], "b": x[:, 1], "label": [CLASSES[place] for place in label]})


def fitted(local: Engine, rows: pa.Table, stage: type[Trainer], **options: Any) -> PipelineModel:
    return Pipeline(stage("label", features=("a", "b"), **options)).fit(local.from_arrow(rows))


def test_the_winner_is_that_of_mllib_also_where_shares_are_equal_and_numbers_zero():
    for classes in (2, 3, 7):
        draw = np.random.default_rng(classes)
        probability = draw.integers(0, 4, size=(500, classes)) / 4.0
        for thresholds in [[0.0, *draw.integers(1, 4, classes - 1)], list(draw.random(classes)), [0.5] * classes]:
            if classes == 2:
                probability[:, 0] = 1 - probability[:, 1]
            expected = [of_mllib(row, thresholds) for row in probability.tolist()]
            assert winners(probability, thresholds).tolist() == expected
            if classes == 2:
                assert winners(probability[:, 1], thresholds).tolist() == expected


@pytest.mark.thorough
@pytest.mark.parametrize(("stage", "options"), CLASSIFIERS, ids=NAMES)
def test_every_classifier_predicts_by_thresholds(local, stage, options):
    for classes in (2, 3):
        rows, thresholds = table(classes), [0.05, 0.6, 1.5][:classes]
        model = fitted(local, rows, stage, thresholds=thresholds, **options)
        scored = model.transform(local.from_arrow(rows)).to_arrow()
        probability = np.array(scored["probability"].to_pylist())
        whole = probability if classes > 2 else np.stack([1 - probability, probability], axis=1)
        expected = [CLASSES[of_mllib(row, thresholds)] for row in whole.tolist()]
        assert scored["prediction"].to_pylist() == expected
        assert expected != [CLASSES[place] for place in whole.argmax(axis=1)]
        for row, together in zip(rows.drop(["label"]).to_pylist()[:20], scored.to_pylist(), strict=False):
            assert together.items() >= {**row, **model.predict(row)}.items()


def test_thresholds_for_other_classes_than_there_are_refused_before_training(local, monkeypatch, subtests):
    for stage, options in CLASSIFIERS:
        monkeypatch.setattr(stage, "train", lambda *_: pytest.fail("it trains"), raising=False)
        told = r"has 2 numbers, and .* has 3 classes: 'high', 'low', 'middle'"
        with subtests.test(stage.__name__), pytest.raises(ConfigError, match=told):
            fitted(local, table(3), stage, thresholds=(0.5, 0.5), **options)


def test_wrong_thresholds_are_refused_when_they_are_given(subtests):
    wrong = [(), (1.0,), (0, 0, 1), (-0.1, 1), (math.inf, 1), (math.nan, 1), (True, 0.5), "01", 0.5, ("0.5", 0.5)]
    for stage, _ in CLASSIFIERS:
        for thresholds in wrong:
            told = "thresholds of"
            with subtests.test(stage.__name__, thresholds=thresholds), pytest.raises(ConfigError, match=told):
                stage("label", thresholds=thresholds)


def test_a_threshold_beside_thresholds_is_refused():
    with pytest.raises(ConfigError, match=r"threshold of .* is 0.3, and thresholds is \(0.5, 0.5\)"):
        st.LogisticRegression("label", threshold=0.3, thresholds=(0.5, 0.5))


@pytest.mark.thorough
def test_a_model_whose_thresholds_are_not_of_its_classes_does_not_load(local, subtests):
    rows = table(2)
    for stage, options in CLASSIFIERS:
        with subtests.test(stage.__name__):
            model = fitted(local, rows, stage, thresholds=(0.5, 0.5), **options)
            bound = stage("label", features=("a", "b"), thresholds=(0.5, 0.5), **options).bind(rows.schema)
            check(bound, rows.schema, model.fitted[0])
            with pytest.raises(ValueError, match="classes is '2 rows', expected 3 rows"):
                check(dataclasses.replace(bound, thresholds=(0.5, 0.5, 0.5)), rows.schema, model.fitted[0])


def check(stage: Trainer, schema: pa.Schema, learned: Fitted) -> None:
    """Check what was learned as loading a model does."""
    shape = stage.fitted_shape(schema, learned)
    assert shape is not None
    shape.check(learned, "")
