"""Trainers in common: invalid rows and columns, predictions for rows with a null."""

import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import linear_model

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.frames import sparse
from penstock.pipeline import Pipeline

ROWS = 90
DRAW = np.random.default_rng(7)
X = DRAW.normal(size=(ROWS, 2))
SCORE = X @ [1.0, -1.0] + DRAW.logistic(size=ROWS)
VECTOR = sparse.columns("v")
TABLE = pa.table({
    "a": X[:, 0], "b": X[:, 1], "y": SCORE, "class": (SCORE > 0).astype(float), "w": np.ones(ROWS),
    "v_indices": pa.array([[row % 3, 3 + row % 2] for row in range(ROWS)], pa.list_(pa.int32())),
    "v_values": (1.0 + DRAW.integers(0, 4, (ROWS, 2))).tolist(), "o": np.zeros(ROWS), "g": np.arange(ROWS) // 10,
})  # fmt: skip
NUMBERS: dict[str, Any] = {"features": ("a", "b"), "weight": "w"}
OF_VECTOR: dict[str, Any] = {"features": ("a", *VECTOR), "weight": "w"}
NET: dict[str, Any] = {"module_options": {"hidden": [2]}, "epochs": 1, **NUMBERS}

REGRESSORS = {
    "linear": st.LinearRegression("y", **NUMBERS),
    "linear of a vector": st.LinearRegression("y", reg_param=0.1, **OF_VECTOR),
    "linear by folds": st.LinearRegressionCV("y", num_folds=2, **NUMBERS),
    "generalised": st.GeneralizedLinearRegression("y", offset="o", link_prediction="eta", **NUMBERS),
    "isotonic": st.IsotonicRegression("y", features="a", weight="w"),
    "scikit-learn's regressor": st.SklearnEstimator(linear_model.Ridge(), "y", **NUMBERS),
    "network of a number": st.TorchRegressor("y", **NET),
    "forest of a number": st.RandomForestRegressor("y", num_trees=2, **NUMBERS),
    "boosted number": st.XGBoostRegressor("y", num_boost_round=2, **NUMBERS),
    "ranker": st.XGBoostRanker("class", group="g", num_boost_round=2, **NUMBERS),
}
CLASSIFIERS = {
    "logistic": st.LogisticRegression("class", reg_param=0.1, **NUMBERS),
    "logistic of a vector": st.LogisticRegression("class", reg_param=0.1, **OF_VECTOR),
    "Bayes": st.NaiveBayes("class", model_type="gaussian", **NUMBERS),
    "linear discriminant": st.LinearDiscriminantAnalysis("class", **NUMBERS),
    "quadratic discriminant": st.QuadraticDiscriminantAnalysis("class", **NUMBERS),
    "scikit-learn's classifier": st.SklearnEstimator(linear_model.LogisticRegression(), "class", **NUMBERS),
    "network of classes": st.TorchClassifier("class", **NET),
    "forest of classes": st.RandomForestClassifier("class", num_trees=2, **NUMBERS),
    "boosted classes": st.XGBoostClassifier("class", num_boost_round=2, **NUMBERS),
}
CLUSTERS = {"k-means": st.KMeans(**NUMBERS), "mixture": st.GaussianMixture(k=2, **NUMBERS)}
TRAINERS: dict[str, Any] = {**REGRESSORS, **CLASSIFIERS, **CLUSTERS}
TREES = (st.XGBoostRegressor, st.XGBoostClassifier, st.XGBoostRanker, st.RandomForestRegressor,
         st.RandomForestClassifier)  # fmt: skip
EXACT_SQUARES = ("linear", "linear of a vector", "linear by folds", "logistic", "logistic of a vector", "isotonic",
                 "Bayes", "linear discriminant", "quadratic discriminant")  # fmt: skip


def with_values(name: str, bad: Any, rows: Sequence[int] = (53, 70)) -> pa.Table:
    values = [bad if row in rows else value for row, value in enumerate(TABLE[name].to_pylist())]
    return TABLE.set_column(TABLE.column_names.index(name), name, pa.array(values, pa.float64()))


@pytest.fixture
def written(local: Engine, tmp_path: Path) -> Callable[[pa.Table], Dataset]:
    """Return a function that writes rows to two files, of which the first has 20, and reads them."""

    def dataset(rows: pa.Table) -> Dataset:
        pq.write_table(rows.slice(0, 20), tmp_path / "0.parquet")
        pq.write_table(rows.slice(20), tmp_path / "1.parquet")
        return local.read_parquet(str(tmp_path / "*.parquet"))

    return dataset


