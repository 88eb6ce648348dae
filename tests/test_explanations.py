"""What fitted models say of their features, against what xgboost and scikit-learn say."""

import numpy as np
import pyarrow as pa
import pytest
import xgboost as xgb
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError

X, CLASSES = load_iris(return_X_y=True)
NAMES = [f"f{place}" for place in range(4)]
TABLE = pa.table({**dict(zip(NAMES, X.T, strict=True)), "y": CLASSES})


def fit(*stages):
    return ps.Pipeline(*stages).fit(ps.LocalEngine().from_arrow(TABLE))


def test_importances_are_those_of_the_booster_of_each_kind_highest_first():
    model = fit(st.XGBoostClassifier("y", num_boost_round=3), st.IndexToString("prediction", labels=["a", "b", "c"]))
    table = model.importances()
    booster = xgb.Booster(model_file=bytearray(model.fitted[0]["booster"].data))
    for kind in ("gain", "total_gain", "weight", "cover", "total_cover"):
        rows = table.filter(pa.compute.equal(table["kind"], kind))
        found = dict(zip(rows["feature"].to_pylist(), rows["value"].to_pylist(), strict=True))
        assert found == booster.get_score(importance_type=kind)
        assert list(found.values()) == sorted(found.values(), reverse=True)


def test_forests_have_importances_too():
    assert set(fit(st.RandomForestClassifier("y", num_trees=5)).importances()["feature"].to_pylist()) <= set(NAMES)


def test_coefficients_of_several_classes_are_those_of_scikit_learn():
    reg_param = 0.01
    table = fit(st.LogisticRegression("y", reg_param=reg_param, standardization=False, tol=1e-12)).coefficients()
    theirs = LogisticRegression(C=1 / (reg_param * len(X)), tol=1e-10, max_iter=5000).fit(X, CLASSES)
    expected = np.column_stack([theirs.coef_, theirs.intercept_])
    assert table["feature"].to_pylist() == [*NAMES, "(intercept)"] * 3
    assert table["class"].to_pylist() == [name for name in "012" for _ in range(5)]
    assert table["kind"].to_pylist() == [*["coefficient"] * 4, "intercept"] * 3
    np.testing.assert_allclose(table["value"].to_numpy(), expected.ravel(), atol=1e-4)


def test_two_classes_have_one_margin_and_no_intercept_where_none_is_fitted():
    data = ps.LocalEngine().from_arrow(TABLE.set_column(4, "y", pa.array(CLASSES > 0)))
    model = ps.Pipeline(st.LogisticRegression("y", reg_param=0.1, fit_intercept=False)).fit(data)
    table = model.coefficients()
    assert (table["feature"].to_pylist(), set(table["class"].to_pylist())) == (NAMES, {"True"})


def test_a_model_that_has_none_is_refused_with_its_stages():
    model = fit(st.StandardScaler(NAMES), ("groups", st.KMeans(k=2, features=NAMES)))
    for what in ("importances", "coefficients"):
        problem = rf"no stage of the model has {what}; .* StandardScaler, groups \(KMeans\)"
        with pytest.raises(ConfigError, match=problem):
            getattr(model, what)()
