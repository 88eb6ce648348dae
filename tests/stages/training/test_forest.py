"""Random forests: trees that differ, shares of classes that are probabilities, as good as MLlib's."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from mllib_metrics import frame_of
from pyarrow import csv
from sklearn.metrics import roc_auc_score

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError
from penstock.pipeline import Pipeline, PipelineModel
from penstock.stages.training.trees import _boosting

ROWS = 600
STAGES = [st.RandomForestClassifier, st.RandomForestRegressor]


def scored(model: PipelineModel, data: Dataset) -> dict[str, np.ndarray]:
    table = model.transform(data).to_arrow()
    return {name: np.array(table[name].to_pylist()) for name in table.column_names}


def dump(model: PipelineModel) -> list[str]:
    return _boosting.load_booster(model.fitted[0]["booster"]).get_dump()


# Trees


def test_there_are_as_many_trees_as_are_asked_for_and_they_differ(make: Callable[..., Dataset], y: np.ndarray) -> None:
    trees = dump(Pipeline(st.RandomForestRegressor("y", num_trees=7)).fit(make(y=y)))
    assert len(trees) == len(set(trees)) == 7


def test_each_class_has_its_trees(make: Callable[..., Dataset], y: np.ndarray) -> None:
    label = np.digitize(y, [-1, 0.5])
    assert len(dump(Pipeline(st.RandomForestClassifier("label", num_trees=7)).fit(make(label=label)))) == 21


@pytest.mark.thorough
def test_a_seed_decides_what_is_drawn(make: Callable[..., Dataset], y: np.ndarray) -> None:
    first, again, other = (
        Pipeline(st.RandomForestRegressor("y", seed=seed)).fit(make(y=y)).fitted[0]["booster"] for seed in (1, 1, 2)
    )
    assert first == again != other


def test_trees_on_all_rows_and_columns_are_the_same_tree(make: Callable[..., Dataset], y: np.ndarray) -> None:
    stage = st.RandomForestRegressor("y", num_trees=3, feature_subset_strategy="all", subsampling_rate=1.0)
    first, *others = dump(Pipeline(stage).fit(make(y=y)))
    assert others == [first, first]


def test_each_split_draws_its_columns(make: Callable[..., Dataset], y: np.ndarray) -> None:
    stage = st.RandomForestRegressor("y", num_trees=30, feature_subset_strategy=1, subsampling_rate=1.0, max_depth=2)
    trees = dump(Pipeline(stage).fit(make(y=y)))
    roots = [tree.split("[")[1].split("<")[0] for tree in trees]
    assert set(roots) == {"f0", "f1", "f2"}
    assert any(len({line.split("[")[1][:2] for line in tree.splitlines() if "[" in line}) > 1 for tree in trees)


DRAWN = [  # strategy, trees, columns of ten for classes and for numbers
    ("auto", 20, 4, 4), ("auto", 1, 10, 10), ("all", 20, 10, 10), ("sqrt", 20, 4, 4), ("log2", 20, 4, 4),
    ("onethird", 20, 4, 4), (0.25, 20, 3, 3), (0.01, 20, 1, 1), (1.0, 20, 10, 10), (3, 20, 3, 3), (99, 20, 10, 10),
]  # fmt: skip


def test_so_many_columns_are_drawn_as_mllib_draws(subtests: Any) -> None:
    schema = pa.schema({**{f"f{place}": pa.float64() for place in range(10)}, "y": pa.float64()})
    for strategy, trees, *numbers in DRAWN:
        for kind, wanted in zip(STAGES, numbers, strict=True):
            with subtests.test(kind.__name__, strategy=strategy, trees=trees):
                stage = kind("y", num_trees=trees, feature_subset_strategy=strategy).bind(schema)
                assert int(np.float32(stage._parameters({})["colsample_bynode"]) * 10) == wanted


# What is predicted


def test_a_number_is_the_mean_of_leaves(make: Callable[..., Dataset], x: np.ndarray) -> None:
    label = 1000.0 + (np.nan_to_num(x[:, 0]) > 0)
    found = scored(Pipeline(st.RandomForestRegressor("y", features="f0", num_trees=1)).fit(make(y=label)), make())
    np.testing.assert_allclose(found["prediction"], label, rtol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_shares_are_probabilities(make: Callable[..., Dataset], y: np.ndarray, classes: int) -> None:
    label = np.array(["a", "b", "c"])[np.digitize(y, [-1, 0.5][: classes - 1])]
    model = Pipeline(st.RandomForestClassifier("label")).fit(make(label=label))
    found = scored(model, make())
    probability = found["probability"]
    assert probability.min() >= 0
    assert probability.max() <= 1
    if classes == 3:
        np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_array_equal(found["prediction"], np.array(["a", "b", "c"])[probability.argmax(axis=1)])
    shares = [np.mean(label == each) for each in ("b" if classes == 2 else "abc")]
    np.testing.assert_allclose(found["rawPrediction"].mean(axis=0), np.squeeze(shares), atol=0.05)
    assert np.mean(found["prediction"] == label) > 0.85


def test_a_probability_is_the_share_of_a_leaf(local: Engine) -> None:
    columns = {"x": [0.0] * 40 + [1.0] * 60, "label": [0] * 30 + [1] * 10 + [1] * 54 + [0] * 6}
    data = local.from_arrow(pa.table(columns))
    found = scored(Pipeline(st.RandomForestClassifier("label", num_trees=1, subsampling_rate=1.0)).fit(data), data)
    np.testing.assert_allclose(found["probability"], [0.25] * 40 + [0.9] * 60, rtol=1e-6)


@pytest.mark.thorough
def test_a_weight_counts_as_so_many_rows(make: Callable[..., Dataset], y: np.ndarray) -> None:
    options = {"num_trees": 2, "feature_subset_strategy": "all", "subsampling_rate": 1.0, "weight": "w"}
    stage = st.RandomForestRegressor("y", min_child_weight=50.0, **options)
    trees = dump(Pipeline(stage).fit(make(y=y, w=np.full(ROWS, 0.5))))
    halved = st.RandomForestRegressor("y", min_child_weight=100.0, **options)
    assert trees == dump(Pipeline(halved).fit(make(y=y, w=np.ones(ROWS))))


# MLlib


def test_churn_is_told_as_well_as_by_mllib(local: Engine, spark: Any, real_data: Path) -> None:
    from pyspark.ml.classification import RandomForestClassifier

    table = csv.read_csv(real_data / "churn.csv")
    names = ["SeniorCitizen", "tenure", "MonthlyCharges"]
    columns = {name: table[name].to_numpy().astype(float) for name in names}
    for name in ("Contract", "InternetService", "PaymentMethod", "OnlineSecurity", "TechSupport"):
        columns[name] = table[name].dictionary_encode().combine_chunks().indices.to_numpy().astype(float)
    rows = pa.table({**columns, "label": np.array([value == "Yes" for value in table["Churn"].to_pylist()], float)})
    held = np.arange(rows.num_rows) % 3 == 0
    train, test = rows.filter(pa.array(~held)), rows.filter(pa.array(held))
    ours = scored(
        Pipeline(st.RandomForestClassifier("label", num_trees=10)).fit(local.from_arrow(train)), local.from_arrow(test)
    )
    vectors = np.column_stack(list(columns.values()))
    frames = (
        frame_of(spark, {"features": vectors[part].tolist(), "label": rows["label"].to_numpy()[part]})
        for part in (~held, held)
    )
    learned = RandomForestClassifier(numTrees=10, seed=1).fit(next(frames))
    theirs = learned.transform(next(frames)).select("probability", "prediction").collect()
    of_mllib = np.array([row["probability"][1] for row in theirs])
    label = test["label"].to_numpy()
    right = np.mean(np.array([row["prediction"] for row in theirs]) == label)
    assert roc_auc_score(label, ours["probability"]) > roc_auc_score(label, of_mllib) - 0.01
    assert np.mean(ours["prediction"] == label) > right - 0.01
    assert np.corrcoef(ours["probability"], of_mllib)[0, 1] > 0.95


# What is refused


WRONG = [
    ({"num_trees": 0}, "num_trees of .* is 0, expected an integer >= 1"),
    ({"max_depth": 31}, "max_depth of .* is 31, expected an integer >= 1 and <= 30"),
    ({"max_depth": 0}, "max_depth"),
    ({"subsampling_rate": 0}, "subsampling_rate"),
    ({"min_child_weight": -1}, "min_child_weight"),
    ({"max_bin": 1}, "max_bin"),
    ({"feature_subset_strategy": "half"}, "is 'half', expected one of auto, all, sqrt, log2, onethird, a share"),
    ({"feature_subset_strategy": 0}, "feature_subset_strategy"),
    ({"feature_subset_strategy": 1.5}, "feature_subset_strategy"),
    ({"feature_subset_strategy": True}, "feature_subset_strategy"),
]


def test_a_wrong_parameter_is_refused_when_it_is_given(subtests: Any) -> None:
    for stage in STAGES:
        for given, message in WRONG:
            with subtests.test(stage.__name__, **given), pytest.raises(ConfigError, match=message):
                stage("y", **given)


def test_a_fraction_is_no_class_of_a_forest(make: Callable[..., Dataset], y: np.ndarray) -> None:
    with pytest.raises(DataValueError, match="not a class") as caught:
        Pipeline(st.RandomForestClassifier("y")).fit(make(y=y))
    assert "RandomForestRegressor" in str(caught.value.hint)
