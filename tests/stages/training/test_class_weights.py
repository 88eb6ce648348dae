"""Weights of classes against scikit-learn, and against a column that has them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn import linear_model

import penstock as ps
from penstock import stages as st
from penstock.engines.base import Engine
from penstock.errors import ConfigError

RNG = np.random.default_rng(8)
LABEL = np.minimum(RNG.geometric(0.6, 240) - 1, 2)
X = RNG.normal(size=(240, 2)) + LABEL[:, None] * [0.7, -0.4]
W = RNG.integers(1, 4, 240) / 2
NAMES = np.array(["often", "seldom", "so so"])


def rows(label: np.ndarray, **more: Any) -> pa.Table:
    return pa.table({"a": X[:, 0], "b": X[:, 1], "label": label, "w": W, **more})


def fit(local: Engine, stage: Any, table: pa.Table) -> ps.PipelineModel:
    return ps.Pipeline(stage).fit(local.from_arrow(table, fragment_bytes=table.nbytes // 3))


def probabilities(local: Engine, stage: Any, table: pa.Table) -> np.ndarray:
    scored = fit(local, stage, table).transform(local.from_arrow(table)).to_arrow()
    return np.array(scored["probability"].to_pylist())


STAGES = {
    "logistic": lambda **options: st.LogisticRegression(
        "label", features=("a", "b"), reg_param=0.1, tol=1e-10, **options
    ),
    "multinomial": lambda **options: st.LogisticRegression(
        "label", features=("a", "b"), family="multinomial", tol=1e-10, **options
    ),
    "xgboost": lambda **options: st.XGBoostClassifier("label", features=("a", "b"), num_boost_round=4, **options),
    "forest": lambda **options: st.RandomForestClassifier(
        "label", features=("a", "b"), num_trees=3, subsampling_rate=1.0, feature_subset_strategy="all", **options
    ),
    "torch": lambda **options: st.TorchClassifier(
        "label", features=("a", "b"), module_options={"hidden": [4]}, epochs=2, **options
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["multinomial", "xgboost", "forest", "torch"])
def test_classes_weigh_what_a_column_with_their_weights_does(local, name, subtests):
    cases = [("w", "balanced"), (None, {"seldom": 3.0, "so so": 0.5})]
    for weight, class_weight in {"xgboost": cases[1:], "multinomial": cases}.get(name, cases[:1]):
        own = np.ones(240) if weight is None else W
        sizes = np.bincount(LABEL, own)
        of_class = sizes.sum() / (3 * sizes) if class_weight == "balanced" else np.array([1.0, 3.0, 0.5])
        table = rows(NAMES[LABEL], both=own * of_class[LABEL])
        with subtests.test(weight=weight, class_weight=class_weight):
            found = probabilities(local, STAGES[name](class_weight=class_weight, weight=weight), table)
            expected = probabilities(local, STAGES[name](weight="both"), table)
            plain = probabilities(local, STAGES[name](weight=weight), table)
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
            assert np.abs(found - plain).max() > 1e-3


def test_a_logistic_regression_is_scikit_learns(local):
    label = (LABEL > 0).astype(int)
    for class_weight, weight in (("balanced", W), ({1: 4.0}, None)):
        other = linear_model.LogisticRegression(C=np.inf, class_weight=class_weight, tol=1e-10, max_iter=1000)
        other.fit(X, label, weight)
        stage = STAGES["multinomial"](class_weight=class_weight, weight=None if weight is None else "w")
        found = probabilities(local, stage, rows(label))
        np.testing.assert_allclose(found, other.predict_proba(X)[:, 1], rtol=1e-5)


@pytest.mark.thorough
def test_a_class_of_no_weight_does_not_count_as_a_class(local):
    weight = np.where(LABEL == 2, 0.0, 1.0)
    table = rows(LABEL).set_column(3, "w", pa.array(weight))
    found = probabilities(local, STAGES["xgboost"](class_weight="balanced", weight="w"), table)
    sizes = np.bincount(LABEL)
    both = weight * np.array([1 / sizes[0], 1 / sizes[1], 1.0])[LABEL] * sizes[:2].sum() / 2
    expected = probabilities(local, STAGES["xgboost"](weight="both"), rows(LABEL, both=both))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.thorough
def test_validation_rows_are_weighed_too(local):
    of_class = {0: 0.01, 1: 1.0, 2: 1.0}
    table = rows(LABEL, both=np.array(list(of_class.values()))[LABEL])
    data = local.from_arrow(table)

    def history(**options: Any) -> Any:
        stage = STAGES["xgboost"](early_stopping_rounds=2, eval_metric="mlogloss", **options)
        return ps.Pipeline(stage).fit(data, validation=data).fitted[0]["history"]["mlogloss"]

    np.testing.assert_allclose(history(class_weight=of_class), history(weight="both"), rtol=1e-6)
    assert history(class_weight=of_class)[0] != pytest.approx(history()[0], rel=1e-3)


@pytest.mark.thorough
def test_a_search_varies_them_as_fits_one_by_one_do(local):
    data, values = local.from_arrow(rows((LABEL > 0).astype(int))), [None, "balanced", {1: 9.0}]
    pipeline = ps.Pipeline(("model", STAGES["logistic"]()))

    def losses(tried: list[Any]) -> list[float]:
        evaluator = st.BinaryClassificationEvaluator(probability="probability", metrics="logLoss")
        search = ps.CrossValidator(pipeline, {"model.class_weight": tried}, evaluator, folds=2, refit=False)
        outcomes = search.fit(data).outcomes.values()
        return [metrics["logLoss"] for outcome in outcomes for metrics in outcome.metrics]

    together, alone = losses(values), [loss for value in values for loss in losses([value])]
    np.testing.assert_allclose(together, alone, rtol=1e-9)
    assert len({round(loss, 6) for loss in together}) == 6


@pytest.mark.thorough
def test_weights_are_stored_with_the_stage(local, tmp_path):
    model = fit(local, STAGES["xgboost"](class_weight={0: 2.0, 2: 5.0}), rows(LABEL))
    model.save(tmp_path / "model")
    loaded = ps.PipelineModel.load(tmp_path / "model")
    assert loaded.stages[0].class_weight == ((0, 2.0), (2, 5.0))
    assert "class_weights" not in loaded.fitted[0]
    assert loaded.digest == model.digest


def test_what_weighs_no_class_is_refused(subtests):
    told = r"class_weight of XGBoostClassifier is .*, expected 'balanced', or a number"
    for value in ("even", {}, {0: 0.0}, {0: float("nan")}, {0: "much"}, 3, [1.0, 2.0]):
        with subtests.test(value=value), pytest.raises(ConfigError, match=told):
            st.XGBoostClassifier("label", class_weight=value)


def test_a_class_that_the_label_has_not_is_refused_by_name(local):
    with pytest.raises(ConfigError, match="class_weight names 'yes', and label 'label' has the classes 0, 1, 2"):
        fit(local, STAGES["logistic"](class_weight={"yes": 2.0}), rows(LABEL))
