"""Parameters of a pipeline's stages from outside, and the names by which they are addressed."""

import dataclasses
import importlib
import pickle
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError, DataValueError, PenstockError, SchemaError
from penstock.pipeline import Pipeline
from penstock.selectors import numeric
from penstock.stages.base import ColumnStage, Fitted, Stage
from penstock.stages.registry import discover
from penstock.testing import examples_of

TABLE = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "y": [0.5, 0.25, 0.0, 1.0], "label": [0, 1, 0, 1]})


@pytest.fixture
def data() -> ps.Dataset:
    return ps.LocalEngine(device="cpu").from_arrow(TABLE)


@pytest.fixture
def pipeline() -> Pipeline:
    return Pipeline(
        ("scale", st.StandardScaler("x")),
        st.Clip("y", lower=0),
        ("model", st.XGBoostClassifier("label", num_boost_round=2, params={"max_leaves": 4})),
    )


def stage(pipeline: Pipeline, name: str) -> Any:
    return dict(zip(pipeline.names, pipeline.stages, strict=True))[name]


def refusal(pipeline: Pipeline, params: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        pipeline.with_params(params)
    return pickle.loads(pickle.dumps(caught.value))


# Names


def test_stages_without_a_name_go_by_their_classes_and_are_numbered_where_one_occurs_again():
    pipeline = Pipeline(st.StandardScaler("x"), st.Clip("x", lower=0), st.StandardScaler("y"))
    assert pipeline.names == ("StandardScaler-1", "Clip", "StandardScaler-2")
    assert Pipeline(st.StandardScaler("x"), ("second", st.StandardScaler("y"))).names == ("StandardScaler", "second")


def test_a_name_that_cannot_be_an_address_is_refused():
    for name in ["", "a.b", "a b", "-a", "a=1", "a\n", "#", None, 3]:
        with pytest.raises(ConfigError, match=r"a StandardScaler is named .*, expected letters, digits"):
            Pipeline((name, st.StandardScaler("x")))


def test_a_name_that_another_stage_goes_by_is_refused():
    with pytest.raises(ConfigError, match="two stages are named 'a'"):
        Pipeline(("a", st.Log1p("x")), st.Log1p("y"), ("a", st.Log1p("z")))
    for named in ("StandardScaler", "StandardScaler-1"):
        with pytest.raises(ConfigError, match=f"named '{named}'"):
            Pipeline(st.StandardScaler("x"), (named, st.Log1p("y")), st.StandardScaler("y"))
    with pytest.raises(ConfigError, match="a Log1p is named 'Clip', the class of another stage"):
        Pipeline(("clip", st.Clip("x", lower=0)), ("Clip", st.Log1p("y")))


def test_what_is_neither_a_stage_nor_a_pair_is_refused():
    for item in ([("a", st.Log1p("x"))], ("a", st.Log1p), (st.Log1p("x"), "a"), ("a", None), "Log1p"):
        with pytest.raises(ConfigError, match="a pipeline is made of stages, found"):
            Pipeline(item)


def test_a_name_shows_in_texts_plans_notes_and_seconds(pipeline, data):
    assert repr(pipeline) == "Pipeline(('scale', StandardScaler), Clip, ('model', XGBoostClassifier))"
    told = pipeline.explain(data)
    assert "for scale (StandardScaler);" in told
    assert "train model (XGBoostClassifier): " in told
    assert "clip" not in told
    constant = data.filter(nw.col("label") == 1).filter(nw.col("x") > 3)
    pipeline = Pipeline(("scale", st.StandardScaler("x")), ("boost", st.XGBoostRegressor("y", num_boost_round=1)))
    report = pipeline.fit(constant).report
    assert report.notes[0].startswith("scale (StandardScaler): ")
    assert "train boost (XGBoostRegressor)" in report.seconds


def test_an_error_of_any_part_of_a_fit_is_placed_at_the_name(data):
    with pytest.raises(SchemaError) as caught:
        Pipeline(("scale", st.StandardScaler("nowhere"))).plan(data)
    assert caught.value.stage == "scale"
    assert str(caught.value).splitlines()[0].endswith("(stage 'scale')")
    infinite = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1.0, float("inf")]}))
    with pytest.raises(DataValueError) as caught:
        Pipeline(st.Log1p("x", output_columns=["z"]), ("scale", st.StandardScaler("x"))).fit(infinite)
    assert caught.value.stage == "scale"
    with pytest.raises(PenstockError) as caught:
        Pipeline(("model", st.XGBoostClassifier("label"))).fit(data.filter(nw.col("label") == 1))
    assert caught.value.stage == "model"


