"""Estimators of cuML as a stage: on a stand-in whose fits are scikit-learn's, which is the oracle for what is kept."""

import itertools
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import cuml_stand_in
import numpy as np
import pyarrow as pa
import pytest
from cuml_stand_in import FEATURES, SIZE, X, Y, loaded
from timed_subtests import run_checks

import penstock as ps
from penstock import devices, frames
from penstock import stages as st
from penstock.core.extras import how_to_install
from penstock.dataset import Dataset
from penstock.devices import Device
from penstock.engines.local import LocalEngine
from penstock.errors import ConfigError, DataValueError, MissingExtraError, UnsupportedStepError
from penstock.frames import cudf
from penstock.pipeline import Pipeline, PipelineModel
from penstock.stages.training.cuml._estimators import INSTEAD, REASONS, TABLE, VERSION, entries
from penstock.stages.training.cuml._state import STAGES
from penstock.testing import checks_for, trials

ROOT = Path(__file__).parents[3]
BIG = np.array(["no", "yes"])[(X[:, 0] + X[:, 2] > 0).astype(int)]
KINDS = {"classifier", "regressor", "clusterer", "transformer", "outlier_detector", "other"}
PRECISION = {"float32": 1e-6, "float64": 1e-9}
BY_SKOPS = [name for name, entry in entries().items() if entry.kept.startswith("sklearn")]
KEPT = [name for name, entry in entries().items() if entry.refusal is None]
REFUSED = [name for name, entry in entries().items() if entry.refusal is not None]

pytestmark = [pytest.mark.stand_in, pytest.mark.cpu("cuDF and cuML are stand-ins")]


