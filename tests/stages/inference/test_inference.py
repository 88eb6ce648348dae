"""Three ways to bring a network, held to PyTorch's own scores; what does not fit is said before anything is read."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock import devices
from penstock.devices import Device
from penstock.errors import ArtifactError, ConfigError, DataValueError, MissingInputError, SchemaError
from penstock.stages import OnnxInference, TorchInference
from penstock.stages.base import Blob
from penstock.stages.modules import register_module

FORMS = ("weights", "program", "onnx")


def stage(form: str, digits: Any, **options: Any) -> TorchInference | OnnxInference:
    if form == "onnx":
        return OnnxInference("image", digits.onnx, **options)
    if form == "program":
        return TorchInference("image", program=digits.program, **options)
    given = {"shape": (1, 8, 8), "module_options": {"width": 6}, **options}
    return TorchInference("image", module="test-digits", weights=digits.weights, **given)


@pytest.fixture
def local() -> ps.LocalEngine:
    return ps.LocalEngine(device="cpu")


def predictions(table: pa.Table) -> np.ndarray:
    return np.array(table["prediction"].to_pylist())


def test_the_network_has_learned_digits(digits):
    assert (digits.scores.argmax(axis=1) == digits.labels).mean() > 0.9


def test_scores_are_those_of_pytorch(digits, engine, subtests):
    data = engine.from_arrow(digits.table, fragment_bytes=20_000)
    assert len(data.fragments) > 2
    for form in FORMS:
        with subtests.test(form=form):
            table = ps.Pipeline(stage(form, digits)).fit(data).transform(data).to_arrow()
            assert table.schema.field("prediction").type == pa.list_(pa.float32())
            np.testing.assert_allclose(predictions(table), digits.scores, atol=1e-5)


@pytest.mark.thorough
def test_loading_a_model_imports_neither_library(digits, local, tmp_path):
    data, paths = local.from_arrow(digits.table.slice(0, 3)), [tmp_path / form for form in FORMS]
    for form, path in zip(FORMS, paths, strict=True):
        ps.Pipeline(stage(form, digits)).fit(data).save(path)
        again = ps.PipelineModel.load(path).transform(data).to_arrow()
        np.testing.assert_allclose(predictions(again), digits.scores[:3], atol=1e-5)
    assert not list(tmp_path.rglob("*.pt2"))
    code = """
import sys
for name in ("torch", "safetensors", "onnxruntime", "onnx"):
    sys.modules[name] = None