@dataclass(frozen=True)
class Refuses(ColumnStage):
    """Takes no value above a bound: when it is fitted, or when it is applied."""

    bound: float = 0.0

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        bad = nw.col(self.inputs()[0]) > self.bound
        error = DataValueError("too large", column=self.inputs()[0], stage=self.title)
        error.predicate = bad
        if len(frame.filter(bad)):
            raise error
        return frame


def test_an_error_of_transform_is_placed_at_the_name_or_the_class_with_its_row(data):
    for given, place in ((("bound", Refuses("x", 2.0)), "bound"), (Refuses("x", 2.0), "Refuses")):
        scored = Pipeline(given).fit(data).transform(data)
        with pytest.raises(DataValueError, match="too large") as caught:
            scored.to_arrow()
        assert (caught.value.stage, caught.value.row) == (place, 2)


def test_an_error_of_predict_is_placed_at_the_name(data):
    model = Pipeline(("bound", Refuses("x", 2.0))).fit(data)
    for rows in (1, 20):
        with pytest.raises(DataValueError, match="too large") as caught:
            model.predict([{"x": 3.0}] * rows)
        assert caught.value.stage == "bound"


def test_an_error_of_an_earlier_stage_in_training_is_not_placed_at_the_trainer(data):
    pipeline = Pipeline(("bound", Refuses("x", 2.0)), ("model", st.KMeans(features=["x"], k=2)))
    with pytest.raises(DataValueError, match="too large") as caught:
        pipeline.fit(data)
    assert caught.value.stage == "bound"


# What is saved


def test_names_are_saved_with_a_model_and_older_code_is_told_that_it_cannot_read_it(
    pipeline, data, tmp_path, monkeypatch
):
    model = pipeline.fit(data)
    model.save(tmp_path / "model")
    loaded = ps.PipelineModel.load(tmp_path / "model")
    assert loaded.names == model.names == pipeline.names
    assert loaded == model
    assert loaded.steps[0].label == "scale (StandardScaler)"
    reading = importlib.import_module("penstock.artefact.load")
    monkeypatch.setattr(reading, "FEATURES", reading.FEATURES - {"stage-names"})
    with pytest.raises(ps.errors.ArtifactVersionError, match="stage-names"):
        ps.PipelineModel.load(tmp_path / "model")


def test_a_model_without_names_has_the_same_digest_and_is_saved_as_before(pipeline, data, tmp_path):
    model = Pipeline(*pipeline.stages).fit(data)
    assert pipeline.fit(data).digest == model.digest
    model.save(tmp_path / "model")
    assert '"name"' not in (tmp_path / "model" / "pipeline.json").read_text()
    assert "stage-names" not in (tmp_path / "model" / "_manifest.json").read_text()


# Parameters


def test_every_parameter_is_told_in_the_order_of_the_pipeline():
    pipeline = Pipeline(("log", st.Log1p("y")), st.StandardScaler("x", with_std=False))
    assert list(pipeline.get_params().items()) == [
        ("log.columns", ("y",)),
        ("log.output_columns", None),
        ("StandardScaler.columns", ("x",)),
        ("StandardScaler.output_columns", None),
        ("StandardScaler.with_mean", True),
        ("StandardScaler.with_std", False),
    ]


