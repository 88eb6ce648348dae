"""Programs of torch.export: run as PyTorch runs them, and nothing else that lies in such a file."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import torch
from digits_network import exported
from torch import nn

import penstock as ps
from penstock.errors import ConfigError, UnsupportedStepError
from penstock.stages import TorchInference
from penstock.stages.inference._exported import read_program
from penstock.stages.inference._program import load_program

BATCH = torch.export.Dim("batch")


class Shapes(nn.Module):
    """Uses sizes, lists, indices, constants, types and devices as arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.arange(3))
        self.offset = torch.full((2, 3), 0.5)

    def forward(self, x):
        rows = x.shape[0]
        left, right = torch.split(x, [2, 4], dim=2)
        largest, place = right.max(dim=2, keepdim=True)
        both = torch.cat([left * 2, largest, place.to(x.dtype)], dim=2).reshape(rows * 2, -1)
        made = both.reshape(rows, -1) + torch.zeros(rows, 8, device=x.device).masked_fill(x[:, 0, :1] > 0, -1e30)
        spread = (made.clamp(-9, 9).reshape(rows, 2, 4)[..., :3] * self.offset).std(dim=(1, 2))
        return spread.unsqueeze(1).expand(rows, 3) * (self.steps + 1)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(6, 2, 8, batch_first=True, activation="gelu")

    def forward(self, x):
        return self.layer(x).mean(dim=1).softmax(dim=-1)


class InPlace(nn.Module):
    def forward(self, x):
        return nn.functional.relu(x, inplace=True).add_(1).sum(dim=(1, 2))


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Linear(6, 6)
        self.two = nn.Linear(6, 6)
        self.two.weight = self.one.weight

    def forward(self, x):
        return self.two(torch.tanh(self.one(x)))


def archived(program: torch.export.ExportedProgram) -> bytes:
    sink = io.BytesIO()
    torch.export.save(program, sink)
    return sink.getvalue()


@pytest.mark.thorough
@pytest.mark.parametrize("module", [Shapes, Attention, InPlace, Tied])
def test_a_program_gives_what_its_module_gives(module):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network, values = module().eval(), torch.randn(5, 2, 6)
    graph, weights = read_program(archived(exported(network, values[:2])))
    program = load_program(json.loads(json.dumps(graph)), weights, torch.device("cpu"))
    with torch.inference_mode():
        torch.testing.assert_close(program(values.clone()), network(values.clone()), rtol=1e-5, atol=1e-6)
    assert graph["takes"] == [None, 2, 6]


def test_values_are_let_go_when_no_later_node_reads_them():
    graph, weights = read_program(archived(exported(nn.Sequential(*(nn.ReLU() for _ in range(4))), torch.ones(2, 3))))
    program = load_program(graph, weights, torch.device("cpu"))
    assert [len(names) for names in program._idle] == [1, 1, 1, 1]


class Two(nn.Module):
    def forward(self, x):
        return x, x + 1


class Pair(nn.Module):
    def forward(self, x, y):
        return x + y


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        (lambda: torch.export.export(Two(), (torch.ones(2, 3),)), r"1 input\(s\) and 2 output\(s\)"),
        (lambda: torch.export.export(Pair(), (torch.ones(2, 3),) * 2), r"2 input\(s\) and 1 output\(s\)"),
        (lambda: torch.export.export(nn.BatchNorm1d(3).train(), (torch.ones(2, 3),)), r"call eval\(\) on the module"),
    ],
)
def test_what_is_no_network_from_one_batch_to_one_is_refused(program, problem):
    with pytest.raises(ValueError, match=problem):
        read_program(archived(program()))


@pytest.fixture(scope="module")
def good() -> bytes:
    return archived(exported(nn.Sequential(nn.Linear(2, 2), nn.GELU(approximate="tanh")), torch.ones(2, 2)))


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

    graph, weights = read_program(with_model(good, edit))
    load_program(graph, weights, torch.device("cpu"))(torch.ones(3, 2))
    assert not (tmp_path / "trace").exists()
    assert "__import__" not in json.dumps(graph)


@pytest.mark.parametrize(
    "target",
    [
        "torch.os.system", "torch.hub.load", "torch.serialization.os.system", "_operator.attrgetter", "math.os",
        "torch.ops.aten.__class__.default", "torch.ops.aten.relu.__init__", "torch.ops.aten.relu.no_overload",
        "torch.ops.prim.Print.default", "#extension:run", "print", "_operator.methodcaller",
    ],
)  # fmt: skip
def test_no_operator_but_atens_and_arithmetic_is_taken(target, good):
    with pytest.raises(ValueError, match=r"is not one of ATen's, nor arithmetic"):
        read_program(with_model(good, lambda document: node(document).update(target=target)))


@pytest.mark.parametrize(
    "argument",
    [
        {"as_string": "/etc/passwd"},
        {"as_operator": "torch.os.system"},
        {"as_graph": {"name": "g", "graph": {}}},
        {"as_custom_obj": {"name": "x", "class_fqn": "os.system"}},
        {"as_scalar_type": 9},
        {"as_layout": 1},
    ],
    ids=lambda argument: next(iter(argument)),
)
def test_arguments_that_are_not_numbers_tensors_or_known_words_are_refused(argument, good):
    with pytest.raises(ValueError, match="is not taken"):
        read_program(with_model(good, lambda document: node(document)["inputs"][0].update(arg=argument)))


def test_a_value_that_no_node_makes_is_refused(good):
    with pytest.raises(ValueError, match="reads 'nothing', which no node before it makes"):
        read_program(
            with_model(
                good, lambda document: node(document)["inputs"][0].update(arg={"as_tensor": {"name": "nothing"}})
            )
        )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda name, content: None if name == "models/model.json" else content, r"no models/model\.json"),
        (lambda name, content: None if name == "data/weights/weight_0" else content, "no data/weights/weight_0"),
    ],
)
def test_an_archive_that_lacks_a_part_is_refused(change, problem, good):
    with pytest.raises(ValueError, match=problem):
        read_program(rewritten(good, change))


def test_another_version_of_the_format_is_refused(good):
    with pytest.raises(ValueError, match="schema is of version"):
        read_program(with_model(good, lambda document: document["schema_version"].update(major=9)))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", b"\x80\x02K\x01."])
def test_what_is_no_archive_is_an_error_that_says_what_to_do(content, tmp_path):
    (tmp_path / "n.pt2").write_bytes(content)
    with pytest.raises(ConfigError, match=r"n\.pt2 is no program of torch\.export[\s\S]*ONNX"):
        TorchInference(["a", "b"], program=tmp_path / "n.pt2").bind(pa.schema({"a": pa.float64(), "b": pa.float64()}))


def test_a_stored_graph_that_was_tampered_with_does_not_run(good, tmp_path):
    (tmp_path / "n.pt2").write_bytes(good)
    data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"a": [1.0], "b": [2.0]}))
    model = ps.Pipeline(TorchInference(["a", "b"], program=tmp_path / "n.pt2")).fit(data)
    graph = json.loads(json.dumps(model.fitted[0]["graph"]))
    graph["nodes"][0]["target"] = "torch.os.system"
    tampered = ps.pipeline.PipelineModel(model.stages, ({**model.fitted[0], "graph": graph},), model.schema)
    with pytest.raises(UnsupportedStepError, match=r"'torch\.os\.system' is not one of ATen's"):
        tampered.transform(data).to_arrow()
