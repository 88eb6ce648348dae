"""Estimators are stored without code, come back to the bit, and from a damaged or foreign file not at all."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import Birch, BisectingKMeans, KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, TweedieRegressor
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, SplineTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

from penstock import stages as st
from penstock.engines.base import Engine
from penstock.errors import ArtifactError, ArtifactVersionError, UnsupportedStepError, UntrustedArtifactError
from penstock.pipeline import Pipeline, PipelineModel
from penstock.stages.base import Blob
from penstock.stages.training.sklearn import _fit
from penstock.stages.training.sklearn._store import TRUSTED, fitted_estimator, installed, store

ROWS = 80
X = np.random.default_rng(7).normal(size=(ROWS, 4))
Y = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.2, 1.2])

STORABLE = [
    AdaBoostClassifier(n_estimators=3, random_state=0),
    BaggingClassifier(n_estimators=3, max_features=2, random_state=0),
    CalibratedClassifierCV(LogisticRegression(), cv=2),
    ExtraTreesClassifier(n_estimators=3, random_state=0),
    GaussianProcessClassifier(),
    GradientBoostingClassifier(n_estimators=3, random_state=0),
    HistGradientBoostingClassifier(max_iter=3, random_state=0),
    HistGradientBoostingClassifier(max_iter=3, random_state=0, categorical_features=[3]),
    IsolationForest(n_estimators=3, random_state=0),
    IsolationForest(n_estimators=3, max_features=2, random_state=0),
    KMeans(3, n_init=1, random_state=0),
    KNeighborsClassifier(algorithm="brute"),
    LogisticRegression(max_iter=500),
    MLPClassifier((4,), max_iter=400, tol=0.1, random_state=0),
    PCA(2),
    RandomForestClassifier(n_estimators=3, random_state=0),
    RandomForestRegressor(n_estimators=3, random_state=0),
    SVC(),
    TweedieRegressor(power=0),
    StackingClassifier([("tree", DecisionTreeClassifier(random_state=0))], LogisticRegression(), cv=2),
    VotingClassifier([("tree", DecisionTreeClassifier(random_state=0)), ("line", LogisticRegression())], voting="soft"),
    make_pipeline(SimpleImputer(), StandardScaler(), SelectKBest(k=2), SVC()),
    make_pipeline(ColumnTransformer([("bins", KBinsDiscretizer(3), [0]), ("rest", "passthrough", [1])]), SVC()),
    make_pipeline(FunctionTransformer(np.expm1), LogisticRegression(max_iter=500)),
]


def rounded() -> np.ndarray:
    """Return the features, the last one as a category."""
    return np.column_stack([X[:, :3], np.round(np.abs(X[:, 3]) * 2)])


def results(estimator: Any, x: np.ndarray) -> list[np.ndarray]:
    methods = [m for m in ("predict", "predict_proba", "decision_function", "transform") if hasattr(estimator, m)]
    return [np.asarray(getattr(estimator, name)(x)) for name in methods]


def read(blob: Blob) -> Any:
    return fitted_estimator({"estimator": blob, "sklearn": installed()})


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_what_is_read_predicts_the_same_to_the_bit(subtests):
    for estimator in STORABLE:
        model = clone(estimator).fit(rounded(), Y)
        with subtests.test(" ".join(repr(estimator).split())[:60]):
            again = read(store(model))
            assert again is not model
            for found, expected in zip(results(again, rounded()), results(model, rounded()), strict=True):
                np.testing.assert_array_equal(found, expected)


@pytest.mark.thorough
def test_the_same_estimator_is_the_same_file():
    first, second = (store(RandomForestClassifier(3, random_state=0).fit(X, Y)) for _ in range(2))
    assert first == second != store(RandomForestClassifier(3, random_state=1).fit(X, Y))


def test_it_is_read_once_whatever_the_threads(monkeypatch):
    import skops.io

    stored, loads, read_by = store(PCA(2).fit(X + 1)), skops.io.loads, []
    monkeypatch.setattr(skops.io, "loads", lambda *args, **options: read_by.append(1) or loads(*args, **options))
    threads = [threading.Thread(target=read, args=(stored,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_by) == 1


# A whole model


@pytest.fixture
def fitted(local: Engine) -> Callable[..., tuple[PipelineModel, Any]]:
    def fit(estimator: Any, label: str | None = "y") -> tuple[PipelineModel, Any]:
        names = np.array(["no", "perhaps", "yes"])[Y]
        data = local.from_arrow(pa.table({**{f"x{place}": X[:, place] for place in range(4)}, "y": names}))
        return Pipeline(st.SklearnEstimator(estimator, label, features=("x0", "x1", "x2", "x3"))).fit(data), data

    return fit


def test_a_saved_model_is_the_same_and_can_be_made_anew(fitted, tmp_path):
    model, data = fitted(make_pipeline(StandardScaler(), SVC(C=3.0)))
    model.save(tmp_path / "model")
    again = PipelineModel.load(tmp_path / "model")
    assert again.stages == model.stages
    assert again.transform(data).to_arrow().equals(model.transform(data).to_arrow())
    assert not [path for path in (tmp_path / "model").rglob("*") if "pickle" in path.name or path.suffix == ".pkl"]
    fresh = clone(again.stages[0].fitted_estimator(again.fitted[0]))
    assert st.SklearnEstimator(fresh, "y", features=again.stages[0].features) == model.stages[0]


def test_of_a_search_the_best_is_stored(fitted, tmp_path):
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0), {"max_depth": [1, 5]}, cv=KFold(2), scoring="accuracy"
    )
    model, data = fitted(search)
    model.save(tmp_path / "model")
    again = PipelineModel.load(tmp_path / "model")
    best = again.stages[0].fitted_estimator(again.fitted[0])
    assert best.max_depth == clone(search).fit(X, Y).best_params_["max_depth"] == 5
    assert again.transform(data).to_arrow()["prediction"].to_pylist() == best.predict(X).tolist()


def test_the_stage_of_a_loaded_model_is_not_fitted(fitted, tmp_path):
    model, data = fitted(SVC())
    model.save(tmp_path / "model")
    loaded = PipelineModel.load(tmp_path / "model").stages[0]
    assert repr(loaded.estimator) == "SVC()"
    with pytest.raises(ValueError, match=r"SVC\(\) is that of a loaded model") as caught:
        Pipeline(loaded).fit(data)
    assert "fitted_estimator" in caught.value.hint


# What cannot be stored


class Mine(BaseEstimator):
    """An estimator of the user's own."""

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        return self

    def transform(self, X):
        return X - self.mean_


