"""Trainings of a search on the same rows read them once, and learn what each learns by itself."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError
from penstock.spmd import PreparedInputs
from penstock.stages.base import Stage
from penstock.stages.evaluation.base import Evaluator
from penstock.stages.training.exact.products import ProductDesign
from penstock.testing.datasets import count_reads, cut

pytestmark = pytest.mark.thorough

ROWS, FOLDS = 240, 2
NUMBERS = ("a", "b")
CLASSES = st.BinaryClassificationEvaluator(label="c", metrics=("logLoss", "areaUnderROC"))
AMOUNTS = st.RegressionEvaluator(label="y", metrics="rmse")
CLUSTERS = st.ClusteringEvaluator(features=NUMBERS)


def rows() -> pa.Table:
    draw = np.random.default_rng(5)
    a, b = draw.normal(size=ROWS), draw.normal(size=ROWS)
    words = draw.choice(["fig", "plum", "pear", "kiwi"], size=(ROWS, 3))
    return pa.table({
        "a": a, "b": b, "w": draw.integers(1, 4, ROWS).astype(float),
        "text": [" ".join(of_row) for of_row in words],
        "y": np.exp(0.3 * a + 0.1 * draw.normal(size=ROWS)),
        "c": (a + draw.normal(size=ROWS) > 0).astype(int),
    })  # fmt: skip


VECTOR = ("words_indices", "words_values")
CASES: dict[str, tuple[Stage, list[dict[str, Any]], Evaluator]] = {
    "logistic": (
        st.LogisticRegression("c", features=NUMBERS, weight="w"),
        [{"reg_param": 0.0, "tol": 1e-6}, {"reg_param": 0.1, "tol": 1e-3}], CLASSES,
    ),
    "logistic of vectors": (
        st.LogisticRegression("c", features=("a", *VECTOR), elastic_net_param=0.0),
        [{"reg_param": 0.01}, {"reg_param": 0.1}, {"reg_param": 0.1, "elastic_net_param": 0.5}], CLASSES,
    ),
    "linear of vectors": (
        st.LinearRegression("y", features=("a", *VECTOR)), [{"reg_param": 0.01}, {"reg_param": 1}], AMOUNTS,
    ),
    "glm": (
        st.GeneralizedLinearRegression("y", features=NUMBERS, family="gamma", link="log"),
        [{"reg_param": 0.0}, {"reg_param": 0.1}], AMOUNTS,
    ),
    "boosting": (
        st.XGBoostClassifier("c", features=NUMBERS, num_boost_round=4),
        [{"max_depth": 2, "subsample": 0.5}, {"max_depth": 3}], CLASSES,
    ),
    "boosting with early stopping": (
        st.XGBoostRegressor("y", features=NUMBERS, num_boost_round=9, early_stopping_rounds=1),
        [{"max_depth": 2, "learning_rate": 0.3}, {"max_depth": 4, "learning_rate": 0.9}], AMOUNTS,
    ),
    "forest": (
        st.RandomForestRegressor("y", features=NUMBERS, num_trees=3), [{"max_depth": 2}, {"max_depth": 5}], AMOUNTS,
    ),
    "mixture": (st.GaussianMixture(NUMBERS, max_iter=5), [{"k": 2, "seed": 0}, {"k": 3, "seed": 1}], CLUSTERS),
    "k-means": (st.KMeans(NUMBERS, max_iter=5), [{"k": 2, "seed": 0}, {"k": 3, "seed": 1}], CLUSTERS),
    "torch": (
        st.TorchRegressor("y", features=NUMBERS, epochs=2, batch_size=64),
        [{"learning_rate": 0.01}, {"learning_rate": 0.1}], AMOUNTS,
    ),
}  # fmt: skip


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[ps.Pipeline, list[dict[str, list[Any]]], Evaluator]:
    stage, settings, evaluator = CASES[request.param]
    words = [
        st.Tokenizer("text", output_columns=["tokens"]),
        st.HashingTF("tokens", output_columns=["words"], num_features=32),
    ]
    pipeline = ps.Pipeline(*words * (VECTOR[0] in stage.features), ("model", stage))
    return pipeline, [{f"model.{name}": [value] for name, value in each.items()} for each in settings], evaluator


def search(pipeline: ps.Pipeline, space: Any, evaluator: Evaluator, data: ps.Dataset) -> Any:
    return ps.CrossValidator(pipeline, space, evaluator, folds=FOLDS, refit=False, on_error="raise").fit(data)


def test_trainings_on_the_same_rows_read_them_once_and_learn_what_each_learns_by_itself(case, local):
    pipeline, grid, evaluator = case
    alike = [each for each in grid if "model.elastic_net_param" not in each]  # another asks for another design
    times = []
    for space in (alike[:1], alike):
        data, source = count_reads(cut(local, rows(), [100, 0, 90, 50]))
        result = search(pipeline, space, evaluator, data)
        times.append(source.times)
    assert times[1] == times[0]
    if alike != grid:
        result = search(pipeline, grid, evaluator, data)
    folds = data.folds(FOLDS)
    for trial in result.trials:
        stage, fold = pipeline.with_params(trial.params), folds[trial.number % FOLDS]
        model = stage.fit(fold.train, validation=fold.validation if stage.stages[-1].watches_validation else None)
        expected = dict(model.evaluate(fold.validation, evaluator))
        assert result.outcomes[trial.number].metrics[fold.index] == expected, trial.params


def test_matrices_of_other_bins_are_not_shared(local):
    pipeline = ps.Pipeline(("model", st.XGBoostRegressor("y", features=NUMBERS, num_boost_round=4)))
    data = cut(local, rows(), [100, 90, 50])
    result = search(pipeline, {"model.max_bin": [2, 64]}, AMOUNTS, data)
    scores = []
    for bins in (2, 64):
        alone = pipeline.with_params({"model.max_bin": bins})
        scores.append([alone.fit(fold.train).evaluate(fold.validation, AMOUNTS) for fold in data.folds(FOLDS)])
    assert [[fold["rmse"] for fold in each.metrics] for each in result.outcomes.values()] == [
        [fold["rmse"] for fold in each] for each in scores
    ]
    assert scores[0][0]["rmse"] != scores[1][0]["rmse"]


def test_what_is_prepared_goes_with_its_group(local, monkeypatch):
    sizes: list[int] = []
    get = PreparedInputs.get

    def counted(inputs: PreparedInputs, key: Any, build: Any) -> Any:
        made = get(inputs, key, build)
        sizes.append(len(inputs._made))
        return made

    monkeypatch.setattr(PreparedInputs, "get", counted)
    stage = st.LogisticRegression("c", features=NUMBERS)
    data = cut(local, rows(), [100, 90, 50])
    search(ps.Pipeline(("model", stage)), {"model.reg_param": [0.1, 0.2]}, CLASSES, data)
    assert sizes == [1] * 4  # two folds, two settings of each: never two designs at once


def test_settings_of_one_trainer_are_evaluated_in_one_pass(local, monkeypatch):
    asked: list[int] = []
    each = ProductDesign.losses_and_gradients
    monkeypatch.setattr(
        ProductDesign,
        "losses_and_gradients",
        lambda design, losses: (asked.append(len(losses)), each(design, losses))[1],
    )
    stage = st.LogisticRegression("c", features=NUMBERS)
    data = cut(local, rows(), [100, 90, 50])
    search(ps.Pipeline(("model", stage)), {"model.reg_param": [0.01, 0.1, 1.0]}, CLASSES, data)
    assert asked[0] == 3
    assert sum(asked) > 2 * len(asked)


@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_training_that_fails_leaves_those_that_run_with_it(local, monkeypatch, parallelism):
    problem = st.LogisticRegression._problem

    def refusing(stage: st.LogisticRegression, *arguments: Any) -> Any:
        if stage.reg_param == 0.1:
            raise ConfigError("no such penalty")
        return problem(stage, *arguments)

    monkeypatch.setattr(st.LogisticRegression, "_problem", refusing)
    pipeline = ps.Pipeline(("model", st.LogisticRegression("c", features=NUMBERS)))
    how = {"folds": FOLDS, "refit": False, "parallelism": parallelism}
    tried = ps.CrossValidator(pipeline, {"model.reg_param": [0.01, 0.1, 1.0]}, CLASSES, **how)
    outcomes = tried.fit(cut(local, rows(), [100, 90, 50])).outcomes
    assert [outcome.state for outcome in outcomes.values()] == ["complete", "failed", "complete"]
    assert "no such penalty" in (outcomes[1].reason or "")


def test_trainings_with_checkpoints_of_their_own_run_one_by_one(local, tmp_path):
    together: list[int] = []

    class Counted(st.LogisticRegression):
        @classmethod
        def train_together(cls, rank: Any, trainings: Any) -> Any:
            together.append(len(trainings))
            return super().train_together(rank, trainings)

    data = cut(local, rows(), [100, 90, 50])
    for options in (None, ps.SpmdOptions(checkpoint_dir=tmp_path)):
        pipeline = ps.Pipeline(("model", Counted("c", features=NUMBERS)))
        space = {"model.reg_param": [0.1, 1.0]}
        ps.CrossValidator(pipeline, space, CLASSES, folds=FOLDS, refit=False, options=options).fit(data)
    assert together == [2, 2, 1, 1, 1, 1]
