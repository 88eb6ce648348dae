"""Pipelines as estimators of scikit-learn: by its own checks, and against the model that they hold."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import penstock as ps
from penstock import selectors
from penstock import stages as st
from penstock.errors import ConfigError
from penstock.integrations.sklearn import PenstockClassifier, PenstockRegressor, PenstockTransformer

pytestmark = pytest.mark.thorough

EVERY = selectors.all()
FRAME = pd.DataFrame(
    {"x": [0.5, np.nan, 2.5, 3.0, 7.0, 1.0], "n": [1, 2, 3, 4, 5, 6], "city": ["a", "b", None, "a", "b", "a"]},
    index=list("uvwxyz"),
)
FORMS = [pd.DataFrame, pl.from_pandas, lambda frame: pa.Table.from_pandas(frame, preserve_index=False)]
CLASSES = np.array(["no", "yes", "yes", "no", "yes", "no"])
NUMBERS = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
PREPARED = [st.Imputer("x"), st.StringIndexer("city"), ("scale", st.StandardScaler(selectors.numeric()))]

IMPUTED = st.Imputer(EVERY)
ESTIMATORS = {
    "transformer": PenstockTransformer([IMPUTED, st.StandardScaler(EVERY)]),
    "regressor": PenstockRegressor([IMPUTED, st.LinearRegression("y")]),
    "classifier": PenstockClassifier([IMPUTED, st.NaiveBayes("y", model_type="gaussian")]),
    "boosted trees": PenstockClassifier([st.XGBoostClassifier("y", num_boost_round=2)]),
}
EXPECTED_FAILED_CHECKS = {
    "check_array_api_input": "scikit-learn itself leaves it out, unless SCIPY_ARRAY_API was set before scipy's import"
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_it_passes_the_checks_of_scikit_learn(name):
    results = check_estimator(ESTIMATORS[name], on_skip=None, on_fail=None)
    bad = {each["check_name"]: each["exception"] for each in results if each["status"] != "passed"}
    assert bad.keys() == EXPECTED_FAILED_CHECKS.keys(), bad
    assert len(results) > 40


def test_predictions_are_those_of_the_model_to_the_bit():
    data = ps.LocalEngine().from_arrow(pa.Table.from_pandas(FRAME.assign(y=CLASSES), preserve_index=False))
    scale = ("scale", st.StandardScaler(selectors.numeric() - "y"))
    model = ps.Pipeline(*PREPARED[:2], scale, st.XGBoostClassifier("y", num_boost_round=3)).fit(data)
    scored = model.transform(data).to_arrow()
    for form in FORMS:
        frame = form(FRAME)
        found = PenstockClassifier([*PREPARED, st.XGBoostClassifier("y", num_boost_round=3)]).fit(frame, CLASSES)
        assert found.model_.digest == model.digest
        assert found.predict(frame).tolist() == scored["prediction"].to_pylist()
        assert found.predict_proba(frame)[:, 1].tolist() == scored["probability"].to_pylist()
        assert found.decision_function(frame).tolist() == scored["rawPrediction"].to_pylist()


def test_transformed_rows_are_those_of_the_model_to_the_bit():
    data = ps.LocalEngine().from_pandas(FRAME)
    expected = ps.Pipeline(*PREPARED).fit(data).transform(data).to_pandas()
    for container in ("pandas", "polars"):
        found = PenstockTransformer(PREPARED).set_output(transform=container).fit(FRAME)
        made = found.transform(FRAME)
        made = made if container == "pandas" else made.to_pandas()
        assert list(made.columns) == list(found.get_feature_names_out()) == ["x", "n", "city"]
        assert np.array_equal(made.to_numpy(float), expected.to_numpy(float))


def test_pandas_output_keeps_the_index():
    made = PenstockTransformer(PREPARED).set_output(transform="pandas").fit_transform(FRAME)
    assert made.index.tolist() == list("uvwxyz")


def test_numbers_are_those_of_scikit_learns_least_squares():
    X, y = load_iris(return_X_y=True)
    weights = np.linspace(0.5, 2.0, 150)
    ours = PenstockRegressor(st.LinearRegression("y")).fit(X, y, sample_weight=weights)
    theirs = LinearRegression().fit(X, y, sample_weight=weights)
    assert np.allclose(ours.predict(X), theirs.predict(X), rtol=1e-9, atol=1e-12)
    scores = [cross_val_score(each, X, y, cv=3) for each in (PenstockRegressor(st.LinearRegression("y")), theirs)]
    assert np.allclose(*scores, rtol=1e-9)


def test_it_is_a_step_of_a_pipeline_and_searched_by_the_parameters_of_its_stages():
    X, y = load_iris(return_X_y=True)
    steps = make_pipeline(PenstockTransformer([("scale", st.StandardScaler(EVERY))]), LogisticRegression(max_iter=500))
    space = {"penstocktransformer__scale__with_mean": [False], "penstocktransformer__scale": [st.Sqrt(EVERY), None]}
    found = [GridSearchCV(steps, {name: each}, cv=3).fit(X, y).best_score_ for name, each in space.items()]
    assert min(found) > 0.9


def test_parameters_of_stages_are_set_and_a_clone_has_them():
    engine = ps.LocalEngine()
    found = PenstockClassifier(st.XGBoostClassifier("y", params={"max_leaves": 4}), engine=engine)
    found.set_params(XGBoostClassifier__max_depth=3, XGBoostClassifier__params__max_leaves=8)
    again = clone(found)
    params = again.get_params()
    assert (params["XGBoostClassifier__max_depth"], params["XGBoostClassifier__params"]) == (3, {"max_leaves": 8})
    assert again.engine is engine


def test_an_unknown_parameter_is_refused_with_the_nearest_one():
    with pytest.raises(ValueError, match=r"has no parameter 'max_dept'. Did you mean 'max_depth'"):
        PenstockClassifier(st.XGBoostClassifier("y")).set_params(XGBoostClassifier__max_dept=3)


def test_arrays_go_by_place_whatever_the_columns_were_called():
    frame = FRAME[["n", "x"]].fillna(0.0).rename(columns={"n": "x1", "x": "x0"})
    found = PenstockRegressor(st.LinearRegression("y")).fit(frame, NUMBERS)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        scores = found.predict(frame.to_numpy())
    assert np.array_equal(scores, found.predict(frame))


def test_a_row_without_a_class_is_an_error_and_has_no_probability():
    found = PenstockClassifier(st.LogisticRegression("y", reg_param=0.1)).fit([[1.0], [2.0], [3.0]], ["a", "b", "b"])
    with pytest.raises(ValueError, match=r"1 row\(s\) have no class: a feature is missing"):
        found.predict([[1.0], [np.nan]])
    assert np.isnan(found.predict_proba([[1.0], [np.nan]])).tolist() == [[False, False], [True, True]]


def test_a_row_without_one_of_several_classes_has_no_probabilities():
    found = PenstockClassifier(st.LogisticRegression("y", reg_param=0.1)).fit([[1.0], [2.0], [3.0]], [1, 2, 3])
    assert np.isnan(found.predict_proba([[np.nan], [1.0]])).tolist() == [[True] * 3, [False] * 3]


def test_columns_with_numbers_for_names_go_by_place():
    frame = pd.DataFrame(FRAME[["n"]].to_numpy())
    found = PenstockRegressor(st.LinearRegression("y")).fit(frame, NUMBERS)
    assert np.array_equal(found.predict(frame), found.predict(frame.to_numpy()))


class Unweighted(st.Log1p):
    """A stage with a label and no weight."""

    label = "y"


def test_weights_that_no_stage_takes_are_refused():
    with pytest.raises(ConfigError, match="none of Imputer, Unweighted takes weights"):
        PenstockRegressor([st.Imputer(EVERY), Unweighted("y")]).fit([[1.0], [2.0]], [1.0, 2.0], sample_weight=[1, 1])


def test_a_label_that_x_has_too_is_refused():
    with pytest.raises(ConfigError, match="X has a column 'n', and it is given as an array too"):
        PenstockRegressor(st.LinearRegression("n", features="x")).fit(FRAME, NUMBERS)


def test_a_pipeline_without_a_label_is_refused():
    with pytest.raises(ConfigError, match="y is the label of a pipeline that learns one, and this one has none"):
        PenstockRegressor(st.Log1p("x")).fit(FRAME, NUMBERS)


def test_an_encoder_of_the_label_transforms_other_rows_than_it_learned_from():
    encoder = PenstockTransformer(st.TargetEncoder("city", label="y"), label="y")
    labels = (CLASSES == "yes").astype(int)
    assert encoder.fit(FRAME, labels).transform(FRAME).shape == (6, 3)
    with pytest.raises(ConfigError, match="would leak it to the rows that it learned from"):
        encoder.fit_transform(FRAME, labels)


def test_scores_of_other_classes_than_those_of_y_are_refused():
    found = PenstockClassifier([st.NaiveBayes("y", model_type="gaussian")])
    found.fit([[1.0], [2.0], [8.0], [9.0], [7.0]], ["a", "a", "b", "b", "c"], sample_weight=[1, 1, 1, 1, 0])
    with pytest.raises(ConfigError, match=r"the stages score the classes \('a', 'b'\), and y had \('a', 'b', 'c'\)"):
        found.predict_proba([[1.0]])
