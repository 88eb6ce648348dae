"""Every stage that says it can be put into ONNX, scored by ONNX Runtime and by itself."""

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError, SchemaError
from penstock.pipeline.model import PipelineModel
from penstock.stages.base import Stage
from penstock.stages.capabilities import HasOnnx
from penstock.stages.registry import discover
from penstock.stages.step import capability
from penstock.stages.training.trees._objectives import REGRESSION
from penstock.testing import examples_of, tables

ABLE = {name: examples_of(kind) for name, kind in discover().items() if capability(examples_of(kind)[0], HasOnnx)}
MORE = {
    "MissingIndicator": (st.MissingIndicator(("n1", "n2", "s1", "b")),),
    "XGBoostRegressor": (
        st.XGBoostRegressor("y", features=("n1", "n2", "n3", "b"), num_boost_round=20),
        st.XGBoostRegressor(
            "y", features=("n2", "n3"), objective="reg:quantileerror", quantile_alpha=(0.1, 0.9), num_boost_round=5
        ),
    ),
    "XGBoostClassifier": (
        st.XGBoostClassifier(
            "class", features=("n1", "n2"), num_boost_round=9, gamma=1.0, params={"booster": "dart", "rate_drop": 0.5}
        ),
    ),
}
"""Beside the examples of stages that are all of columns, or with parameters, that ONNX has nothing for."""
NULLABLE = ("n1", "b")
TABLE = tables.ordinary()


def fit(*stages: Stage, table: pa.Table = TABLE) -> PipelineModel:
    return ps.Pipeline(*stages).fit(ps.LocalEngine(device="cpu").from_arrow(table))


def tensor(column: pa.ChunkedArray, kind: int) -> np.ndarray:
    """Return a column as ONNX Runtime takes it."""
    if pa.types.is_string(column.type):
        return np.array(column.fill_null("").to_pylist(), dtype=object)[:, None]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kind)
    return np.array([np.nan if each is None else each for each in column.to_pylist()], dtype)[:, None]


def run(model: Any, table: pa.Table, threads: int = 1) -> list[np.ndarray]:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {each.name: tensor(table[each.name], each.type.tensor_type.elem_type) for each in model.graph.input}
    return session.run(None, feeds)


def expected(column: pa.ChunkedArray) -> np.ndarray:
    """Return a column of what `transform` gives as an output is: NaN for null, rows of lists side by side."""
    values = column.to_pylist()
    if pa.types.is_list(column.type):
        width = max(len(row) for row in values if row is not None)
        return np.array([[np.nan] * width if row is None else row for row in values], dtype=float)
    missing = np.nan if pa.types.is_floating(column.type) else None
    return np.array([missing if value is None else value for value in values], dtype=object)[:, None]


def assert_same(model: PipelineModel, outputs: Sequence[np.ndarray], names: Sequence[str], table: pa.Table) -> None:
    scored = model.transform(ps.LocalEngine(device="cpu").from_arrow(table)).to_arrow()
    for name, found in zip(names, outputs, strict=True):
        wanted, kind = expected(scored[name]), scored.schema.field(name).type
        assert found.shape == wanted.shape, name
        if pa.types.is_floating(kind) or pa.types.is_list(kind):
            np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=1e-6, atol=1e-6, err_msg=name)
        else:
            known = [each is not None for each in wanted[:, 0]]  # neither integers nor strings have null in ONNX
            assert found[known].tolist() == wanted[known].tolist(), name


def sayable(model: PipelineModel) -> list[str]:
    """Return the columns that the last stage makes, without those that ONNX is told to have nothing for."""
    return [name for name in model.predict(TABLE.slice(0, 1))[0] if not refused(model, name)]


def refused(model: PipelineModel, name: str) -> str:
    try:
        model.to_onnx(columns=name)
    except ConfigError as error:
        return re.search("cannot express|has tensors of", str(error))[0]  # type: ignore[index]
    return ""


@pytest.mark.thorough
@pytest.mark.parametrize("name", ABLE)
def test_scores_are_those_of_the_stage(name: str) -> None:
    models = [fit(example) for example in (*ABLE[name], *MORE.get(name, ()))]
    exported = [(model, names) for model in models if (names := sayable(model))]
    for model, names in exported:
        assert_same(model, run(model.to_onnx(columns=names, nullable=NULLABLE), TABLE), names, TABLE)
    assert exported, f"no example of {name} is exported"


