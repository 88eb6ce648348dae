"""An estimator that both predicts and transforms predicts, whatever it shows before it is fitted."""

import functools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import sklearn.experimental.enable_halving_search_cv  # noqa: F401
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier, is_regressor
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.cross_decomposition import CCA, PLSCanonical, PLSRegression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import StackingClassifier, StackingRegressor, VotingClassifier, VotingRegressor
from sklearn.feature_selection import RFE, RFECV
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, HalvingRandomSearchCV, RandomizedSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline as Chain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

from penstock import stages as st
from penstock.engines.base import Engine
from penstock.errors import ConfigError
from penstock.pipeline import Pipeline
from penstock.stages.training.sklearn._kinds import METHODS, describe

X = np.random.default_rng(5).normal(size=(60, 2)) + 5
CLASSES = np.where(X[:, 0] + X[:, 1] > 10, "large", "small")
NUMBERS = X[:, 0] * 2 - X[:, 1]
STACK = StackingClassifier([("tree", DecisionTreeClassifier(max_depth=2, random_state=0))], cv=2)
DEPTHS = {"tree__max_depth": [1, 2]}
LINES = [("line", LinearRegression())]

ESTIMATORS = [
    CCA(n_components=1),
    Chain([("scale", StandardScaler()), ("stack", STACK)]),
    GridSearchCV(STACK, DEPTHS, cv=2),
    HalvingGridSearchCV(STACK, DEPTHS, cv=2, random_state=0),
    HalvingRandomSearchCV(STACK, DEPTHS, cv=2, random_state=0),
    IsotonicRegression(),
    KMeans(2, n_init=1, random_state=0),
    LinearDiscriminantAnalysis(),
    MiniBatchKMeans(2, n_init=1, random_state=0),
    PLSCanonical(n_components=1),
    PLSRegression(n_components=1),
    RandomizedSearchCV(STACK, DEPTHS, n_iter=1, cv=2, random_state=0),
    RFE(LogisticRegression()),
    RFECV(LogisticRegression(), cv=2),
    STACK,
    StackingRegressor(LINES, cv=2),
    VotingClassifier([("line", LogisticRegression())]),
    VotingRegressor(LINES),
]


def features_of(estimator: Any) -> tuple[str, ...]:
    return ("a",) if isinstance(estimator, IsotonicRegression) else ("a", "b")


def label_of(estimator: Any) -> str | None:
    return "class" if is_classifier(estimator) else "number" if is_regressor(estimator) else None


@functools.cache
def fitted(estimator: Any) -> Any:
    label = {"class": CLASSES, "number": NUMBERS, None: None}[label_of(estimator)]
    return clone(estimator).fit(X[:, : len(features_of(estimator))], label)


def test_all_estimators_of_scikit_learn_that_predict_and_transform_are_tried_here():
    both = {name for name, each in all_estimators() if hasattr(each, "predict") and hasattr(each, "transform")}
    refused = {"Birch", "BisectingKMeans"}  # fitted, they could not be saved
    assert both == {type(each).__name__ for each in ESTIMATORS} | refused


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_an_estimator_that_predicts_and_transforms_predicts(local: Engine, subtests: Any) -> None:
    data = local.from_arrow(pa.table({"a": X[:, 0], "b": X[:, 1], "class": CLASSES, "number": NUMBERS}))
    for estimator in ESTIMATORS:
        features = features_of(estimator)
        stage = st.SklearnEstimator(estimator, label_of(estimator), features=features)
        with subtests.test(type(estimator).__name__):
            scored = Pipeline(stage).fit(data).transform(data).to_arrow()
            assert "transformed" not in scored.column_names
            expected = fitted(estimator).predict(X[:, : len(features)])
            if expected.dtype.kind == "f":
                np.testing.assert_allclose(scored["prediction"].to_numpy(), expected, rtol=1e-12)
            else:
                assert scored["prediction"].to_pylist() == expected.tolist()


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_the_methods_known_before_a_fit_are_those_after_it(subtests: Any) -> None:
    for estimator in (*ESTIMATORS, OneVsRestClassifier(STACK)):
        with subtests.test(type(estimator).__name__):
            shown = tuple(name for name in METHODS if hasattr(fitted(estimator), name))
            assert describe(estimator).methods == shown


@pytest.mark.thorough
def test_what_a_stack_transforms_is_given_where_it_is_asked_for(local: Engine) -> None:
    data = local.from_arrow(pa.table({"a": X[:, 0], "b": X[:, 1], "class": CLASSES}))
    stage = st.SklearnEstimator(STACK, "class", features=("a", "b"), method="transform")
    scored = Pipeline(stage).fit(data).transform(data).to_arrow()
    expected = fitted(STACK).transform(X)[:, 0]
    np.testing.assert_allclose(scored["transformed"].to_numpy(), expected, rtol=1e-12)


class PredictsOnceFitted(ClassifierMixin, BaseEstimator):
    """A classifier of the user's own that shows only `transform` before it is fitted."""

    def fit(self, X, y):
        self.predict = lambda rows: np.full(len(rows), y[0])
        return self

    def transform(self, X):
        return X


def test_a_classifier_that_hides_its_predict_is_refused_unless_its_transform_is_asked_for() -> None:
    with pytest.raises(ConfigError, match=r"PredictsOnceFitted\(\).* has no predict before it is fitted") as caught:
        st.SklearnEstimator(make_pipeline(StandardScaler(), PredictsOnceFitted()), "class")
    assert 'method="transform"' in caught.value.hint
    assert st.SklearnEstimator(PredictsOnceFitted(), "class", method="transform").outputs() == ("transformed",)


def test_a_stack_saved_when_it_transformed_by_default_still_does() -> None:
    """Models of before: their description knows no other method."""
    saved = {**st.SklearnEstimator(STACK, "class").parameters()}
    saved["estimator"] = {**saved["estimator"], "methods": ["transform"]}
    assert st.SklearnEstimator.from_parameters(saved).outputs() == ("transformed",)