NOT_STORABLE = [
    (Mine(), r"Mine\(\) cannot be stored without running code: it is made of .*Mine", []),
    (FunctionTransformer(lambda x: x), "cannot be stored without running code", []),
    (Birch(), "Birch.* cannot be stored without running code: it is .*not supported", []),
    (KNeighborsClassifier(), r"KNeighborsClassifier\(\) cannot be stored .* made of .*KDTree", [40]),
    (make_pipeline(StandardScaler(), BisectingKMeans(2)), "made of .*BisectingTree", [40]),
    (SplineTransformer(), "made of .*BSpline", [40]),
]


@pytest.fixture
def rows_fitted(monkeypatch) -> list[int]:
    """How many rows estimators are fitted on, where a few of 80 are tried first."""
    sizes, own = [], _fit.fit
    monkeypatch.setattr(_fit, "_FEW", 40)
    monkeypatch.setattr(_fit, "_TIMES", 2)
    monkeypatch.setattr(_fit, "fit", lambda model, rows, *more: sizes.append(len(rows.x)) or own(model, rows, *more))
    return sizes


def test_what_would_run_code_is_refused_before_the_fit_on_all_rows(fitted, rows_fitted, subtests):
    for estimator, reason, few in NOT_STORABLE:
        rows_fitted.clear()
        with subtests.test(reason), pytest.raises(UnsupportedStepError, match=reason) as caught:
            fitted(estimator, "y" if isinstance(estimator, KNeighborsClassifier) else None)
        assert (rows_fitted, "algorithm='brute'" in caught.value.hint) == (few, True)


def test_what_a_few_rows_do_not_suffice_for_is_fitted_on_all(fitted, rows_fitted):
    fitted(KNeighborsClassifier(60, algorithm="brute"))
    assert rows_fitted == [40, 80]