import penstock as ps, penstock.stages
print(*(ps.PipelineModel.load(path).stages[0].output_size for path in sys.argv[1:]))
"""
    done = subprocess.run([sys.executable, "-c", code, *map(str, paths)], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("10 10 10\n", 0), done.stderr


@pytest.mark.parametrize("form", FORMS)
def test_batches_of_any_number_of_rows_give_the_same(form, digits, local):
    model = ps.Pipeline(stage(form, digits)).fit(local.from_arrow(digits.table.slice(0, 1)))
    for rows in (0, 1, 31, 32, 33, 65):
        table = model.transform(local.from_arrow(digits.table.slice(0, rows))).to_arrow()
        assert table.num_rows == rows
        np.testing.assert_allclose(predictions(table).reshape(-1, 10), digits.scores[:rows], atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_null_in_a_list_or_in_its_place_gives_null_and_changes_no_other_row(form, digits, local):
    lists = digits.table["image"].slice(0, 5).to_pylist()
    lists[1], lists[3][17] = None, None
    lists[4][0] = float("nan")
    data = local.from_arrow(pa.table({"image": pa.array(lists, pa.list_(pa.float64()))}))
    found = ps.Pipeline(stage(form, digits)).fit(data).transform(data).to_arrow()["prediction"].to_pylist()
    assert [value is None for value in found] == [False, True, False, True, True]
    np.testing.assert_allclose([found[0], found[2]], digits.scores[[0, 2]], atol=1e-5)


def test_a_network_is_loaded_once_in_a_process(digits, local):
    import torch
    from safetensors.torch import save_file

    made = []

    @register_module("test-counted")
    def counted():
        made.append(1)
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))

    path = digits.weights.with_name("counted.safetensors")
    save_file(counted().state_dict(), path)
    made.clear()
    data = local.from_arrow(digits.table, fragment_bytes=20_000)
    model = ps.Pipeline(TorchInference("image", module="test-counted", weights=path, shape=(64,))).fit(data)
    model.transform(data).to_arrow()
    assert len(made) == 1


def test_an_onnx_runtime_without_cuda_runs_on_the_cpu_beside_a_gpu_and_says_so(digits, monkeypatch, caplog):
    from penstock.stages.inference import _onnx

    monkeypatch.setattr(devices, "use", lambda kind: Device("gpu", 0))
    _onnx.session.cache_clear()
    network = _onnx.session(Blob("onnx", digits.onnx.read_bytes()), None, "gpu")
    images = np.array(digits.table["image"].to_pylist(), np.float32).reshape(-1, 1, 8, 8)
    np.testing.assert_allclose(network.run(images), digits.scores, atol=1e-5)
    assert "built without CUDA" in caplog.text


@pytest.mark.thorough
@pytest.mark.parametrize("form", FORMS)
def test_a_list_that_is_no_row_of_the_network_is_an_error_with_its_row(form, digits, local):
    lists = digits.table["image"].slice(0, 3).to_pylist()
    model = ps.Pipeline(stage(form, digits)).fit(local.from_arrow(pa.table({"image": lists})))
    short = [*lists[:2], lists[2][:63]]
    infinite = [[lists[0], [*lists[1][:5], bad, *lists[1][6:]]] for bad in (float("inf"), -float("inf"), 1e300)]
    told = r"1 list\(s\) not of 64 numbers, as shape \(1, 8, 8\) asks for: 63"
    for given, problem in ((short, told), *((each, "infinite, or too large for float32") for each in infinite)):
        with pytest.raises(DataValueError, match=problem) as caught:
            model.transform(local.from_arrow(pa.table({"image": given}))).to_arrow()
        assert (caught.value.row, caught.value.column) == (len(given) - 1, "image")


@pytest.mark.parametrize("form", FORMS)
def test_what_does_not_fit_the_network_is_said_before_anything_is_read(form, digits):
    for options, problem in (
        ({"output_size": 3}, r"gives 10 number\(s\) for a row, but output_size is 3"),
        ({"shape": (1, 4, 4)}, r"\(any, 1, 4, 4\)|of shape \(1, 4, 4\)|a batch of shape \(32, 1, 4, 4\)"),
        ({"shape": (64,)}, r"rows of shape \(1, 8, 8\), and these are of shape \(64,\)|a batch of shape \(32, 64\)"),
    ):
        with pytest.raises(ConfigError, match=problem):
            stage(form, digits, **options).bind(digits.table.schema)
    for kind in (pa.string(), pa.binary(), pa.list_(pa.string()), pa.date32()):
        with pytest.raises(SchemaError, match=r"column 'image' is .* takes numeric columns, or one of lists"):
            stage(form, digits).bind(pa.schema({"image": kind}))


def test_the_shape_comes_from_the_file_where_it_says_it(digits):
    for form in ("program", "onnx"):
        bound = stage(form, digits).bind(digits.table.schema)
        assert (bound.shape, bound.output_size, bound.inputs()) == ((1, 8, 8), 10, ("image",))
    with pytest.raises(ConfigError, match="cannot tell the shape of a row"):
        stage("weights", digits, shape=None).bind(digits.table.schema)


def linear(folder: Path, **held: Any) -> Path:
    """Write the weights 1, 2 and the bias 1, and others that are `held`."""
    import torch
    from safetensors.torch import save_file

    values = {"weight": torch.tensor([[1.0, 2.0]]), "bias": torch.tensor([1.0])}
    save_file({**values, **held}, folder / "linear.safetensors")
    return folder / "linear.safetensors"


@register_module("test-linear")
def linear_module(**options: Any) -> Any:
    import torch

    return torch.nn.Linear(**options)


OPTIONS = {"in_features": 2, "out_features": 1}


def test_columns_of_numbers_give_one_number(tmp_path, local):
    path = linear(tmp_path)
    data = local.from_arrow(pa.table({"a": [1, 2, None], "b": [True, False, True], "c": [0.0, 0.0, 0.0]}))
    given = TorchInference(["a", "b"], module="test-linear", module_options=OPTIONS, weights=path, prediction="y")
    table = ps.Pipeline(given).fit(data).transform(data).to_arrow()
    assert table.schema.field("y").type == pa.float32()
    assert table["y"].to_pylist() == [1 * 1 + 2 * 1 + 1, 1 * 2 + 2 * 0 + 1, None]


def test_weights_that_do_not_fit_the_module_are_named(tmp_path):
    import torch

    for options, held, error, problem in (
        ({"in_features": 3, "out_features": 1}, {}, ArtifactError, r"'weight' is \(1, 2\), expected \(1, 3\)"),
        (OPTIONS, {"more": torch.zeros(1)}, ArtifactError, r"'more' is \(1,\), expected none of this name"),
        ({**OPTIONS, "bias": False}, {}, ArtifactError, r"'bias' is \(1,\), expected none"),
        ({"features": 2}, {}, ConfigError, "does not take the options"),
    ):
        path = linear(tmp_path, **held)
        given = TorchInference(["a", "b"], module="test-linear", module_options=options, weights=path)
        with pytest.raises(error, match=problem) as caught:
            given.bind(pa.schema({"a": pa.float64(), "b": pa.float64()}))
        assert (caught.value.path, caught.value.stage) == (str(path), "TorchInference")


def test_one_kind_of_network_is_given():
    both = {"module": "test-linear", "weights": "w", "program": "p"}
    for options in ({}, {"module": "test-linear"}, {"weights": "w"}, both):
        with pytest.raises(ConfigError, match="TorchInference has module="):
            TorchInference("image", **options)


@pytest.mark.thorough
def test_a_module_that_nobody_registered_is_named(digits):
    with pytest.raises(ArtifactError, match=r"'resnet-18' is not registered\. Did you mean 'resnet18'"):
        TorchInference("image", module="resnet-18", weights=digits.weights, shape=(1,)).bind(digits.table.schema)


def test_a_file_that_is_not_there_is_named(digits):
    with pytest.raises(MissingInputError, match=r"nowhere\.onnx"):
        OnnxInference("image", "nowhere.onnx").bind(digits.table.schema)


def node(*arguments: Any, **attributes: Any) -> Any:
    from onnx import helper

    return helper.make_node(*arguments, **attributes)


def network(nodes: Any, inputs: Any, outputs: Any, stored: Any = ()) -> Any:
    from onnx import TensorProto, helper

    given, made = (
        [helper.make_tensor_value_info(name, getattr(TensorProto, kind), shape) for name, kind, shape in tensors]
        for tensors in (inputs, outputs)
    )
    graph = helper.make_graph(nodes, "g", given, made, list(stored))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def negating(kind: str, shape: list[Any]) -> Any:
    return network([node("Neg", ["x"], ["y"])], [("x", kind, shape)], [("y", kind, shape)])


def of_two_outputs() -> Any:
    nodes = [node("Neg", ["x"], ["y"]), node("ArgMax", ["x"], ["class"], axis=1)]
    return network(nodes, [("x", "FLOAT", ["n", 2])], [("y", "FLOAT", ["n", 2]), ("class", "INT64", ["n", 1])])


def bind(tmp_path, model, columns=("a", "b"), **options):
    import onnx

    onnx.save(model, tmp_path / "n.onnx")
    schema = pa.schema(dict.fromkeys(("a", "b", "c"), pa.float64()))
    return OnnxInference(columns, tmp_path / "n.onnx", **options).bind(schema)


def test_an_onnx_network_that_does_not_fit_is_refused_with_what_is_found(tmp_path):
    pair = [("x", "FLOAT", ["n", 2]), ("z", "FLOAT", ["n", 2])]
    for model, options, problem in (
        (negating("FLOAT", ["n", 3]), {}, r"takes rows of shape \(3\), .* shape \(2,\)"),
        (negating("FLOAT", [1, 2]), {}, r"batches of 1 row\(s\) only, but batch_size"),
        (negating("INT64", ["n", 2]), {}, r"'x' \(tensor\(int64\) \['n', 2\]\)"),
        (of_two_outputs(), {}, "the network gives y, class"),
        (of_two_outputs(), {"output": "Y"}, r"no output 'Y'\. Did you mean 'y'"),
        (of_two_outputs(), {"output": "class"}, r"'class' of the network is tensor\(int64\)"),
        (network([node("Add", ["x", "z"], ["y"])], pair, [("y", "FLOAT", ["n", 2])]), {}, "expected one tensor"),
    ):
        with pytest.raises(ConfigError, match=problem):
            bind(tmp_path, model, **options)


def test_a_fixed_batch_is_taken_when_it_is_asked_for(tmp_path, local):
    data = local.from_arrow(pa.table({"a": [1.0, 2.0, 3.0, 4.0], "b": [0.0] * 4, "c": [0.0] * 4}))
    bound = bind(tmp_path, negating("FLOAT", [3, 2]), batch_size=3)
    assert ps.Pipeline(bound).fit(data).transform(data).to_arrow()["prediction"].to_pylist() == [
        [-1, 0], [-2, 0], [-3, 0], [-4, 0]
    ]  # fmt: skip


def test_one_of_several_outputs_can_be_chosen(tmp_path):
    assert bind(tmp_path, of_two_outputs(), output="y").output_size == 2


def test_doubles_are_taken_as_doubles(tmp_path, local):
    data = local.from_arrow(pa.table({"a": [0.5], "b": [0.0], "c": [0.0]}))
    bound = bind(tmp_path, negating("DOUBLE", ["n", 1]), columns="a")
    assert ps.Pipeline(bound).fit(data).transform(data).to_arrow()["prediction"].to_pylist() == [-0.5]


def test_nan_that_comes_out_is_null(tmp_path, local):
    model = network([node("Sqrt", ["x"], ["y"])], [("x", "FLOAT", ["n", 2])], [("y", "FLOAT", ["n", 2])])
    data = local.from_arrow(pa.table({"a": [4.0, 4.0, None], "b": [9.0, -1.0, 9.0], "c": [0.0] * 3}))
    found = ps.Pipeline(bind(tmp_path, model)).fit(data).transform(data).to_arrow()["prediction"].to_pylist()
    assert found == [[2, 3], None, None]


def test_weights_in_another_file_are_refused(tmp_path):
    import onnx

    stored = onnx.numpy_helper.from_array(np.ones((2, 2), np.float32), "w")
    rows = ["n", 2]
    model = network([node("MatMul", ["x", "w"], ["y"])], [("x", "FLOAT", rows)], [("y", "FLOAT", rows)], [stored])
    onnx.save(model, tmp_path / "n.onnx", save_as_external_data=True, size_threshold=0)
    with pytest.raises(ConfigError, match=r"tensor 'w' lies in another file[\s\S]*external_data=False"):
        OnnxInference(["a", "b"], tmp_path / "n.onnx").bind(pa.schema({"a": pa.float64(), "b": pa.float64()}))


def test_what_is_no_onnx_file_is_refused(digits, tmp_path):
    for content in (b"PK\x03\x04", digits.onnx.read_bytes()[:-9]):
        (tmp_path / "n.onnx").write_bytes(content)
        with pytest.raises(ConfigError, match=r"n\.onnx is no ONNX file"):
            OnnxInference("image", tmp_path / "n.onnx").bind(digits.table.schema)
