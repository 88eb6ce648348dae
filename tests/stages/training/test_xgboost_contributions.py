"""Contributions are XGBoost's SHAP values, and add up to the score."""

import numpy as np
import pyarrow as pa
import pytest
import xgboost as xgb

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.pipeline import Pipeline, PipelineModel
from penstock.stages.training.trees import _boosting

ROWS = 600


def scored(model: PipelineModel, data: Dataset) -> dict[str, np.ndarray]:
    table = model.transform(data).to_arrow()
    return {name: np.array(table[name].to_pylist()) for name in table.column_names[-4:]}


def own(model: PipelineModel, x: np.ndarray) -> np.ndarray:
    """Return what XGBoost makes of the model that was learned."""
    data = xgb.DMatrix(x.astype("float32"), feature_names=["f0", "f1", "f2"])
    return _boosting.load_booster(model.fitted[0]["booster"]).predict(data, pred_contribs=True)


@pytest.mark.thorough
@pytest.mark.parametrize("classes", [2, 3])
def test_contributions_are_those_of_xgboost_and_add_up_to_the_raw_prediction(make, x, y, classes):
    label, scores = np.digitize(y, [0.0, 1.0][: classes - 1]), 1 if classes == 2 else classes
    for stage in (
        st.XGBoostClassifier("label", num_boost_round=4, contributions=True),
        st.RandomForestClassifier("label", contributions=True),
    ):
        model = Pipeline(stage).fit(make(label=label))
        assert model.transform(make()).schema.field("contributions").type == pa.list_(pa.float64())
        found = scored(model, make())
        np.testing.assert_array_equal(found["contributions"], own(model, x).reshape(ROWS, -1))
        sums = found["contributions"].reshape(ROWS, scores, 4).sum(axis=2)
        np.testing.assert_allclose(sums, found["rawPrediction"].reshape(ROWS, scores), rtol=1e-4, atol=1e-5)


def test_contributions_add_up_before_the_link(make, y):
    data = make(y=np.floor(np.abs(y)))
    stage = st.XGBoostRegressor("y", objective="count:poisson", num_boost_round=4, contributions=True)
    found = scored(Pipeline(stage).fit(data), data)
    np.testing.assert_allclose(found["contributions"].sum(axis=1), np.log(found["prediction"]), rtol=1e-4, atol=1e-5)


@pytest.mark.thorough
def test_each_quantile_has_its_contributions(make, y):
    stage = st.XGBoostRegressor(
        "y", objective="reg:quantileerror", quantile_alpha=(0.2, 0.5), num_boost_round=4, contributions=True
    )
    found = scored(Pipeline(stage).fit(make(y=y)), make(y=y))
    sums = found["contributions"].reshape(ROWS, 2, 4).sum(axis=2)
    np.testing.assert_allclose(sums, found["prediction"], rtol=1e-4, atol=1e-5)