CHAIN = (
    st.Imputer(("n1", "n2")),
    st.StandardScaler(("n1", "n2", "n3")),
    st.OneHotEncoder("s1", max_categories=3),
    st.Drop("s1"),
    st.LogisticRegression("class", features=["n1", "n2", "n3", "s1_0", "s1_1", "s1_null"], reg_param=0.1),
)


def test_a_whole_pipeline_scores_rows_with_nulls_and_unseen_values() -> None:
    model, other = fit(*CHAIN), TABLE.set_column(4, "s1", pa.array(["new", None, "", "a"] * 30))
    graph = model.to_onnx(nullable="n1")
    assert [each.name for each in graph.graph.input] == ["n1", "n2", "n3", "s1"]
    read = other.set_column(4, "s1", pa.array(["new", None, None, "a"] * 30))  # the empty string is null
    assert_same(model, run(graph, other), ["rawPrediction", "probability", "prediction"], read)


def test_trees_are_equal_to_the_bit_by_one_thread() -> None:
    model = fit(st.XGBoostClassifier("label", features=["n1", "n2", "n3"], num_boost_round=120))
    (found,) = run(model.to_onnx(columns="rawPrediction", nullable="n1"), TABLE)
    scored = model.transform(ps.LocalEngine(device="cpu").from_arrow(TABLE)).to_arrow()
    assert found[:, 0].tolist() == scored["rawPrediction"].to_pylist()


OPTIONS: dict[str, dict[str, Any]] = {
    "reg:quantileerror": {"quantile_alpha": 0.3},
    "survival:aft": {"label_upper_bound": "upper"},
}


@pytest.mark.parametrize("objective", REGRESSION)
def test_objectives_have_their_links(objective: str) -> None:
    target = pa.array((np.arange(120) % 7 + 1) / 8)
    table = TABLE.append_column("target", target).append_column("upper", target)
    options = {"features": ["n2", "n3"], "num_boost_round": 3, **OPTIONS.get(objective, {})}
    model = fit(st.XGBoostRegressor("target", objective=objective, **options), table=table)
    assert_same(model, run(model.to_onnx(), table), ["prediction"], table)


@pytest.mark.parametrize("stage", [st.Clip("n", lower=2**53 + 1), st.Imputer("n", strategy="mode")])
def test_large_integers_stay_as_they_are(stage: Stage) -> None:
    table = pa.table({"n": [2**53 + 3, 2**53 + 3, 2**53 + 5]})
    model = fit(stage, table=table)
    assert_same(model, run(model.to_onnx(), table), ["n"], table)


def test_only_what_the_outputs_depend_on_is_exported() -> None:
    model = fit(st.StandardScaler("n2"), st.DateParts("t1", parts=("hour",)))
    graph = model.to_onnx(columns="n2")
    assert ([each.name for each in graph.graph.input], graph.graph.output[0].name) == (["n2"], "n2_out")


def test_stages_that_onnx_cannot_say_are_all_named_before_anything_is_written(tmp_path: Any) -> None:
    model = fit(st.TextLength("s2", measures=("words",)), ("hour", st.Derive("n2 * 2", as_="more")), *CHAIN[1:2])
    with pytest.raises(ConfigError, match=r"2 stage\(s\) cannot be expressed in ONNX: TextLength: .*hour \(Derive\)"):
        model.to_onnx(tmp_path / "model.onnx", columns=["s2_words", "more"])
    assert not list(tmp_path.iterdir())


def test_a_parameter_that_onnx_cannot_say_is_named_with_what_to_do() -> None:
    model = fit(st.Bucketizer("n3", splits=(-10, 0, 10)))
    with pytest.raises(ConfigError, match=r"handle_invalid 'error', which ONNX cannot express. Pass handle_inv"):
        model.to_onnx()


def test_a_column_that_the_model_does_not_give_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"the model gives no column 'predicton'. Did you mean 'prediction'"):
        fit(*CHAIN).to_onnx(columns="predicton")


def test_a_file_is_written_with_the_digest_and_the_classes_of_the_model(tmp_path: Any) -> None:
    model = fit(*CHAIN)
    model.to_onnx(tmp_path / "model.onnx")
    (path,) = tmp_path.iterdir()
    written = onnx.load(path)
    told = {each.key: each.value for each in written.metadata_props}
    assert told.pop("penstock.digest") == model.digest
    classes = pc.unique(TABLE["class"]).sort().to_pylist()
    assert json.loads(told.pop("penstock.classes")) == dict.fromkeys(("rawPrediction", "probability"), classes)
    assert not told
