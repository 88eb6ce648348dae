"""Programs of torch.export: run as PyTorch runs them, and nothing else that lies in such a file."""

import io
import json
import os
import pickle
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import ConfigError, UnsupportedStepError
from penstock.stages import TorchInference


def modules() -> Any:
    """Modules to export."""
    import exported_modules

    return exported_modules


def exported(*given: Any) -> Any:
    from digits_network import exported

    return exported(*given)


def read_program(data: bytes) -> Any:
    from penstock.stages.inference._exported import read_program

    return read_program(data)


def load_program(graph: Any, weights: Any, device: Any) -> Any:
    import torch

    from penstock.stages.inference._program import load_program

    return load_program(graph, weights, torch.device(device))


@pytest.mark.thorough
def test_a_program_gives_what_its_module_gives(subtests):
    import torch

    for kind in (modules().Shapes, modules().Attention, modules().InPlace, modules().Tied):
        with subtests.test(module=kind.__name__):
            with torch.random.fork_rng():
                torch.manual_seed(0)
                network, values = kind().eval(), torch.randn(5, 2, 6)
            graph, weights = read_program(modules().archived(exported(network, values[:2])))
            program = load_program(json.loads(json.dumps(graph)), weights, "cpu")
            with torch.inference_mode():
                torch.testing.assert_close(program(values.clone()), network(values.clone()), rtol=1e-5, atol=1e-6)
            assert graph["takes"] == [None, 2, 6]


def test_values_are_let_go_when_no_later_node_reads_them():
    import torch
    from torch import nn

    program = exported(nn.Sequential(*(nn.ReLU() for _ in range(4))), torch.ones(2, 3))
    loaded = load_program(*read_program(modules().archived(program)), "cpu")
    assert [len(names) for names in loaded._idle] == [1, 1, 1, 1]


def test_what_is_no_network_from_one_batch_to_one_is_refused():
    import torch

    rows = torch.ones(2, 3)
    for module, given, problem in (
        (modules().Two(), (rows,), r"1 input\(s\) and 2 output\(s\)"),
        (modules().Pair(), (rows, rows), r"2 input\(s\) and 1 output\(s\)"),
        (torch.nn.BatchNorm1d(3).train(), (rows,), r"call eval\(\) on the module"),
    ):
        with pytest.raises(ValueError, match=problem):
            read_program(modules().archived(torch.export.export(module, given)))


@pytest.fixture(scope="module")
def good() -> bytes:
    import torch
    from torch import nn

    module = nn.Sequential(nn.Linear(2, 2), nn.GELU(approximate="tanh"))
    return modules().archived(exported(module, torch.ones(2, 2)))


def rewritten(data: bytes, change: Callable[[str, bytes], bytes | None]) -> bytes:
    """Return an archive with some members changed, or left out."""
    sink = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(sink, "w") as new:
        for name in old.namelist():
            content = change(name.partition("/")[2], old.read(name))
            if content is not None:
                new.writestr(name, content)
    return sink.getvalue()