def dataset(device: str = "gpu", x: np.ndarray = X, **columns: Any) -> Dataset:
    """Return the features and more columns, in four fragments."""
    table = pa.table({**dict(zip(FEATURES, x.T, strict=True)), **columns})
    return LocalEngine(device=device).from_arrow(table, fragment_bytes=table.nbytes // 4)


def fit(estimator: Any, label: Any = None, *, data: Dataset | None = None, **options: Any) -> PipelineModel:
    known = dataset(size=SIZE, big=BIG, y=Y, z=-Y, w=np.arange(len(X)) % 3) if data is None else data
    return Pipeline(st.CumlEstimator(estimator, label, features=FEATURES, **options)).fit(known)


def scores(model: PipelineModel, name: str, device: str = "cpu") -> np.ndarray:
    return np.array(model.transform(dataset(device)).to_arrow()[name].to_pylist())


def values_of(estimator: Any, dtype: str, label: Any = None, weight: Any = None) -> Any:
    """Return scikit-learn's twin of an estimator of the stand-in, fitted on the same matrix."""
    twin = estimator._get_cpu_class()(**estimator.get_params(deep=False))
    given = {} if weight is None else {"sample_weight": weight}
    return twin.fit(X.astype(dtype), None if label is None else label, **given)


# The table


def test_the_table_has_every_estimator_that_cuml_names_at_its_root():
    at_the_root = """
        AgglomerativeClustering ARIMA AutoARIMA CD DBSCAN ElasticNet EmpiricalCovariance ExponentialSmoothing
        GaussianRandomProjection HDBSCAN IncrementalPCA IsolationForest KernelDensity KernelRidge KMeans
        KNeighborsClassifier KNeighborsRegressor Lars Lasso LedoitWolf LinearRegression LinearSVC LinearSVR
        LogisticRegression MBSGDClassifier MBSGDRegressor NearestNeighbors PCA QN RandomForestClassifier
        RandomForestRegressor Ridge SGD SparseRandomProjection SVC SVR TruncatedSVD TSNE UMAP
    """
    assert {entry.name for entry in entries().values() if "." not in entry.name} == set(at_the_root.split())


def test_the_table_is_that_of_the_cuml_that_is_locked():
    assert f"cuml-cu13=={VERSION}" in (ROOT / "requirements" / "gpu.lock").read_text(encoding="utf-8").splitlines()


def test_the_table_is_what_the_installed_cuml_says():
    pytest.importorskip("cuml", reason="only `make check-gpu` has it")
    from tools.cuml_table import lines

    assert TABLE.splitlines() == lines()


def test_an_estimator_of_the_installed_cuml_is_described_without_cuda(subtests):
    pytest.importorskip("cuml", reason="only `make check-gpu` has it")
    for name in KEPT:
        with subtests.test(name):
            entry = entries()[name]
            stage = st.CumlEstimator(loaded(f"cuml.{entry.name}")(), None if entry.labels == "none" else "y")
            assert stage.estimator.get_params() == loaded(f"cuml.{entry.name}")().get_params()
            assert type(stage).from_parameters(stage.parameters()) == stage


def test_a_line_of_the_table_says_what_can_be_done(subtests):
    for name, entry in entries().items():
        with subtests.test(name):
            assert entry.kind in KINDS
            assert entry.labels in ("none", "one", "several")
            assert entry.weights in (None, "sample_weight")
            assert entry.stage is None or {entry.stage} <= set(STAGES) & set(st.__all__)
            assert entry.refusal is None or entry.refusal in REASONS
            if entry.refusal is None:
                twin = loaded(str(entry.twin))
                assert entry.twin.startswith("sklearn.")
                assert entry.methods
                assert [method for method in entry.methods if not hasattr(twin, method)] == []


def test_the_page_names_what_is_kept_and_what_is_refused():
    page = (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8").partition("## Estimators of cuML")[2]
    _, *rows = [line.split("|")[1:3] for line in page.partition("\n## ")[0].splitlines() if line.startswith("| ")]
    kept = {name for names, how in rows if "refused" not in how for name in re.findall(r"`([\w.]+)`", names)}
    assert kept == {entries()[name].name for name in KEPT}
    refused = "".join(names for names, how in rows if "refused" in how).replace("random projections", "`Projection`")
    for entry in (entries()[name] for name in REFUSED):
        words = (entry.name, entry.name.partition(".")[0], entry.name[-len("Projection") :])
        assert any(f"`{word}`" in refused for word in words), entry.name


def test_what_is_to_be_taken_instead_of_the_refused_is_there():
    assert set(INSTEAD) <= set(REFUSED)
    assert set(INSTEAD.values()) <= set(st.__all__)


# What becomes a stage


@pytest.mark.thorough
def test_a_regression_predicts_what_scikit_learn_predicts(cuml, subtests):
    names = ["LinearRegression", "Ridge", "Lasso", "ElasticNet"]
    for place, (name, dtype) in enumerate(itertools.product(names, PRECISION)):
        intercept = place % 4 in (0, 3)  # each name, and each precision, once with and once without
        estimator = getattr(cuml, name)(fit_intercept=intercept)
        expected = values_of(estimator, dtype, Y.astype(dtype)).predict(X)
        near = {"rtol": PRECISION[dtype], "atol": PRECISION[dtype] * np.abs(Y).max()}
        with subtests.test(name, dtype=dtype, intercept=intercept):
            np.testing.assert_allclose(scores(fit(estimator, "y", dtype=dtype), "prediction"), expected, **near)


@pytest.mark.thorough
def test_principal_components_and_singular_vectors_are_those_of_scikit_learn(cuml, subtests):
    for dtype, whiten in itertools.product(PRECISION, [False, True, None]):
        estimator = cuml.PCA(n_components=2, whiten=whiten) if whiten is not None else None
        estimator = estimator or cuml.TruncatedSVD(n_components=2, random_state=0)
        expected = values_of(estimator, dtype).transform(X)
        near = {"rtol": PRECISION[dtype], "atol": PRECISION[dtype] * np.abs(X).max()}
        columns = ("one", "two") if dtype == "float64" else ("transformed",)
        with subtests.test(type(estimator).__name__, dtype=dtype, whiten=whiten):
            model = fit(estimator, dtype=dtype, output_columns=columns)
            found = np.column_stack([scores(model, name) for name in columns])
            np.testing.assert_allclose(found, expected, **near)


@pytest.mark.thorough
def test_clusters_are_those_of_scikit_learn_on_either_device(cuml):
    for dtype in PRECISION:
        estimator = cuml.KMeans(n_clusters=4, random_state=0, n_init=1)
        expected, model = values_of(estimator, dtype), fit(estimator, dtype=dtype)
        for device in ("cpu", "gpu"):
            assert scores(model, "prediction", device).tolist() == expected.predict(X.astype(dtype)).tolist()
        learned = model.fitted[0]["learned"]
        np.testing.assert_allclose(learned["cost"], expected.inertia_, rtol=PRECISION[dtype])
        assert learned["sizes"] == np.bincount(expected.labels_).tolist()


@pytest.mark.thorough
def test_a_logistic_regression_scores_as_that_of_scikit_learn(cuml, subtests):
    labels = {"size": SIZE, "big": BIG}
    for label, intercept in itertools.product(labels, [True, False]):
        dtype = "float32" if (label == "size") == intercept else "float64"
        estimator = cuml.LogisticRegression(C=0.01, max_iter=2000, fit_intercept=intercept)
        classes, places = np.unique(labels[label], return_inverse=True)
        expected = values_of(estimator, dtype, places)
        near = {"rtol": PRECISION[dtype], "atol": PRECISION[dtype]}
        with subtests.test(label, intercept=intercept, dtype=dtype):
            model, probability = fit(estimator, label, dtype=dtype), expected.predict_proba(X)
            probability = probability if len(classes) > 2 else probability[:, 1]
            np.testing.assert_allclose(scores(model, "probability"), probability, **near)
            assert scores(model, "prediction").tolist() == classes[expected.predict(X)].tolist()
            raw = scores(fit(estimator, label, dtype=dtype, method="decision_function"), "rawPrediction")
            np.testing.assert_allclose(raw, expected.decision_function(X), rtol=PRECISION[dtype], atol=1e-5)


@pytest.mark.thorough
def test_only_the_columns_of_the_method_are_added_and_others_stay(cuml):
    data = dataset(size=SIZE, rawPrediction=np.arange(len(X)))
    model = fit(cuml.LogisticRegression(max_iter=2000), "size", data=data)
    made = model.transform(data).to_arrow()
    assert made.schema.names == [*FEATURES, "size", "rawPrediction", "probability", "prediction"]
    assert made["rawPrediction"].to_pylist() == list(range(len(X)))


@pytest.mark.thorough
def test_weights_are_passed_on(cuml):
    weight = np.arange(len(X)) % 3
    expected = values_of(cuml.Ridge(), "float64", Y, weight.astype(float)).predict(X)
    found = scores(fit(cuml.Ridge(), "y", weight="w", dtype="float64"), "prediction")
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.thorough
def test_a_stage_is_returned_with_its_state_and_scores_by_itself(cuml):
    model = fit(cuml.KMeans(n_clusters=4, random_state=0), prediction="cluster")
    stage, state = model.stages[0].as_stage(model.fitted[0])
    assert (type(stage), stage.prediction, stage.k) == (st.KMeans, "cluster", 4)
    made = stage.transform(frames.from_arrow(dataset("cpu").to_arrow()), state)
    assert made["cluster"].to_list() == scores(model, "cluster").tolist()
    with pytest.raises(ConfigError, match="is kept as the state of KMeans"):
        model.stages[0].fitted_estimator(model.fitted[0])
    other = fit(cuml.SVR(), "y")
    with pytest.raises(ConfigError, match="is kept as an estimator of scikit-learn"):
        other.stages[0].as_stage(other.fitted[0])


@pytest.mark.thorough
def test_a_fit_that_ended_early_is_told(cuml):
    model = fit(cuml.LogisticRegression(max_iter=2), "size")
    notes = model.stages[0].notes(model.fitted[0])
    assert any("ConvergenceWarning" in note for note in notes)
    assert any("not converged after 2 iterations" in note for note in notes)


@pytest.mark.thorough
def test_coefficients_that_are_no_numbers_are_refused(cuml, monkeypatch):
    fitted = cuml.Ridge.as_sklearn

    def broken(self: Any) -> Any:
        twin = fitted(self)
        twin.coef_ = twin.coef_ * np.nan
        return twin

    monkeypatch.setattr(cuml.Ridge, "as_sklearn", broken)
    with pytest.raises(DataValueError, match="coef_ of Ridge is NaN or infinite after the fit to 'a', 'b', 'c'"):
        fit(cuml.Ridge(), "y")


# What scikit-learn's estimator is kept of


def small(kind: Any) -> Any:
    """Return an estimator that draws the same each time, and of trees has but a few."""
    few = {"random_state": 0, "n_estimators": 3}
    return kind(**{name: value for name, value in few.items() if name in kind().get_params()})


def of_two_classes(name: str) -> dict[str, Any]:
    kind = entries()[name].kind
    return {"classifier": {"label": "big"}, "regressor": {"label": "y"}}.get(kind, {})


@pytest.mark.thorough
def test_an_estimator_of_scikit_learn_is_kept_and_scores_what_it_scores(cuml, tmp_path, subtests):
    for name in BY_SKOPS:
        estimator, labels = small(getattr(cuml, name)), of_two_classes(name)
        with subtests.test(name):
            model = fit(estimator, dtype="float64", **labels)
            (column,) = [each for each in model.stages[0].outputs() if each != "prediction"] or ["prediction"]
            twin, method = model.stages[0].fitted_estimator(model.fitted[0]), model.stages[0]._method
            expected = getattr(twin, method)(X)
            expected = expected.toarray() if hasattr(expected, "toarray") else expected
            expected = expected[:, 1] if method == "predict_proba" else expected
            found = scores(model, column)
            np.testing.assert_allclose(found, expected, rtol=1e-12)
            model.save(tmp_path / name)
            again = PipelineModel.load(tmp_path / name)
            assert again.digest == model.digest
            np.testing.assert_array_equal(scores(again, column), found)


@pytest.mark.thorough
def test_distances_and_several_labels_are_kept_by_scikit_learn(cuml):
    distances = fit(cuml.KMeans(n_clusters=4, random_state=0), method="transform")
    assert scores(distances, "transformed").shape == (len(X), 4)
    several = fit(cuml.LinearRegression(), ("y", "z"), dtype="float64")
    np.testing.assert_allclose(scores(several, "prediction"), np.column_stack([Y, -Y]), rtol=1e-9)
    assert all("estimator" in model.fitted[0] for model in (distances, several))


@pytest.mark.thorough
def test_classes_have_the_values_of_the_label(cuml):
    model = fit(cuml.RandomForestClassifier(n_estimators=5, random_state=0), "size")
    found = scores(model, "prediction")
    assert set(found) == set(SIZE)
    assert (found == SIZE).mean() > 0.95


@pytest.mark.thorough
def test_more_than_two_classes_are_refused_before_the_fit_where_they_could_not_be_kept(cuml):
    with pytest.raises(ConfigError, match=r"label 'size' has 3 classes, and cuml\.SVC is kept of two only"):
        fit(cuml.SVC(), "size")
    assert cuml_stand_in.SEEN == []
    assert set(scores(fit(cuml.SVC(), "big"), "prediction")) == {"no", "yes"}


# Saved, and loaded where nothing of this is installed


@pytest.mark.thorough
def test_a_model_that_became_a_stage_scores_without_cuml_scikit_learn_and_skops(cuml, tmp_path, hide_modules, subtests):
    cases = [
        ("KMeans", None, "prediction"), ("Lasso", "y", "prediction"), ("LogisticRegression", "size", "probability"),
        ("LogisticRegression", "big", "prediction"), ("PCA", None, "transformed"),
    ]  # fmt: skip
    models = [fit(getattr(cuml, name)(), label) for name, label, _ in cases]
    for place, model in enumerate(models):
        model.save(tmp_path / str(place))
    expected = [scores(model, column) for model, (_, _, column) in zip(models, cases, strict=True)]
    hide_modules("cuml", "cudf", "cupy", "sklearn", "skops")
    for place, (name, label, column) in enumerate(cases):
        with subtests.test(name, label=label):
            again = PipelineModel.load(tmp_path / str(place))
            assert again.digest == models[place].digest
            assert again.stages == models[place].stages
            np.testing.assert_array_equal(scores(again, column), expected[place])
            with pytest.raises(ConfigError, match="is that of a loaded model"):
                Pipeline(*again.stages).fit(dataset("cpu", size=SIZE, big=BIG, y=Y))


# What is refused before the fit


def test_what_cannot_be_kept_is_refused_when_the_stage_is_made(cuml, subtests):
    own_rows = {"clusterer": "ps.fit_predict", "transformer": "ps.fit_transform"}
    for name in REFUSED:
        entry = entries()[name]
        with subtests.test(name):
            with pytest.raises(ConfigError, match="cannot be kept, and is not fitted") as refused:
                st.CumlEstimator(getattr(cuml, name)(), "y")
            assert f"cuml.{entry.name} {REASONS[entry.refusal]}" in refused.value.message
            of_own_rows = entry.refusal == "transductive" or name == "UMAP"
            instead = own_rows[entry.kind] if of_own_rows else INSTEAD.get(name, "SklearnEstimator")
            assert instead in refused.value.hint


def other_modules(cuml: ModuleType) -> Iterator[tuple[Any, str]]:
    yield type("KMeans", (cuml.KMeans,), {"__module__": "cuml.dask.cluster.kmeans"})(), "estimator of several GPUs"
    yield type("KMeansMG", (cuml.KMeans,), {"__module__": "cuml.cluster.kmeans_mg"})(), "estimator of several GPUs"
    yield type("KMean", (cuml.KMeans,), {"__module__": "cuml.cluster"})(), "Did you mean 'KMeans'"
    yield import_module("sklearn.cluster").KMeans(), "expected an estimator of cuML"
    yield cuml.KMeans, "expected an estimator of cuML"
    yield "KMeans", "expected an estimator of cuML"


def test_what_is_no_estimator_of_one_gpu_is_refused(cuml):
    for estimator, problem in other_modules(cuml):
        with pytest.raises(ConfigError, match=problem):
            st.CumlEstimator(estimator)


IMPOSSIBLE = [
    ("PCA", (), {"method": "predict"}, "has no predict, to score new rows with"),
    ("Ridge", (), {}, "learns from a label, and none is given"),
    ("SVR", (("y", "z"),), {}, "learns one label, and 2 are given"),
    ("KNeighborsRegressor", ("y",), {"weight": "w"}, "takes no sample_weight"),
    ("KMeans", (), {"dtype": "float16"}, "dtype of CumlEstimator is 'float16'"),
    ("KMeans", (), {"memory_limit": 0}, "memory_limit of CumlEstimator is 0"),
]


def test_what_an_estimator_cannot_do_is_refused(cuml, subtests):
    for name, arguments, options, problem in IMPOSSIBLE:
        with subtests.test(name), pytest.raises(ConfigError, match=problem):
            st.CumlEstimator(getattr(cuml, name)(), *arguments, **options)


def test_parameters_that_scikit_learn_lacks_are_refused(cuml):
    with pytest.raises(ConfigError, match="has no twin in scikit-learn, as which it would be kept: `split_criterion"):
        st.CumlEstimator(cuml.RandomForestRegressor(criterion="gamma"), "y")


@pytest.mark.thorough
def test_a_function_among_the_parameters_is_refused(cuml):
    with pytest.raises(UnsupportedStepError, match="cannot be stored without running code"):
        st.CumlEstimator(cuml.KNeighborsRegressor(metric=lambda one, other: 0.0), "y")


# What is said of the rows of the fit alone


@pytest.mark.thorough
def test_labels_are_what_the_estimator_says_of_the_rows_on_its_gpu(cuml):
    for estimator in (cuml.DBSCAN(eps=2.0), cuml.SpectralClustering(n_clusters=4, random_state=0)):
        cuml_stand_in.SEEN.clear()
        found = ps.fit_predict(dataset(size=SIZE), estimator, features=FEATURES).to_arrow()["cluster"]
        assert found.type == pa.int32()
        assert found.to_pylist() == values_of(estimator, "float32").labels_.tolist()
        assert [(seen.dtype, seen.shape) for seen in cuml_stand_in.SEEN] == [(np.float32, X.shape)]


@pytest.mark.thorough
def test_vectors_are_what_the_estimator_says_of_the_rows_on_its_gpu(cuml):
    estimator = cuml.SpectralEmbedding(n_components=2, affinity="rbf", random_state=0)
    found = ps.fit_transform(dataset(), estimator, features=FEATURES).to_arrow()["embedding"]
    np.testing.assert_array_equal(np.array(found.to_pylist()), values_of(estimator, "float32").embedding_)


def test_the_rows_of_the_fit_need_a_gpu_too(cuml):
    for call, estimator in ((ps.fit_predict, cuml.DBSCAN()), (ps.fit_transform, cuml.TSNE())):
        with pytest.raises(ConfigError, match="cuML needs a GPU to fit") as refused:
            call(dataset("cpu"), estimator)
        assert "device='gpu'" in refused.value.hint
    assert cuml_stand_in.SEEN == []


def test_what_says_nothing_of_the_rows_of_the_fit_is_refused(cuml):
    several = type("DBSCAN", (cuml.DBSCAN,), {"__module__": "cuml.dask.cluster.dbscan"})()
    with pytest.raises(ConfigError, match="estimator of several GPUs"):
        ps.fit_predict(dataset(), several)
    with pytest.raises(ConfigError, match=r"Ridge\(\) learns from a label, and fit_predict has none") as refused:
        ps.fit_predict(dataset(), cuml.Ridge())
    assert "CumlEstimator" in refused.value.hint


def test_without_a_gpu_nothing_is_fitted(cuml):
    with pytest.raises(ConfigError, match="cuML needs a GPU to fit") as refused:
        fit(cuml.KMeans(), data=dataset("cpu"))
    assert "device='gpu'" in refused.value.hint
    assert "take KMeans" in refused.value.hint
    assert cuml_stand_in.SEEN == []


@pytest.mark.parametrize(("package", "extra"), [("cuml", "gpu"), ("skops", "sklearn")])
def test_without_a_package_it_is_told_how_to_install_it(package, extra, cuml, hide_modules):
    estimator = cuml.SVR()
    hide_modules(package)
    with pytest.raises(MissingExtraError, match="cuML" if package == "cuml" else "skops") as refused:
        st.CumlEstimator(estimator, "y")
    assert refused.value.hint == how_to_install(extra)


def test_a_proxy_of_the_accelerator_stands_for_what_it_would_fit(cuml):
    proxy = cuml_stand_in.proxy_of(cuml)
    stage = st.CumlEstimator(proxy(n_clusters=4))
    assert isinstance(stage.estimator, cuml.KMeans)
    assert stage.estimator.n_clusters == 4
    with pytest.raises(ConfigError, match=r"is not fitted on the GPU by cuml\.accel: `algorithm='elkan'`"):
        st.CumlEstimator(proxy(algorithm="elkan"))


# On the device


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", list(PRECISION))
def test_rows_stay_on_the_device_in_their_order(dtype, cuml, monkeypatch):
    brought: list[tuple[int, ...]] = []
    to_host: Callable[..., Any] = cudf.to_host
    monkeypatch.setattr(cudf, "to_host", lambda values: (brought.append(values.shape), to_host(values))[1])
    fit(cuml.Ridge(), "y", weight="w", dtype=dtype)
    (matrix,) = cuml_stand_in.SEEN
    assert matrix.dtype == dtype
    assert matrix.flags.f_contiguous
    np.testing.assert_array_equal(matrix.get(), X.astype(dtype))
    assert (1, 3) in brought
    assert (len(X), 3) not in brought


@pytest.mark.thorough
def test_a_matrix_larger_than_a_quarter_of_the_gpu_is_refused_before_it_is_read(cuml, monkeypatch):
    monkeypatch.setattr(devices, "use", lambda kind: Device("gpu", 0, memory=4 * 2000))
    problem = (
        r"240 rows x 3 columns x 4 bytes = 2,880 bytes do not fit .* 2,000 bytes, a quarter of the memory of the GPU"
    )
    with pytest.raises(ConfigError, match=problem):
        fit(cuml.KMeans())
    fit(cuml.KMeans(), memory_limit=2880)
    with pytest.raises(ConfigError, match="memory_limit"):
        fit(cuml.KMeans(), memory_limit=2879)


@pytest.mark.thorough
def test_values_too_large_for_float32_are_refused(cuml):
    large = X.copy()
    large[5, 1] = 1e39
    with pytest.raises(DataValueError, match="column 'b': 1 value"):
        fit(cuml.PCA(), data=dataset(x=large))
    fit(cuml.PCA(n_components=1), data=dataset(x=large), dtype="float64")


# As every stage


EXAMPLES: dict[str, dict[str, Any]] = {
    "KMeans": {"weight": "w", "features": ("n3", "y")},
    "PCA": {"features": ("n3", "y", "w")},
    "Ridge": {"label": "y", "features": ("n3", "label"), "weight": "w"},
    "LogisticRegression": {"label": "class", "features": ("n3",), "dtype": "float64"},
    "RandomForestClassifier": {"label": "class", "features": ("n3", "y")},
}
READING = tuple(f"check_{name}" for name in ("vectors", "scans", "refit", "warm", "missing_label", "only_needed"))
IN_FULL = {"Ridge", "RandomForestClassifier"}
"""Estimators with all checks of reading: a stage of its own, and one of scikit-learn. The others read rows alike."""


@pytest.mark.thorough
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_fitted_stage_holds_what_every_stage_holds(name, cuml, subtests):
    checks = checks_for(st.CumlEstimator(small(getattr(cuml, name)), **EXAMPLES[name]), device="gpu")
    # Rows in another order make other digits of float32, and there is no other engine to agree with.
    left_out = ("check_any_partitioning", "check_engines_agree", *(() if name in IN_FULL else READING))
    chosen = [check for check in checks if not check.name.startswith(left_out)]
    chosen = [check for check in chosen if check.case is None or name == "Ridge"]
    run_checks(chosen, trials.home("gpu"), subtests)