def problem(name: str, column: str, bad: Any) -> str | None:
    """Return the message for two such values, None if the trainer accepts them or has its own message."""
    stage, is_feature = TRAINERS[name], column == "a"
    if is_feature and isinstance(stage, TREES):
        return None if bad is None else r"column 'a': 2 value\(s\) infinite, or too large for float32"
    if bad == 1e200:
        too_large = "has 2 values that are too large" if name in EXACT_SQUARES else "has values so large that"
        too_large = "2 value.* too large for float32" if "network" in name else too_large
        return None if "scikit-learn" in name else f"column 'a'.* {too_large}"
    kind = {None: "null", math.inf: "infinite", -math.inf: "infinite", -1.0: "negative", 0.5: "not whole"}[bad]
    if column == "class" and name in CLASSIFIERS and bad is not None:
        own = {"has values that are not a class": ("logistic", "network"), r"2 value\(s\) not a class": ("f", "boost")}
        kind = next((text for text, names in own.items() if name.startswith(names)), f"has 2 values that are {kind}")
        return f"column 'class'.* {kind}"
    return f"column '{column}' has 2 values that are {kind}"


@pytest.mark.parametrize(
    ("column", "values"),
    [pytest.param("w", (None, -1.0, math.inf), marks=pytest.mark.thorough), ("y", (None, -math.inf)),
     ("class", (None, math.inf, 0.5)), ("a", (None, math.inf, 1e200))],
    ids=["weight", "number", "class", "feature"],
)  # fmt: skip
def test_a_value_that_cannot_be_learned_is_told_with_column_count_file_and_row(
    written, tmp_path, subtests, column, values
):
    for bad in values:
        data = written(with_values(column, bad))
        for name, stage in TRAINERS.items():
            read = (*stage.features, stage.weight, getattr(stage, "label", None))
            told = problem(name, column, bad) if column in read and (name, bad) != ("ranker", 0.5) else None
            if told is None:
                continue
            with subtests.test(name, value=bad), pytest.raises(DataValueError, match=told) as caught:
                Pipeline(stage).fit(data)
            error = caught.value
            assert (error.column, error.row, error.path) == (column, 33, str(tmp_path / "1.parquet")), name
            assert error.stage == type(stage).__name__
            assert bad is not None or column != "a" or "Imputer" in str(error.hint), name


def test_weights_too_large_to_be_added_up_are_refused(local):
    for name in ("logistic", "logistic of a vector", "linear"):
        with pytest.raises(DataValueError, match="column 'w' has 2 values that are too large") as caught:
            Pipeline(TRAINERS[name]).fit(local.from_arrow(with_values("w", 1e200)))
        assert caught.value.row == 53


def test_rows_that_are_all_of_weight_0_are_nothing_to_learn_from(local, subtests):
    data = local.from_arrow(with_values("w", 0.0, range(ROWS)))
    told = {
        "linear": "no row has a positive weight", "linear of a vector": "no row has a positive weight",
        "linear by folds": "fold 0 of 2 has no row of a positive weight", "Bayes": r"'class' has 0 class\(es\)",
        "linear discriminant": r"'class' has 0 class\(es\)", "quadratic discriminant": r"'class' has 0 class\(es\)",
    }  # fmt: skip
    for name, stage in TRAINERS.items():
        message = told.get(name, "all weights in column 'w' are 0")
        with subtests.test(name), pytest.raises(DataValueError, match=message):
            Pipeline(stage).fit(data)


@pytest.mark.thorough
def test_one_class_is_told_with_its_count_also_where_the_other_has_no_weight(local, subtests):
    one, label = with_values("class", 1.0, range(ROWS)), TABLE["class"].to_numpy()
    weightless = TABLE.set_column(TABLE.column_names.index("w"), "w", pa.array(np.where(label == 1, 2.0, 0.0)))
    named = weightless.set_column(TABLE.column_names.index("class"), "class", pa.array(np.where(label == 1, "p", "n")))
    for name, stage in CLASSIFIERS.items():
        most = 10_000 if name == "Bayes" else 1000
        with subtests.test(name):
            cases = [(one, rf", expected 2 to {most}; counts: 1\.0: 90"), (weightless, ""), (named, "")]
            for rows, rest in cases[:1] if "scikit" in name else cases:  # which trains by weights of its own
                with pytest.raises(DataValueError, match=rf"label 'class' has 1 class\(es\){rest}"):
                    Pipeline(stage).fit(local.from_arrow(rows))


