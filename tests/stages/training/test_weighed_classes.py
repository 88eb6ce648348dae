"""A class whose rows all have weight 0 is as if absent: a classifier of one other class is refused before training."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import DataValueError
from penstock.stages.base import Stage

CLASSIFIERS = [
    st.XGBoostClassifier("label", features="x", weight="w", num_boost_round=2),
    st.RandomForestClassifier("label", features="x", weight="w", num_trees=2),
    st.LogisticRegression("label", features="x", weight="w"),
    st.NaiveBayes("label", features="x", weight="w"),
    st.TorchClassifier("label", features="x", weight="w", module_options={"hidden": [2]}, epochs=1),
]


def fit(local, stage: Stage, weight: np.ndarray, label: np.ndarray) -> ps.PipelineModel:
    table = pa.table({"x": np.arange(30.0), "label": label, "w": weight})
    return ps.Pipeline(stage).fit(local.from_arrow(table))


@pytest.mark.parametrize("labels", [np.array([0.0, 1.0]), np.array(["no", "yes"])], ids=["numbers", "texts"])
@pytest.mark.parametrize("stage", CLASSIFIERS, ids=lambda stage: stage.title)
def test_one_class_of_positive_weight_is_refused(local, stage: Stage, labels: np.ndarray) -> None:
    label = np.tile(labels, 15)
    with pytest.raises(DataValueError, match=r"label 'label' has 1 class\(es\)"):
        fit(local, stage, np.where(label == labels[0], 0.0, 1.0), label)


@pytest.mark.parametrize("stage", CLASSIFIERS, ids=lambda stage: stage.title)
def test_two_classes_of_positive_weight_beside_one_without_train(local, stage: Stage) -> None:
    label = np.tile([0.0, 1.0, 2.0], 10)
    assert fit(local, stage, np.where(label == 0, 0.0, 1.0), label).fitted[0]["classes"].num_rows in (2, 3)
