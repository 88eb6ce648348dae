"""Any estimator of scikit-learn as a stage makes what it makes of the same matrix by hand, on any engine."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingRegressor, IsolationForest, RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from penstock import frames
from penstock import stages as st
from penstock.core.extras import how_to_install
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, MissingExtraError, SchemaError
from penstock.pipeline import Pipeline
from penstock.spmd import SpmdOptions
from penstock.spmd.rank import Rank
from penstock.stages.training.sklearn import _fit as fit

ROWS = 240
FEATURES = ("a", "b", "c")


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(ROWS, 3)) * [1.0, 10.0, 0.1] + [0.0, 50.0, 0.0]


@pytest.fixture(scope="module")
def size(x: np.ndarray) -> np.ndarray:
    return np.array(["large", "medium", "small"])[np.digitize(x[:, 0] + x[:, 2], [-0.5, 0.6])]


@pytest.fixture
def make(local: Engine, x: np.ndarray) -> Callable[..., Dataset]:
    """Return a function that makes a dataset of the features and more columns, in four fragments."""

    def dataset(engine: Engine = local, **columns: Any) -> Dataset:
        table = pa.table({**dict(zip(FEATURES, x.T, strict=True)), **columns})
        return engine.from_arrow(table, fragment_bytes=table.nbytes // 4)

    return dataset


def stage(estimator: Any, label: Any = None, **options: Any) -> st.SklearnEstimator:
    return st.SklearnEstimator(estimator, label, **{"features": FEATURES, **options})


def made(data: Dataset, *arguments: Any, **options: Any) -> pa.Table:
    return Pipeline(stage(*arguments, **options)).fit(data).transform(data).to_arrow()


def values(table: pa.Table, name: str) -> np.ndarray:
    return np.array(table[name].to_pylist())


# What the estimator makes of the matrix itself


@pytest.mark.thorough
def test_the_probability_of_two_classes_is_that_of_the_second(make, x):
    label = x[:, 0] > 0
    found = made(make(label=label), LogisticRegression(), "label")
    assert found.schema.field("probability").type == pa.float64()
    assert found.schema.field("prediction").type == pa.bool_()
    expected = LogisticRegression().fit(x, label)
    np.testing.assert_allclose(values(found, "probability"), expected.predict_proba(x)[:, 1], rtol=1e-12)
    assert found["prediction"].to_pylist() == expected.predict(x).tolist()


@pytest.mark.thorough
def test_a_pipeline_is_an_estimator(make, x, size):
    found = made(make(size=size), make_pipeline(StandardScaler(), SVC(C=3.0)), "size")
    expected = make_pipeline(StandardScaler(), SVC(C=3.0)).fit(x, size)
    np.testing.assert_allclose(values(found, "rawPrediction"), expected.decision_function(x), rtol=1e-12)
    assert found["prediction"].to_pylist() == expected.predict(x).tolist()


@pytest.mark.thorough
def test_nulls_are_missing_to_an_estimator_that_takes_them(make, x):
    y = x[:, 0] * 2
    holes = np.where(np.random.default_rng(5).random(ROWS) < 0.2, np.nan, x[:, 0])
    data = make(a=pa.array(holes, from_pandas=True), y=y)
    model = HistGradientBoostingRegressor(max_iter=5, random_state=0)
    expected = clone(model).fit(np.column_stack([holes, x[:, 1:]]), y)
    found = values(made(data, model, "y"), "prediction")
    np.testing.assert_array_equal(found, expected.predict(np.column_stack([holes, x[:, 1:]])))
    filled = made(data, make_pipeline(SimpleImputer(), LinearRegression()), "y")
    assert filled["prediction"].null_count == 0


def test_several_labels_are_a_list(make, x):
    targets = np.column_stack([x @ [1.0, 2.0, 3.0], x @ [0.0, -1.0, 1.0]])
    found = made(make(y=targets[:, 0], z=targets[:, 1]), Ridge(alpha=2.0), ["y", "z"])
    assert found.schema.field("prediction").type == pa.list_(pa.float64())
    np.testing.assert_allclose(values(found, "prediction"), Ridge(alpha=2.0).fit(x, targets).predict(x), rtol=1e-12)


def test_a_transformer_gives_a_list_or_a_column_for_each_name(make, x):
    expected = PCA(2, svd_solver="full").fit_transform(x)
    whole = made(make(), PCA(2, svd_solver="full"))
    np.testing.assert_allclose(values(whole, "transformed"), expected, atol=1e-12)
    each = made(make(), PCA(2, svd_solver="full"), output_columns=("p", "q"))
    np.testing.assert_allclose(values(each, "q"), expected[:, 1], atol=1e-12)
    assert each.schema.field("p").type == pa.float64()


def test_a_sparse_result_is_a_list_too(make, x):
    kind = np.arange(ROWS) % 3
    found = made(make(kind=kind), OneHotEncoder(), features=("kind",))
    np.testing.assert_array_equal(values(found, "transformed"), np.eye(3)[kind])


@pytest.mark.thorough
def test_what_learns_without_a_label_gives_numbers(make, x):
    clusters = KMeans(3, n_init=1, random_state=0)
    found = made(make(), clusters)["prediction"]
    assert found.type == pa.int32()
    np.testing.assert_array_equal(found, clone(clusters).fit(x).predict(x))
    odd = IsolationForest(n_estimators=10, random_state=0)
    scored = made(make(), odd, method="decision_function")
    np.testing.assert_array_equal(scored["prediction"], clone(odd).fit(x).predict(x))
    np.testing.assert_allclose(values(scored, "rawPrediction"), clone(odd).fit(x).decision_function(x), rtol=1e-12)
    mixture = made(make(), GaussianMixture(2, random_state=0), method="predict_proba")
    np.testing.assert_allclose(values(mixture, "probability").sum(axis=1), 1.0)


@pytest.mark.thorough
def test_a_transformer_may_learn_from_a_label(make, x, size):
    found = made(make(size=size), SelectKBest(k=1), "size", output_columns="best")
    np.testing.assert_array_equal(found["best"], x[:, 0])


@pytest.mark.thorough
def test_weights_are_those_of_the_estimator(make, x, size):
    weight = np.random.default_rng(1).integers(0, 5, ROWS).astype(float)
    data = make(size=size, w=weight)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    expected = clone(tree).fit(x, size, sample_weight=weight).predict_proba(x)
    for estimator in (tree, make_pipeline("passthrough", tree)):
        np.testing.assert_array_equal(values(made(data, estimator, "size", weight="w"), "probability"), expected)


# On engines


def test_it_is_fitted_on_one_rank_whatever_is_asked_for(local, make, size):
    asked = SpmdOptions(world_size=3)
    model = Pipeline(stage(LogisticRegression(max_iter=500), "size")).fit(make(size=size), options=asked)
    assert model.fitted[0]["rows"] == ROWS
    assert "on one rank, which reads" in Pipeline(stage(LogisticRegression(), "size")).explain(make(size=size))


@pytest.mark.thorough
def test_an_engine_is_told_of_the_size(make, size, monkeypatch):
    told = []
    monkeypatch.setattr(Rank, "report", lambda self, rounds, detail="": told.append(detail))
    made(make(size=size), DecisionTreeClassifier(max_depth=1), "size")
    assert told[0] == f"reading {ROWS} rows x 4 columns x 8 bytes = {ROWS * 32:,} bytes on one rank"


def test_too_large_a_matrix_is_refused_before_it_is_read(make, size, monkeypatch):
    monkeypatch.setattr(Rank, "batches", lambda *_: pytest.fail("it was read"))
    limited = stage(LogisticRegression(), "size", memory_limit=ROWS * 32 - 1)
    with pytest.raises(ConfigError, match=r"240 rows x 4 columns x 8 bytes = 7,680 bytes .* 7,679 bytes, memory_limit"):
        Pipeline(limited).fit(make(size=size))
    monkeypatch.setattr(fit, "devices", SimpleNamespace(memory_limit=lambda: ROWS * 32 * 4 - 4))
    with pytest.raises(ConfigError, match="limit is 7,679 bytes, a quarter of the memory"):
        Pipeline(stage(LogisticRegression(), "size")).fit(make(size=size))
    monkeypatch.undo()
    assert made(make(size=size), DecisionTreeClassifier(), "size", memory_limit=ROWS * 32).num_rows == ROWS


def test_warnings_of_the_fit_are_kept(make, size):
    model = Pipeline(stage(LogisticRegression(max_iter=1), "size")).fit(make(size=size))
    assert any("ConvergenceWarning" in text for text in model.fitted[0]["warnings"])


# Missing and infinite values


def test_a_column_without_a_value_is_refused(make, x):
    boosted, data = HistGradientBoostingRegressor(max_iter=2), make(empty=pa.nulls(ROWS, pa.float64()))
    with pytest.raises(DataValueError, match="column 'empty' is null in all 240"):
        Pipeline(stage(boosted, "a", features=("b", "empty"))).fit(data)


def test_values_that_the_estimator_refuses_are_told_by_their_columns(make, x):
    with pytest.raises(DataValueError, match=r"PCA.* refuses the values of 'a', 'b', 'c': n_components=9"):
        made(make(), PCA(9))
    far = make(b=np.where(np.arange(ROWS) == 7, 1e300, 0.0), y=x[:, 0] > 0)
    with pytest.raises(DataValueError, match=r"RandomForest.* refuses the values of 'a', 'b', 'c': .*float32"):
        made(far, RandomForestClassifier(2), "y")


# What it is asked for


IMPOSSIBLE = [
    ((LogisticRegression,), {}, "expected a scikit-learn or cuML estimator"),
    (("LogisticRegression",), {}, "expected a scikit-learn or cuML estimator"),
    ((LogisticRegression(),), {}, "learns from a label, and none is given"),
    ((SVC(), ("a", "b")), {}, "learns one label, and 2 are given"),
    ((DBSCAN(),), {}, "has no predict, to score new rows with"),
    ((SVC(), "size"), {"method": "predict_probability"}, "expected one of .* Did you mean 'predict_proba'"),
    ((SVC(), "size"), {"method": "transform"}, "has no transform"),
    ((SVC(), "size"), {"memory_limit": 0}, "memory_limit of SklearnEstimator is 0"),
]


def test_what_the_estimator_cannot_do_is_refused_at_once(subtests):
    for arguments, options, message in IMPOSSIBLE:
        with subtests.test(message), pytest.raises(ConfigError, match=message):
            st.SklearnEstimator(*arguments, **options)


def test_weights_are_refused_where_they_would_be_ignored():
    with pytest.raises(ConfigError, match=r"fit of KNeighborsClassifier\(\) takes no sample_weight"):
        stage(KNeighborsClassifier(), "size", weight="w")


def test_a_wrong_parameter_of_the_estimator_is_told(make, size):
    with pytest.raises(ConfigError, match="'C' parameter of LogisticRegression must be a float"):
        made(make(size=size), LogisticRegression(C=-1), "size")


def test_a_label_of_the_wrong_type_is_refused_before_reading(make, size):
    with pytest.raises(SchemaError, match="label 'size' is string, expected a number"):
        Pipeline(stage(Ridge(), ("y", "size"))).plan(make(size=size, y=np.zeros(ROWS)))


def test_several_labels_and_a_weight_are_no_features(make, size):
    schema = make(size=size, y=np.zeros(ROWS)).schema
    assert st.SklearnEstimator(Ridge(), ("c", "y"), weight="b").bind(schema).inputs() == ("a",)
    with pytest.raises(ConfigError, match="label 2 'y' is among the features"):
        st.SklearnEstimator(Ridge(), ("c", "y"), features=("a", "y")).bind(schema)


def test_names_must_be_as_many_as_the_numbers(make):
    with pytest.raises(ConfigError, match="gives 3 numbers a row, but there are 2 output_columns"):
        made(make(), PCA(), output_columns=("p", "q"))


def test_a_stage_keeps_a_copy_of_the_estimator(make, size):
    given = LogisticRegression(max_iter=500)
    trained = stage(given, "size")
    given.set_params(C=0.001)
    assert trained == stage(LogisticRegression(max_iter=500), "size") != stage(given, "size")
    Pipeline(trained).fit(make(size=size))
    assert [hasattr(each, "coef_") for each in (given, trained.estimator)] == [False, False]


# cuML


class _OfCuml(LogisticRegression):
    """What an estimator of cuML looks like to a stage."""

    __module__ = "cuml.linear_model"

    @classmethod
    def _get_cpu_class(cls):
        return LogisticRegression

    def _params_to_cpu(self):
        return self.get_params()

    def as_sklearn(self):
        check_is_fitted(self)  # where it is not, cuML starts CUDA nevertheless
        twin = LogisticRegression(**self.get_params())
        vars(twin).update(vars(self))
        return twin


class _GpuRank:
    kind, threads = "gpu", 1

    def __init__(self, table: pa.Table) -> None:
        self.frame = frames.from_arrow(table)

    def report(self, rounds: int, detail: str = "") -> None:
        pass

    def batches(self, name, columns, convert):
        yield convert(self.frame.select(columns))


@pytest.mark.thorough
def test_an_estimator_of_cuml_is_kept_as_that_of_scikit_learn(make, x, size):
    data = make(size=size)
    trained = stage(_OfCuml(max_iter=500), "size").bind(data.schema)
    learned = {"rows": ROWS, "classes": pa.table({"value": ["large", "medium", "small"]})}
    fitted = trained.train(_GpuRank(data.to_arrow()), learned)
    kept = trained.fitted_estimator(fitted)
    assert type(kept) is LogisticRegression
    np.testing.assert_array_equal(kept.coef_, LogisticRegression(max_iter=500).fit(x, size).coef_)


def test_an_estimator_of_cuml_needs_a_gpu_and_a_counterpart(make, size, monkeypatch):
    with pytest.raises(ConfigError, match="needs a GPU"):
        made(make(size=size), _OfCuml(), "size")
    monkeypatch.delattr(_OfCuml, "as_sklearn")
    with pytest.raises(ConfigError, match=r"_OfCuml of cuML has no as_sklearn\(\)"):
        stage(_OfCuml(), "size")


# Estimators of one's own


@pytest.mark.parametrize("package", ["skops", "sklearn"])
def test_without_what_stores_it_an_estimator_is_refused_before_it_is_fitted(hide_modules, package):
    estimator = Ridge()
    hide_modules(package)
    with pytest.raises(MissingExtraError, match=package) as refused:
        st.SklearnEstimator(estimator, "y")
    assert refused.value.hint == how_to_install("sklearn")
