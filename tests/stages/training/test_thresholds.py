"""Thresholds of classes decide as MLlib's do, for every classifier and for one row as for many."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier

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


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_the_winner_is_that_of_mllib_also_where_shares_are_equal_and_numbers_zero(classes: int) -> None:
    draw = np.random.default_rng(classes)
    probability = draw.integers(0, 4, size=(500, classes)) / 4.0
    for thresholds in [[0.0, *draw.integers(1, 4, classes - 1)], list(draw.random(classes)), [0.5] * classes]:
        if classes == 2:
            probability[:, 0] = 1 - probability[:, 1]
        expected = [of_mllib(row, thresholds) for row in probability.tolist()]
        assert winners(probability, thresholds).tolist() == expected
        if classes == 2:
            assert winners(probability[:, 1], thresholds).tolist() == expected


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("stage", "options"), CLASSIFIERS, ids=NAMES)
def test_every_classifier_predicts_by_thresholds(
    local: Engine, stage: type[Trainer], options: dict[str, Any], classes: int
) -> None:
    rows = table(classes)
    thresholds = [0.05, 0.6, 1.5][:classes]
    model = fitted(local, rows, stage, thresholds=thresholds, **options)
    scored = model.transform(local.from_arrow(rows)).to_arrow()
    probability = np.array(scored["probability"].to_pylist())
    whole = probability if classes > 2 else np.stack([1 - probability, probability], axis=1)
    expected = [CLASSES[of_mllib(row, thresholds)] for row in whole.tolist()]
    assert scored["prediction"].to_pylist() == expected
    assert expected != [CLASSES[place] for place in whole.argmax(axis=1)]


@pytest.mark.thorough
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("stage", "options"), CLASSIFIERS[:4], ids=NAMES[:4])
def test_a_row_gets_the_class_that_it_gets_in_a_batch(
    local: Engine, stage: type[Trainer], options: dict[str, Any], classes: int
) -> None:
    rows = table(classes)
    model = fitted(local, rows, stage, thresholds=[0.05, 0.6, 0.0][:classes], **options)
    together = model.transform(local.from_arrow(rows)).to_arrow()
    for row, expected in zip(rows.drop(["label"]).to_pylist()[:30], together.to_pylist(), strict=False):
        assert {**row, **model.predict(row)} == {name: expected[name] for name in ["a", "b", *model.predict(row)]}


def test_thresholds_of_two_classes_are_the_threshold_of_scikit_learn(local: Engine) -> None:
    rows = table(2)
    x, y = np.stack([rows["a"], rows["b"]], axis=1), np.array(rows["label"].to_pylist())
    theirs = FixedThresholdClassifier(
        LogisticRegression(C=math.inf, tol=1e-10), threshold=0.3, pos_label="low", response_method="predict_proba"
    )
    model = fitted(local, rows, st.LogisticRegression, thresholds=(0.7, 0.3), tol=1e-10)
    predicted = model.transform(local.from_arrow(rows)).to_arrow()["prediction"].to_pylist()
    assert predicted == theirs.fit(x, y).predict(x).tolist()
    assert predicted != theirs.estimator_.predict(x).tolist()


def test_a_row_with_a_null_has_no_class_whatever_the_thresholds(local: Engine) -> None:
    model = fitted(local, table(3), st.LogisticRegression, thresholds=(0.0, 1.0, 1.0))
    rows = local.from_arrow(pa.table({"a": [None, 1.0], "b": [0.5, 0.5]}))
    assert model.transform(rows).to_arrow()["prediction"].to_pylist() == [None, "high"]


@pytest.mark.parametrize(("stage", "options"), CLASSIFIERS, ids=NAMES)
def test_thresholds_for_other_classes_than_there_are_refused_before_training(
    local: Engine, monkeypatch: pytest.MonkeyPatch, stage: type[Trainer], options: dict[str, Any]
) -> None:
    monkeypatch.setattr(stage, "train", lambda *_: pytest.fail("it trains"), raising=False)
    with pytest.raises(ConfigError, match=r"has 2 numbers, and .* has 3 classes: 'high', 'low', 'middle'"):
        fitted(local, table(3), stage, thresholds=(0.5, 0.5), **options)


@pytest.mark.parametrize(
    "thresholds",
    [(), (1.0,), (0, 0, 1), (-0.1, 1), (math.inf, 1), (math.nan, 1), (True, 0.5), "01", 0.5, ("0.5", 0.5)],
    ids=repr,
)
@pytest.mark.parametrize("stage", [stage for stage, _ in CLASSIFIERS])
def test_wrong_thresholds_are_refused_when_they_are_given(stage: type[Trainer], thresholds: Any) -> None:
    with pytest.raises(ConfigError, match="thresholds of"):
        stage("label", thresholds=thresholds)


def test_a_threshold_beside_thresholds_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"threshold of .* is 0.3, and thresholds is \(0.5, 0.5\)"):
        st.LogisticRegression("label", threshold=0.3, thresholds=(0.5, 0.5))


@pytest.mark.parametrize(("stage", "options"), CLASSIFIERS, ids=NAMES)
def test_a_model_whose_thresholds_are_not_of_its_classes_does_not_load(
    local: Engine, stage: type[Trainer], options: dict[str, Any]
) -> None:
    rows = table(2)
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