@pytest.mark.thorough
def test_parameters_of_every_stage_put_back_are_the_same_stages():
    pipeline = Pipeline(*(example for kind in discover().values() for example in examples_of(kind)))
    again = pipeline.with_params(pipeline.get_params())
    assert again.names == pipeline.names
    assert [stage.parameters() for stage in again.stages] == [stage.parameters() for stage in pipeline.stages]
    assert again.stages == pipeline.stages


def test_the_pipeline_itself_stays_as_it_is(pipeline):
    before = pipeline.get_params()
    pipeline.with_params({"scale.with_mean": False, "model.params.max_leaves": 9, "Clip": None})
    pipeline.get_params()["model.params"]["max_leaves"] = 9
    assert pipeline.get_params() == before


def test_a_selector_stays_one():
    pipeline = Pipeline(st.StandardScaler(numeric()))
    assert pipeline.with_params(pipeline.get_params()).stages[0].columns is pipeline.stages[0].columns


def test_a_key_is_put_into_the_mapping_that_is_there_or_given_besides(pipeline):
    changed = pipeline.with_params({"model.params.max_cat_to_onehot": 16})
    assert stage(changed, "model").params == {"max_leaves": 4, "max_cat_to_onehot": 16}
    given = [("model.params.max_leaves", 2), ("model.params", {"max_cat_to_onehot": 16})]
    for params in (dict(given), dict(reversed(given))):
        changed = pipeline.with_params(params)
        assert stage(changed, "model").params == {"max_cat_to_onehot": 16, "max_leaves": 2}


def test_a_parameter_of_an_estimator_is_changed_in_a_copy():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    given = st.SklearnEstimator(make_pipeline(StandardScaler(), SVC(C=1.0)), "label")
    pipeline = Pipeline(("svm", given))
    changed = pipeline.with_params({"svm.estimator.svc__C": 4.0})
    assert stage(changed, "svm").estimator.get_params()["svc__C"] == 4.0
    assert given.estimator.get_params()["svc__C"] == 1.0
    error = refusal(pipeline, {"svm.estimator.svc__c": 4.0})
    assert "estimator of svm has no parameter 'svc__c'. Did you mean 'svc__C'?" in error.message


def test_a_whole_stage_is_replaced_under_its_name(pipeline):
    changed = pipeline.with_params({"model": st.LogisticRegression("label"), "model.reg_param": 0.5})
    assert changed.names == pipeline.names
    assert stage(changed, "model") == st.LogisticRegression("label", reg_param=0.5)
    assert pipeline.with_params({"Clip": st.Log1p("y")}).names == ("scale", "Log1p", "model")  # by the new class


def test_none_leaves_a_stage_out(pipeline, data):
    changed = pipeline.with_params({"scale": None, "Clip": None})
    assert changed.names == ("model",)
    assert changed.fit(data).digest == Pipeline(pipeline.stages[2]).fit(data).digest
    error = refusal(pipeline, {"scale.with_mean": False, "scale": None})
    assert error.message == "stage scale is left out, and 'with_mean' of it is given"


def test_what_is_no_stage_takes_no_stages_place(pipeline):
    for value in (st.LogisticRegression, "passthrough", 1, False):
        error = refusal(pipeline, {"model": value})
        assert "expected a stage, or None to leave it out" in error.message
        assert error.stage == "model"


def test_an_unknown_name_is_refused_with_the_nearest(pipeline, subtests):
    for name, told in [
        ("scale.with_maen", "scale has no parameter 'with_maen'. Did you mean 'with_mean'? It has: columns,"),
        ("scael.with_mean", "no stage 'scael'. Did you mean 'scale'? It has: scale, Clip, model"),
        ("max_depth", "no stage 'max_depth'. Did you mean 'model.max_depth'?"),
        ("model__max_depth", "Did you mean 'model.max_depth'?"),
        ("StandardScaler.with_mean", "the StandardScaler of this pipeline is called scale"),
        ("Clip-1.lower", "no stage 'Clip-1'. Did you mean 'Clip'?"),
        ("model.", "model has no parameter ''."),
        ("model.params.", "params of model is {'max_leaves': 4}, which has no ''"),
        ("model.max_depth.more", "max_depth of model is None, which has no 'more'"),
        ("", "no stage ''."),
        (7, "no stage '7'."),
    ]:
        with subtests.test(name=name):
            assert told in refusal(pipeline, {name: 1}).message
    assert "is called Log1p-1 or Log1p-2" in refusal(Pipeline(st.Log1p("x"), st.Log1p("y")), {"Log1p": None}).message


