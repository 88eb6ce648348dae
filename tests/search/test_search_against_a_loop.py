"""A search gives what a plain loop over trials and folds gives, to the bit, on every engine."""

from typing import Any

import pytest

import penstock as ps
from penstock import stages as st
from penstock.dataset.dataset import Dataset
from penstock.engines.base import Engine
from tests.search.rows import labelled

pytestmark = pytest.mark.thorough

NUMBERS = ("x", "z")
CLICKED = st.BinaryClassificationEvaluator(label="clicked")
PRICE = st.RegressionEvaluator(label="price")

SEARCHES: dict[str, tuple[ps.Pipeline, Any, Any]] = {
    "preprocessing": (
        ps.Pipeline(
            st.Imputer("x"),
            st.StandardScaler(NUMBERS),
            st.OneHotEncoder("c", max_categories=6),
            st.LogisticRegression("clicked"),
        ),
        [
            {"Imputer.strategy": ["mean"], "StandardScaler": [None, st.MinMaxScaler(NUMBERS)]},
            {"Imputer.strategy": ["median"]},
        ],
        CLICKED,
    ),
    "target encoding": (
        ps.Pipeline(
            st.Imputer("x"),
            st.TargetEncoder("c", label="clicked"),
            st.LogisticRegression("clicked", features=("x", "c"), weight="weight"),
        ),
        [
            {"TargetEncoder.smoothing": [0.0], "LogisticRegression.reg_param": [0.0, 0.01]},
            {"TargetEncoder.smoothing": [20.0]},
        ],
        st.BinaryClassificationEvaluator(label="clicked", weight="weight"),
    ),
    "rows dropped": (
        ps.Pipeline(st.DropNulls("x"), st.DropOutliers("z"), st.NaiveBayes("clicked", features="z")),
        {"DropOutliers.fold": [1.0, 3.0]},
        CLICKED,
    ),
    "columns selected": (
        ps.Pipeline(
            st.Imputer("x"),
            st.CorrelationSelector(("x", "z", "weight"), threshold=0.9),
            st.LinearRegression("price", features=ps.selectors.numeric() - ["clicked", "price"]),
        ),
        {"CorrelationSelector.threshold": [0.001, 0.9]},
        PRICE,
    ),
    "boosted": (
        ps.Pipeline(
            st.StringIndexer("c"), st.XGBoostClassifier("clicked", features=("x", "z", "c"), num_boost_round=4)
        ),
        [
            {"StringIndexer.min_frequency": [1], "XGBoostClassifier.max_depth": [2, 4]},
            {"StringIndexer.min_frequency": [60]},
        ],
        CLICKED,
    ),
    "stopped early": (
        ps.Pipeline(st.XGBoostRegressor("price", features=NUMBERS, num_boost_round=20, early_stopping_rounds=2)),
        {"XGBoostRegressor.learning_rate": [0.1, 0.9]},
        PRICE,
    ),
    "several evaluators": (
        ps.Pipeline(st.Imputer("x"), st.LinearRegression("price", features=NUMBERS)),
        {"Imputer.strategy": ["mean", "mode"]},
        {"all": PRICE, "weighted": st.RegressionEvaluator(label="price", weight="weight", metrics="rmse")},
    ),
}


def loop(pipeline: ps.Pipeline, space: Any, evaluators: Any, folds: Any) -> list[list[dict[str, float | None]]]:
    """Return the metrics of each trial by fold, one fit after the other."""
    return [[_scored(pipeline.with_params(params), fold, evaluators) for fold in folds] for params in ps.grid(space)]


def _scored(pipeline: ps.Pipeline, fold: Any, evaluators: Any) -> dict[str, float | None]:
    watches = any(getattr(stage, "early_stopping_rounds", None) for stage in pipeline.stages)
    model = pipeline.fit(fold.train, validation=fold.validation if watches else None)
    return dict(model.evaluate(fold.validation, evaluators))


def dataset(engine: Engine) -> Dataset:
    return engine.from_arrow(labelled(400), fragment_bytes=19_000)


@pytest.mark.parametrize("name", SEARCHES)
def test_every_metric_of_a_search_is_that_of_a_plain_loop(name: str, local: Engine) -> None:
    pipeline, space, evaluators = SEARCHES[name]
    data = dataset(local)
    result = ps.CrossValidator(pipeline, space, evaluators, folds=2, refit=False).fit(data)
    found = [list(map(dict, result.outcomes[trial.number].metrics)) for trial in result.trials]
    assert found == loop(pipeline, space, evaluators, data.folds(2))


@pytest.mark.each_value
@pytest.mark.parametrize("name", ["target encoding", "boosted", "columns selected"])
def test_a_search_gives_the_same_metrics_on_every_engine(name: str, local: Engine, distributed_engine: Engine) -> None:
    search = ps.CrossValidator(*SEARCHES[name], folds=2, refit=False)
    here, there = (search.fit(dataset(engine)).outcomes for engine in (local, distributed_engine))
    assert [here[number].metrics for number in here] == [there[number].metrics for number in there]


def test_a_search_on_one_split_is_the_loop_over_that_split(local: Engine) -> None:
    pipeline, space, evaluators = SEARCHES["rows dropped"]
    data = dataset(local)
    for stratify in (None, "clicked"):
        train, validation = data.split([0.8, 0.2], seed=3, stratify=stratify)
        how = {"train_ratio": 0.8, "seed": 3, "stratify": stratify, "refit": False}
        result = ps.TrainValidationSplit(pipeline, space, evaluators, **how).fit(data)
        models = [pipeline.with_params(params).fit(train) for params in ps.grid(space)]
        alone = [dict(model.evaluate(validation, evaluators)) for model in models]
        assert [dict(result.outcomes[trial.number].metrics[0]) for trial in result.trials] == alone


def test_predictions_out_of_fold_are_those_of_each_fold_in_the_order_of_the_rows(engine: Engine) -> None:
    pipeline, _, evaluators = SEARCHES["target encoding"]
    data = dataset(engine)
    predictions = ps.cross_validate(pipeline, data, evaluators, folds=2).predictions.to_polars()
    of_folds = [pipeline.fit(fold.train).transform(fold.validation).to_polars() for fold in data.folds(2)]
    by_row = {row["z"]: row["probability"] for scored in of_folds for row in scored.to_dicts()}
    assert predictions["z"].to_list() == labelled(400)["z"].to_pylist()
    assert predictions["probability"].to_list() == [by_row[z] for z in predictions["z"]]


@pytest.mark.each_value
@pytest.mark.parametrize("name", ["boosted", "stopped early"])
def test_trainings_side_by_side_learn_what_they_learn_one_by_one(name: str, engine: Engine) -> None:
    data = dataset(engine)
    side_by_side, one_by_one = (
        ps.CrossValidator(*SEARCHES[name], folds=2, refit=False, parallelism=parallelism).fit(data).outcomes.values()
        for parallelism in (2, 1)
    )
    assert [each.metrics for each in side_by_side] == [each.metrics for each in one_by_one]
