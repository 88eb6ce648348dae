"""Calibrated probabilities against scikit-learn's, of two classes and of several; what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.pipeline import Pipeline, PipelineModel

ROWS = 600
LABELS: dict[int, Any] = {2: np.array(["no", "yes"]), 3: np.array([1, 5, 7])}


class Scores(ClassifierMixin, BaseEstimator):
    """A classifier whose scores are its features."""

    def fit(self, x: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Scores:
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, x: np.ndarray) -> np.ndarray:
        return x[:, 0] if len(self.classes_) == 2 else x

    def predict(self, x: np.ndarray) -> np.ndarray:
        return x


def sample(classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores with ties, one of two classes and otherwise one each, labels that they tell of, and weights."""
    rng = np.random.default_rng(classes)
    place = rng.integers(0, classes, ROWS)
    scores = np.round(rng.normal(size=(ROWS, classes)) + 1.5 * np.eye(classes)[place], 2)
    return (
        np.round(scores[:, 1:] - scores[:, :1], 2) if classes == 2 else scores,
        LABELS[classes][place],
        rng.integers(0, 3, ROWS),
    )


def dataset(engine: Engine, scores: np.ndarray, **more: Any) -> Dataset:
    values = scores[:, 0] if scores.shape[1] == 1 else pa.array(scores.tolist(), pa.list_(pa.float64()))
    table = pa.table({"rawPrediction": values, **more})
    return engine.from_arrow(table, fragment_bytes=table.nbytes // 4)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_are_those_of_scikit_learn(local: Engine, method: str, classes: int, subtests: Any) -> None:
    scores, label, weight = sample(classes)
    data = dataset(local, scores, y=label, w=weight.astype(float))
    for weighted in (False, True):
        model = Pipeline(st.ProbabilityCalibrator("y", method=method, weight="w" if weighted else None)).fit(data)
        theirs = CalibratedClassifierCV(Scores(), method=method, ensemble=False, cv=2)
        theirs.fit(scores, label, sample_weight=weight if weighted else None)
        made, expected = model.transform(data).to_arrow(), theirs.predict_proba(scores)
        found = np.array(made["probability"].to_pylist())
        atol = 1e-12 if method == "isotonic" else 2e-5  # their sigmoid is minimised to a tolerance
        with subtests.test(weighted=weighted):
            np.testing.assert_allclose(found, expected[:, 1] if classes == 2 else expected, atol=atol)
            assert made["prediction"].to_pylist() == np.unique(label)[expected.argmax(axis=1)].tolist()
            assert made["prediction"].type == data.schema.field("y").type


def test_every_engine_learns_the_same_of_several_classes(distributed_engine: Engine, local: Engine) -> None:
    scores, label, weight = sample(3)
    stage = st.ProbabilityCalibrator("y", weight="w", method="isotonic")
    digests = {
        Pipeline(stage).fit(dataset(engine, scores, y=label, w=weight / 3)).digest
        for engine in (distributed_engine, local)
    }
    assert len(digests) == 1


@pytest.mark.thorough
def test_a_saved_model_scores_rows_of_several_classes_as_frames(local: Engine, tmp_path: Path) -> None:
    scores, label, _ = sample(3)
    data = dataset(local, scores, y=label)
    for method in ("sigmoid", "isotonic"):
        model = Pipeline(st.ProbabilityCalibrator("y", method=method)).fit(data)
        model.save(tmp_path / method)
        loaded = PipelineModel.load(tmp_path / method)
        made = model.transform(data).to_arrow().slice(0, 5).select(["probability", "prediction"]).to_pylist()
        assert [loaded.predict({"rawPrediction": row.tolist()}) for row in scores[:5]] == made
        assert loaded.predict({"rawPrediction": None}) == {"probability": None, "prediction": None}


@pytest.mark.thorough
def test_of_lists_of_two_the_second_element_counts(local: Engine) -> None:
    scores, label, _ = sample(2)
    plain = Pipeline(st.ProbabilityCalibrator("y")).fit(dataset(local, scores, y=label))
    lists = Pipeline(st.ProbabilityCalibrator("y")).fit(dataset(local, np.hstack([-scores, scores]), y=label))
    assert lists.fitted[0]["sigmoid"].equals(plain.fitted[0]["sigmoid"])
    assert lists.predict({"rawPrediction": [9.0, 0.5]}) == plain.predict({"rawPrediction": 0.5})


def test_a_row_that_no_class_wants_gets_the_same_for_all(local: Engine) -> None:
    scores = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    model = Pipeline(st.ProbabilityCalibrator("y", method="isotonic")).fit(dataset(local, scores, y=["a", "b", "c"]))
    assert model.predict({"rawPrediction": [0.0, 0.0, 0.0]}) == {"probability": [1 / 3] * 3, "prediction": "a"}


def test_scores_that_are_one_give_the_share_of_positives(local: Engine) -> None:
    data = dataset(local, np.full((4, 1), 1e9), y=[1, 0, 0, 0])
    model = Pipeline(st.ProbabilityCalibrator("y", method="isotonic", prediction=None)).fit(data)
    assert model.predict({"rawPrediction": 0.0}) == {"probability": 0.25}
    smoothed = (2 / 3 + 3 / 5) / 4  # of one positive and three negatives, as Platt counts them
    model = Pipeline(st.ProbabilityCalibrator("y", prediction=None)).fit(data)
    assert model.predict({"rawPrediction": 0.0})["probability"] == pytest.approx(smoothed, rel=1e-14)


@pytest.mark.thorough
def test_the_scale_of_scores_does_not_matter(local: Engine) -> None:
    scores, label, _ = sample(2)
    plain, *others = (
        (by, Pipeline(st.ProbabilityCalibrator("y")).fit(dataset(local, by * scores, y=label)))
        for by in (1.0, 1e-200, 1e140)
    )
    expected = plain[1].predict({"rawPrediction": 0.7})["probability"]
    for factor, model in others:
        assert model.predict({"rawPrediction": 0.7 * factor})["probability"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.thorough
def test_cells_hardly_change_probabilities(local: Engine) -> None:
    scores, label, _ = sample(3)
    data = dataset(local, scores, y=label)
    models = [Pipeline(st.ProbabilityCalibrator("y", num_bins=bins)).fit(data) for bins in (0, 64)]
    exact, binned = (np.array(model.transform(data).to_arrow()["probability"].to_pylist()) for model in models)
    assert 0 < np.abs(exact - binned).max() < 0.01


IMPOSSIBLE = [
    ([1.0, 2.0], [1, 1], "label 'y' has 1 class"),
    ([1.0, 2.0, 3.0], [0, 1, 2], "has 1 score.* a row, and label 'y' has 3 classes: 0, 1, 2"),
    ([[1.0, 2.0, 0.0], [1.0, 2.0, 3.0]], [0, 1], "has 3 score.* a row, and label 'y' has 2 classes"),
    ([[1.0, 2.0], [1.0]], [0, 1], "has 1 or 2 score.* a row"),
    ([1.0, None], [0, 1], "'rawPrediction' has 1 values that are null"),
    ([[1.0, None], [1.0, 2.0]], [0, 1], "'rawPrediction' has 1 values that are lists with nulls"),
    ([1.0, float("inf")], [0, 1], "'rawPrediction' has 1 values that are infinite"),
    ([1.0, 2.0], [0.5, 1.0], "values that are not a class: .0.5"),
]


def test_what_cannot_be_calibrated_is_refused(local: Engine, subtests: Any) -> None:
    for scores, label, problem in IMPOSSIBLE:
        data = local.from_arrow(pa.table({"rawPrediction": scores, "y": label}))
        with subtests.test(problem), pytest.raises(DataValueError, match=problem):
            Pipeline(st.ProbabilityCalibrator("y")).fit(data)


def test_lists_of_another_length_are_refused_when_scoring(local: Engine) -> None:
    scores, label, _ = sample(3)
    model = Pipeline(st.ProbabilityCalibrator("y")).fit(dataset(local, scores, y=label))
    with pytest.raises(DataValueError, match=r"1 list\(s\) that have not 3 elements.*but 2 say"):
        model.predict({"rawPrediction": [1.0, 2.0]})


def test_more_labels_than_can_be_classes_are_refused(local: Engine) -> None:
    data = dataset(local, np.arange(101.0)[:, None], y=list(range(101)))
    with pytest.raises(DataValueError, match=r"has 101 class.*expected 2 to 100"):
        Pipeline(st.ProbabilityCalibrator("y")).fit(data)


def test_scores_of_text_are_refused_before_reading(local: Engine) -> None:
    data = local.from_arrow(pa.table({"rawPrediction": ["a", "b"], "y": [0, 1]}))
    with pytest.raises(SchemaError, match="'rawPrediction' is string, but ProbabilityCalibrator takes scores"):
        Pipeline(st.ProbabilityCalibrator("y")).plan(data)


def test_an_unknown_method_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'isotonic'"):
        st.ProbabilityCalibrator("y", method="isotonik")


def test_a_label_that_is_the_score_is_refused(local: Engine) -> None:
    data = local.from_arrow(pa.table({"rawPrediction": [1.0, 0.0], "y": [0, 1]}))
    with pytest.raises(ConfigError, match="label 'rawPrediction' is a column of scores or results too"):
        Pipeline(st.ProbabilityCalibrator("rawPrediction")).plan(data)
