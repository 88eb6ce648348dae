"""Nothing of the rows that a trial is evaluated on reaches its fit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.engines.base import Engine

ROWS = 4000
CLICKED = st.BinaryClassificationEvaluator(label="y", metrics="areaUnderROC")
CHANCE = pytest.approx(0.5, abs=0.04)  # four standard errors of an area of that many rows


def noise() -> pa.Table:
    """Return a label, and categories of three rows each, which have nothing to do with it."""
    rng = np.random.default_rng(5)
    categories = [f"c{number}" for number in rng.integers(ROWS // 3, size=ROWS)]
    return pa.table({"y": rng.integers(2, size=ROWS), "c": categories, "x": rng.normal(size=ROWS)})


@pytest.mark.thorough
def test_categories_encoded_by_a_label_of_chance_predict_by_chance(local: Engine) -> None:
    data = local.from_arrow(noise())
    pipeline = ps.Pipeline(st.TargetEncoder("c", label="y", smoothing=0.0), st.LogisticRegression("y", features="c"))

    found = ps.cross_validate(pipeline, data, CLICKED)

    assert found.mean["areaUnderROC"] == CHANCE
    leaking = pipeline.fit(data).evaluate(data, CLICKED)["areaUnderROC"]
    assert leaking is not None
    assert abs(leaking - 0.5) > 0.2


@pytest.mark.thorough
def test_features_selected_by_a_label_of_chance_predict_by_chance(local: Engine) -> None:
    rng = np.random.default_rng(6)
    columns = {f"x{number}": rng.normal(size=300) for number in range(200)}
    data = local.from_arrow(pa.table({"y": rng.integers(2, size=300), **columns}))
    pipeline = ps.Pipeline(
        st.UnivariateFeatureSelector(list(columns), label="y", feature_type="continuous", label_type="categorical",
                                     selection_mode="num_top_features", selection_threshold=5),
        st.LogisticRegression("y", reg_param=0.1),
    )  # fmt: skip

    assert ps.cross_validate(pipeline, data, CLICKED).mean["areaUnderROC"] == pytest.approx(0.5, abs=0.12)


@pytest.mark.thorough
def test_a_nested_search_does_not_see_the_rows_it_is_judged_by(local: Engine) -> None:
    data = local.from_arrow(noise())
    search = ps.CrossValidator(
        ps.Pipeline(st.TargetEncoder("c", label="y"), st.LogisticRegression("y", features="c")),
        {"TargetEncoder.smoothing": [0.0, 1.0, 10.0]}, CLICKED, folds=3,
    )  # fmt: skip

    assert ps.cross_validate(search, data, CLICKED, folds=3).mean["areaUnderROC"] == CHANCE