TREES = ("KNeighbors", "RadiusNeighbors", "NearestNeighbors", "LocalOutlierFactor")
REFUSED = {
    "Birch", "BisectingKMeans", "FeatureAgglomeration", "Isomap", "LocallyLinearEmbedding", "SplineTransformer",
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_every_estimator_of_scikit_learn_is_stored_or_among_those_refused(subtests):
    seen = set()
    for name, kind in all_estimators():
        if not {"predict", "transform"} & {*dir(kind)}:
            continue  # nothing to score with
        try:
            estimator = kind()
            few = {"n_estimators": 2, "max_iter": 3, "novelty": True, "max_iters": 3, "n_iter": 250, "max_depth": 2}
            estimator.set_params(**{each: few[each] for each in few.keys() & estimator.get_params()})
            estimator.fit(np.abs(X), Y > 0)
        except (TypeError, ValueError, AttributeError):  # it takes other estimators, texts, or another number of labels
            continue
        seen.add(name)
        with subtests.test(name):
            try:
                assert type(read(store(estimator))) is kind
            except UnsupportedStepError:
                assert name in REFUSED or name.startswith(TREES)
            else:
                assert name not in REFUSED
    assert seen >= REFUSED
    assert len(seen) > 120


# What somebody else could have written


def refused(estimator: Any, message: str) -> None:
    with pytest.raises(UntrustedArtifactError, match=message):
        read(store(estimator))


def test_types_that_are_not_trusted_are_not_made():
    import skops.io

    foreign = Blob("skops", skops.io.dumps(Mine().fit(X)))
    with pytest.raises(UntrustedArtifactError, match=r"types that are not trusted: .*\.Mine"):
        read(foreign)


def test_a_file_that_skops_cannot_read_is_told():
    with pytest.raises(ArtifactError, match="skops cannot read the estimator: BadZipFile"):
        read(Blob("skops", b"PK\x03\x04nothing"))


def test_another_minor_version_is_refused(monkeypatch):
    stored = store(PCA(2).fit(X))
    with pytest.raises(ArtifactVersionError, match=r"fitted by scikit-learn 1\.2\.7") as caught:
        fitted_estimator({"estimator": stored, "sklearn": "1.2.7"})
    assert "scikit-learn==1.2.*" in caught.value.hint
    patch = ".".join([*installed().split(".")[:2], "99"])
    assert fitted_estimator({"estimator": stored, "sklearn": patch}).n_components == 2


def damaged(tree: Any, field: str, value: int) -> None:
    """Change a field of the first node of a tree, which is no leaf."""
    state = tree.__getstate__()
    state["nodes"] = state["nodes"].copy()
    state["nodes"][field][0] = value
    tree.__setstate__(state)


def test_a_tree_that_leads_astray_is_refused(subtests):
    for field, value, message in (
        ("left_child", 10**6, "child does not come after its parent"),
        ("right_child", 0, "child does not come after its parent"),
        ("feature", 4, "feature is not among the 4"),
        ("feature", -1, "feature is not among the 4"),
    ):
        with subtests.test(field, value=value):
            tree = DecisionTreeClassifier(random_state=0).fit(X, Y)
            chain = make_pipeline("passthrough", DecisionTreeClassifier(random_state=0)).fit(X, Y)
            for model, inner in ((tree, tree), (chain, chain[-1])):
                damaged(inner.tree_, field, value)
                refused(model, message)


def test_a_boosted_tree_that_leads_astray_is_refused(subtests):
    for field, value, message in (
        ("left", 10**6, "child does not come after its parent"),
        ("right", 0, "child does not come after its parent"),
        ("feature_idx", 4, "feature is not among the 4"),
        ("is_categorical", 1, "a split is by categories of a number"),
    ):
        model = HistGradientBoostingClassifier(max_iter=1, random_state=0).fit(X, Y)
        nodes = model._predictors[0][0].nodes
        nodes.setflags(write=True)
        nodes[field][0] = value
        with subtests.test(field):
            refused(model, message)


def test_a_split_by_categories_that_are_not_there_is_refused():
    x = np.column_stack([Y.astype(float), np.zeros((ROWS, 3))])
    model = HistGradientBoostingClassifier(max_iter=1, categorical_features=[0], min_samples_leaf=2).fit(x, Y)
    nodes = model._predictors[0][0].nodes
    assert nodes["is_categorical"][0]
    nodes.setflags(write=True)
    nodes["bitset_idx"][0] = 99
    refused(model, "categories that are not there")


def _other_features(forest: Any) -> None:
    forest.n_features_in_ = 3


def _tree_of_more_features(forest: Any) -> None:
    forest.estimators_[0].tree_ = DecisionTreeClassifier().fit(np.hstack([X, X]), Y).tree_


def _more_features_drawn(forest: Any) -> None:
    forest.estimators_features_[0] = np.array([0, 1])


def _more_trees(boosting: Any) -> None:
    boosting.estimators_ = np.hstack([boosting.estimators_] * 3)


DAMAGES = [
    (RandomForestClassifier(2, random_state=0), _other_features, "features of a tree are 4, expected 3"),
    (RandomForestClassifier(2, random_state=0), _tree_of_more_features, "features of a tree are 8, expected 4"),
    (GradientBoostingRegressor(n_estimators=2), _other_features, "features of a tree are 4, expected 3"),
    (GradientBoostingRegressor(n_estimators=2), _more_trees, "trees of a round are 3, expected 1"),
    (IsolationForest(n_estimators=2), _more_features_drawn, "features of a tree are 4, expected 2"),
]


def test_trees_that_expect_something_else_than_they_are_given_are_refused(subtests):
    for estimator, damage, message in DAMAGES:
        model = clone(estimator).fit(X, Y)
        damage(model)
        with subtests.test(type(estimator).__name__, damage=damage.__name__):
            refused(model, message)


def test_only_the_types_that_are_listed_are_trusted():
    import skops.io

    known = set(skops.io.get_untrusted_types(data=skops.io.dumps(GaussianProcessClassifier().fit(X, Y))))
    assert known <= TRUSTED
    others = {name for name in TRUSTED if not name.startswith("sklearn.")}
    assert others == {"functools.partial", "numpy.dtype"}