def with_model(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    def edit(name: str, content: bytes) -> bytes:
        if name != "models/model.json":
            return content
        document = json.loads(content)
        change(document)
        return json.dumps(document).encode()

    return rewritten(data, edit)


class Trap:
    """Leaves a trace when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.trace),)


def saved(value: Any) -> bytes:
    import torch

    sink = io.BytesIO()
    torch.save(value, sink)
    return sink.getvalue()


def node(document: dict[str, Any], place: int = 0) -> dict[str, Any]:
    return document["graph_module"]["graph"]["nodes"][place]


def test_example_inputs_are_never_unpickled(good, tmp_path):
    bad = saved(Trap(tmp_path / "trace"))
    read_program(rewritten(good, lambda name, content: bad if name == "data/sample_inputs/model.pt" else content))
    assert not (tmp_path / "trace").exists()


def test_a_pickled_weight_is_refused_unread(good, tmp_path):
    def edit(name: str, content: bytes) -> bytes:
        if name == "data/weights/weight_0":
            return pickle.dumps(Trap(tmp_path / "trace"))
        if name != "data/weights/model_weights_config.json":
            return content
        config = json.loads(content)
        config["config"]["0.weight"]["use_pickle"] = True
        return json.dumps(config).encode()

    with pytest.raises(ValueError, match=r"'0\.weight' is stored as a pickle"):
        read_program(rewritten(good, edit))
    assert not (tmp_path / "trace").exists()


def test_expressions_and_guards_are_never_evaluated(good, tmp_path):
    code = f"__import__('os').mkdir({str(tmp_path / 'trace')!r})"

    def edit(document: dict[str, Any]) -> None:
        for tensor in document["graph_module"]["graph"]["tensor_values"].values():
            for size in tensor["sizes"]:
                if "as_expr" in size:
                    size["as_expr"]["expr_str"] = code
        document["guards_code"] = [code]
        document["range_constraints"] = {code: {"min_val": 0, "max_val": 9}}

    import torch

    graph, weights = read_program(with_model(good, edit))
    load_program(graph, weights, torch.device("cpu"))(torch.ones(3, 2))
    assert not (tmp_path / "trace").exists()
    assert "__import__" not in json.dumps(graph)


def test_no_operator_but_atens_and_arithmetic_is_taken(good):
    for target in (
        "torch.os.system", "torch.hub.load", "torch.serialization.os.system", "_operator.attrgetter", "math.os",
        "torch.ops.aten.__class__.default", "torch.ops.aten.relu.__init__", "torch.ops.aten.relu.no_overload",
        "torch.ops.prim.Print.default", "#extension:run", "print", "_operator.methodcaller",
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"is not one of ATen's, nor arithmetic"):
            read_program(with_model(good, lambda document, target=target: node(document).update(target=target)))


def test_arguments_that_are_not_known_numbers_tensors_or_words_are_refused(good):
    for argument, problem in (
        ({"as_string": "/etc/passwd"}, "is not taken"),
        ({"as_operator": "torch.os.system"}, "is not taken"),
        ({"as_graph": {"name": "g", "graph": {}}}, "is not taken"),
        ({"as_custom_obj": {"name": "x", "class_fqn": "os.system"}}, "is not taken"),
        ({"as_scalar_type": 9}, "is not taken"),
        ({"as_layout": 1}, "is not taken"),
        ({"as_tensor": {"name": "nothing"}}, "reads 'nothing', which no node before it makes"),
    ):
        changed = with_model(good, lambda document, arg=argument: node(document)["inputs"][0].update(arg=arg))
        with pytest.raises(ValueError, match=problem):
            read_program(changed)


def test_an_archive_that_lacks_a_part_or_is_of_another_version_is_refused(good):
    for part in ("models/model.json", "data/weights/weight_0"):
        with pytest.raises(ValueError, match=f"no {re.escape(part)}"):
            read_program(rewritten(good, lambda name, content, part=part: None if name == part else content))
    with pytest.raises(ValueError, match="schema is of version"):
        read_program(with_model(good, lambda document: document["schema_version"].update(major=9)))


def test_what_is_no_archive_is_an_error_that_says_what_to_do(tmp_path):
    schema = pa.schema({"a": pa.float64(), "b": pa.float64()})
    for content in (b"", b"PK\x03\x04 no archive", b"\x80\x02K\x01."):
        (tmp_path / "n.pt2").write_bytes(content)
        with pytest.raises(ConfigError, match=r"n\.pt2 is no program of torch\.export[\s\S]*ONNX"):
            TorchInference(["a", "b"], program=tmp_path / "n.pt2").bind(schema)


def test_a_stored_graph_that_was_tampered_with_does_not_run(good, tmp_path):
    (tmp_path / "n.pt2").write_bytes(good)
    data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"a": [1.0], "b": [2.0]}))
    model = ps.Pipeline(TorchInference(["a", "b"], program=tmp_path / "n.pt2")).fit(data)
    graph = json.loads(json.dumps(model.fitted[0]["graph"]))
    graph["nodes"][0]["target"] = "torch.os.system"
    tampered = ps.pipeline.PipelineModel(model.stages, ({**model.fitted[0], "graph": graph},), model.schema)
    with pytest.raises(UnsupportedStepError, match=r"'torch\.os\.system' is not one of ATen's"):
        tampered.transform(data).to_arrow()