def test_a_value_is_refused_in_the_words_of_the_stage_itself(pipeline, subtests):
    for name, value, made in [
        ("model.num_boost_round", 0, lambda: st.XGBoostClassifier("label", num_boost_round=0)),
        ("model.max_depth", "8", lambda: st.XGBoostClassifier("label", max_depth="8")),
        ("model.params.eta", 0.1, lambda: st.XGBoostClassifier("label", params={"max_leaves": 4, "eta": 0.1})),
        (
            "model.params.max_leafs",
            0.1,
            lambda: st.XGBoostClassifier("label", params={"max_leaves": 4, "max_leafs": 0.1}),
        ),
        ("Clip.upper", -1, lambda: st.Clip("y", lower=0, upper=-1)),
    ]:
        with subtests.test(name=name):
            with pytest.raises(ConfigError) as directly:
                made()
            error = refusal(pipeline, {name: value})
            assert (error.message, error.hint) == (directly.value.message, directly.value.hint)
            assert error.stage == name.partition(".")[0]


def test_a_value_that_a_stage_stumbles_over_is_a_config_error():
    @dataclass(frozen=True)
    class Unguarded(Refuses):
        """Takes its bound for a number."""

        def __post_init__(self) -> None:
            super().__post_init__()
            object.__setattr__(self, "bound", self.bound + 1)

    error = refusal(Pipeline(("mine", Unguarded("x"))), {"mine.bound": "high"})
    assert error.message.startswith("mine does not take bound='high': can only concatenate")
    assert error.stage == "mine"


def test_a_parameter_that_is_not_given_at_construction_is_none():
    @dataclass(frozen=True)
    class Derived(Refuses):
        """Has a field that it makes itself."""

        made: int = dataclasses.field(default=0, init=False)

    pipeline = Pipeline(Derived("x"))
    assert "Derived.made" not in pipeline.get_params()
    assert "has no parameter 'made'" in refusal(pipeline, {"Derived.made": 1}).message


def examples(*kinds: str) -> Iterator[tuple[Stage, str, str]]:
    """Yield of every stage an example, with the name and the type of each field that is declared as one of these."""
    for example in (examples_of(kind)[0] for kind in discover().values()):
        yield from ((example, field.name, field.type) for field in dataclasses.fields(example) if field.type in kinds)


def test_a_flag_that_is_neither_true_nor_false_is_refused():
    for each, flag, _ in examples("bool"):
        for value in ("no", 0):
            with pytest.raises(ConfigError, match=f"{flag} of {each.title} is {value!r}, expected True or False"):
                dataclasses.replace(each, **{flag: value})
    with pytest.raises(ConfigError, match="through_origin of RegressionEvaluator is 'no', expected True or False"):
        st.RegressionEvaluator(through_origin="no")


def test_none_is_refused_where_a_parameter_is_declared_as_something_else():
    expected = {"bool": "True or False", "int": "an integer", "float": "a number", "str": "a text"}
    for each, name, kind in examples(*expected):
        problem = f"{name} of {each.title} is None, expected {expected[kind]}"
        named = f"the {name} is given as None, expected the name"  # of what is registered under one
        with pytest.raises(ConfigError, match=f"{re.escape(problem)}|{named}"):
            dataclasses.replace(each, **{name: None})


def test_none_is_taken_where_it_is_the_default_whatever_is_declared():
    @dataclass(frozen=True)
    class Sloppy(ColumnStage):
        weight: str = None
        flag: bool = None

        def transform(self, frame, fitted):
            return frame

    assert Sloppy("x").weight is Sloppy("x").flag is None
