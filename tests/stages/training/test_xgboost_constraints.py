"""Constraints on features are kept however they are spelt, and those of no feature refused before data is read."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xgboost as xgb

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.errors import ConfigError
from penstock.pipeline import Pipeline
from penstock.stages.training.trees._boosting import load_booster

FEATURES = ("f0", "f1", "f2")


def fitted(data: Dataset, features: tuple[str, ...] = FEATURES, **params: Any) -> xgb.Booster:
    stage = st.XGBoostRegressor("label", features=features, num_boost_round=4, max_depth=3, params=params)
    return load_booster(Pipeline(stage).fit(data).fitted[0]["booster"])


@pytest.mark.thorough
def test_a_monotone_constraint_is_kept_however_it_is_spelt(make, x, y):
    """The label falls in f1, and must not."""
    grid = np.tile(np.nanmean(x, axis=0), (49, 1))
    grid[:, 1] = np.linspace(-2.4, 2.4, 49)
    for signs in ([0, 1, 0], (0, 1, 0), "(0,1,0)", "[0, 1, 0]", {"f1": 1}):
        booster = fitted(make(label=y), monotone_constraints=signs)
        assert (np.diff(booster.inplace_predict(grid)) >= 0).all(), signs
    assert (np.diff(fitted(make(label=y)).inplace_predict(grid)) < 0).any()


def test_features_of_different_groups_are_in_no_path_together(make, y):
    for groups in ([["f0"], ["f1", "f2"]], [(0,), (1, 2)], "[[0], [1, 2]]", [["f0"], ["f1", 2]]):
        booster = fitted(make(label=y), interaction_constraints=groups)
        used = {frozenset(tree.Feature) - {"Leaf"} for _, tree in booster.trees_to_dataframe().groupby("Tree")}
        assert {"f0"} in used, groups
        assert all(each <= {"f0"} or each <= {"f1", "f2"} for each in used), groups


def test_numbers_beside_a_sparse_vector_are_constrained_by_name(local, x, y):
    rows = len(x)
    vector = {"v_indices": pa.array([[0, 5]] * rows, pa.list_(pa.int32())), "v_values": [[1.0, 2.0]] * rows}
    data = local.from_arrow(pa.table({"f0": x[:, 0], "f1": x[:, 1], **vector, "label": y}))
    features = ("v_indices", "v_values", "f0", "f1")
    grid = np.column_stack([np.zeros(49), np.linspace(-2.4, 2.4, 49), np.ones(49), np.full(49, 2.0)])
    for signs, falls in (({"f1": 1}, False), ({"f0": 1}, True)):
        booster = fitted(data, features, monotone_constraints=signs)
        values = booster.inplace_predict(grid[:, : booster.num_features()])
        assert (np.diff(values) < 0).any() == falls


def test_a_constraint_on_no_feature_is_refused_before_reading(make, y, subtests):
    for params, message in (
        ({"monotone_constraints": [1]}, r"1 signs for 3 feature\(s\)"),
        ({"monotone_constraints": {"f9": 1}}, "'f9' is not among the features 'f0', 'f1', 'f2'"),
        ({"interaction_constraints": [["f0", "f9"]]}, "'f9' is not among the features"),
        ({"interaction_constraints": [[0, 3]]}, "3 is not among the features"),
    ):
        with subtests.test(params=params), pytest.raises(ConfigError, match=message):
            Pipeline(st.XGBoostRegressor("label", params=params)).plan(make(label=y))
