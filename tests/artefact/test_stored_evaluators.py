"""A model keeps its evaluators, which are no part of what it learned."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from penstock import LocalEngine, PipelineModel
from penstock import stages as st
from penstock.artefact import save
from penstock.errors import ConfigError, UnsupportedStepError

SAVED = Path(__file__).with_name("saved")

EVALUATORS = {
    "one of each": (
        st.BinaryClassificationEvaluator(label="y", weight="w", num_bins=100, metrics=("areaUnderROC",)),
        st.MulticlassClassificationEvaluator(label="y", metric_label="a", beta=0.5, top_k=3),
        st.MultilabelClassificationEvaluator(label="y", metric_label=2.0),
        st.RankingEvaluator(k=5),
        st.RegressionEvaluator(label="y", through_origin=True, quantile=0.9),
        st.ClusteringEvaluator(features=("x", "z")),
    ),
    "by name": {"click": st.RegressionEvaluator(label="y"), "sale": st.RegressionEvaluator(label="z")},
    "none": (),
}


@dataclass(frozen=True)
class RegressionEvaluator(st.RegressionEvaluator):
    """One of a user's own, under a name of the library."""


def test_evaluators_come_back_as_they_were(model, tmp_path):
    for name, evaluators in EVALUATORS.items():
        save(replace(model, evaluators=evaluators), tmp_path / name)
        found = PipelineModel.load(tmp_path / name).evaluators
        assert (found, type(found)) == (evaluators, type(evaluators))


def test_the_digest_does_not_depend_on_evaluators(model):
    digests = {(each.digest, each.preprocessing_digest) for each in (model, replace(model, evaluators=()))}
    assert len(digests) == 1


def test_a_model_without_evaluators_is_one_that_earlier_code_reads(model, tmp_path):
    assert model.evaluators
    for path, saved in (("without", replace(model, evaluators=())), ("with", model)):
        save(saved, tmp_path / path)
    manifests = [json.loads((tmp_path / path / "_manifest.json").read_text()) for path in ("without", "with")]
    features = [manifest["features"] for manifest in manifests]
    assert features == [["json", "parquet", "xgboost-ubj"], ["json", "parquet", "saved-evaluators", "xgboost-ubj"]]
    assert json.loads((tmp_path / "without" / "pipeline.json").read_text()).keys() == {"stages"}


def test_a_loaded_model_evaluates_by_its_own_evaluators(model, saved, dataset):
    loaded = PipelineModel.load(saved)
    expected = model.evaluate(dataset, st.BinaryClassificationEvaluator(metrics=("areaUnderROC", "logLoss")))
    assert loaded.evaluate(dataset) == expected
    assert expected.keys() == {"areaUnderROC", "logLoss"}


def test_evaluators_that_are_given_win(model, dataset):
    given = model.evaluate(dataset, {"click": st.BinaryClassificationEvaluator(metrics="ks")})
    assert given.keys() == {"click.ks"}


def test_a_model_of_earlier_code_has_none_and_says_what_to_do():
    for name in ("logistic_regression", "xgboost"):
        earlier = PipelineModel.load(SAVED / name / "model")
        rows = LocalEngine(device="cpu").read_parquet(SAVED / name / "rows.parquet")
        assert earlier.evaluators == ()
        with pytest.raises(ConfigError, match="has no evaluators") as caught:
            earlier.evaluate(rows)
        assert "name the pipeline: penstock evaluate PIPELINE --model MODEL" in str(caught.value.hint)


def test_an_evaluator_of_ones_own_is_refused_before_anything_is_written(model, tmp_path):
    with pytest.raises(UnsupportedStepError, match="RegressionEvaluator is no evaluator of the library"):
        save(model.with_evaluators(RegressionEvaluator()), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_only_evaluators_are_taken(model):
    with pytest.raises(ConfigError, match=r"penstock\.Imputer is no evaluator"):
        model.with_evaluators(st.Imputer("x"))