def test_two_classes_of_positive_weight_beside_one_without_are_learned(local, subtests):
    label = np.arange(ROWS) % 3
    rows = TABLE.set_column(TABLE.column_names.index("class"), "class", pa.array(label.astype(float)))
    rows = rows.set_column(TABLE.column_names.index("w"), "w", pa.array(np.where(label == 0, 0.0, 1.0)))
    for name, stage in CLASSIFIERS.items():
        with subtests.test(name):
            learned = Pipeline(stage).fit(local.from_arrow(rows)).fitted[0]
            assert learned["classes"].num_rows in (2, 3)


def test_columns_of_other_roles_are_no_features_and_their_types_are_checked_before_reading(subtests):
    schema = TABLE.schema
    for name, stage in TRAINERS.items():
        roles = {role: column for role in stage.roles if (column := getattr(stage, role, None)) is not None}
        with subtests.test(name):
            for role, column in roles.items():
                with pytest.raises(ConfigError, match=f"{role} '{column}' is among the features"):
                    replace(stage, features=("a", column)).bind(schema)
            unnamed = replace(stage, features=None) if name != "isotonic" else None
            others = {"a", "b", "y", "class", "w", "o", "g"} - set(roles.values())
            assert unnamed is None or {*unnamed.bind(schema).inputs()} - {getattr(stage, "offset", None)} == others
            if "label" in roles:
                wrong = pa.date32() if name in CLASSIFIERS else pa.string()
                changed = schema.set(schema.get_field_index(stage.label), pa.field(stage.label, wrong))
                with pytest.raises(SchemaError, match=f"(label|column) '{stage.label}' is {wrong}".split("[")[0]):
                    stage.bind(changed)


@pytest.mark.thorough
def test_a_row_with_a_null_has_nulls_and_others_what_they_had(local, subtests):
    few = TABLE.slice(0, 3)
    for name, stage in TRAINERS.items():
        with subtests.test(name):
            model, rows = Pipeline(stage).fit(local.from_arrow(TABLE)), few.to_pylist()
            rows[1]["a"] = None
            outputs = list(model.stages[0].outputs())
            whole, found = (
                model.transform(local.from_arrow(given)).to_arrow().select(outputs)
                for given in (few, pa.Table.from_pylist(rows, few.schema))
            )
            assert found.schema == whole.schema
            first, second, third = found.to_pylist()
            assert [first, third] == [whole.to_pylist()[0], whole.to_pylist()[2]]
            assert {value is None for value in second.values()} == {not isinstance(stage, TREES)}
            rows[1]["a"] = math.inf
            with pytest.raises(DataValueError, match=r"column 'a'.* infinite") as caught:
                model.transform(local.from_arrow(pa.Table.from_pylist(rows, few.schema))).to_arrow()
            assert (caught.value.column, caught.value.row) == ("a", 1)
            assert caught.value.stage == type(stage).__name__


@pytest.mark.parametrize("name", ["logistic", "linear of a vector", "generalised"])
def test_what_has_not_converged_is_noted(local, name):
    label = "y" if name.startswith("linear") else "class"
    options = {"family": "binomial"} if name == "generalised" else {}
    stage = replace(TRAINERS[name], label=label, max_iter=2, tol=1e-14, **options)
    model = Pipeline(stage).fit(local.from_arrow(TABLE))
    assert (model.fitted[0]["converged"], model.fitted[0]["iterations"]) == (False, 2)
    title = type(stage).__name__
    assert model.report.notes == [f"{title}: not converged after 2 iterations; raise max_iter or tol"]
    converged = Pipeline(replace(stage, max_iter=500, tol=1e-6)).fit(local.from_arrow(TABLE))
    assert converged.fitted[0]["converged"]
    assert not converged.report.notes


@pytest.mark.thorough
def test_models_are_loaded_without_the_libraries_that_trained_them(local, tmp_path):
    names = ["scikit-learn's classifier", "network of classes"]
    for place, name in enumerate(names):
        Pipeline(TRAINERS[name]).fit(local.from_arrow(TABLE)).save(tmp_path / str(place))
    code = """
import sys
sys.modules.update(torch=None, safetensors=None, sklearn=None, skops=None)  # importing them is an error from here on
import penstock as ps
print(*(type(ps.PipelineModel.load(path).stages[0]).__name__ for path in sys.argv[1:]))
"""
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "0", tmp_path / "1"], capture_output=True, text=True)
    assert done.stdout.split() == [type(TRAINERS[name]).__name__ for name in names], done.stderr
