"""A small network for handwritten digits in the three forms in which a user brings one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pyarrow as pa
import torch
from onnx import TensorProto, helper, numpy_helper
from safetensors.torch import save_file
from sklearn.datasets import load_digits
from torch import nn

from penstock.stages.modules import register_module


@register_module("test-digits")
def digits_network(width: int = 6) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, width, 3), nn.BatchNorm2d(width), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(width * 9, 10),
    )  # fmt: skip


digits_network.__module__ = "__main__"  # so that it travels to workers, which cannot import this file


@dataclass(frozen=True)
class Digits:
    """Images of 8 x 8 pixels as a table, the network and its own scores, and the files that hold it."""

    table: pa.Table
    scores: np.ndarray
    labels: np.ndarray
    weights: Path
    program: Path
    onnx: Path


def bring(folder: Path) -> Digits:
    """Train the network, and write it to `folder` in each form."""
    images, labels = load_digits(return_X_y=True)
    values = torch.tensor(images / 16, dtype=torch.float32).reshape(-1, 1, 8, 8)
    module = _trained(values, torch.tensor(labels))
    with torch.inference_mode():
        scores = module(values.clone()).numpy()
    save_file(module.state_dict(), folder / "digits.safetensors")
    torch.export.save(exported(module, values[:2]), folder / "digits.pt2")
    onnx.save(_in_onnx(module), folder / "digits.onnx")
    lists = pa.array((images / 16).astype(np.float32).tolist(), pa.list_(pa.float32()))
    files = (folder / f"digits.{suffix}" for suffix in ("safetensors", "pt2", "onnx"))
    return Digits(pa.table({"id": range(len(labels)), "image": lists}), scores, labels, *files)


def _trained(values: torch.Tensor, labels: torch.Tensor) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = digits_network()
        adam = torch.optim.Adam(module.parameters(), lr=0.02)
        for _ in range(25):
            adam.zero_grad()
            nn.functional.cross_entropy(module(values.clone()), labels).backward()
            adam.step()
    return module.eval()


def exported(module: nn.Module, sample: torch.Tensor) -> torch.export.ExportedProgram:
    return torch.export.export(module, (sample,), dynamic_shapes=({0: torch.export.Dim("batch")},))


def _in_onnx(module: nn.Module) -> onnx.ModelProto:
    held = {name.replace(".", "_"): value.numpy() for name, value in module.state_dict().items() if value.ndim}
    nodes = [
        helper.make_node("Conv", ["pixels", "0_weight", "0_bias"], ["a"], kernel_shape=[3, 3]),
        helper.make_node("BatchNormalization", ["a", *(f"1_{p}" for p in _NORM)], ["b"], epsilon=1e-5),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("MaxPool", ["c"], ["d"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["d"], ["e"]),
        helper.make_node("Gemm", ["e", "5_weight", "5_bias"], ["scores"], transB=1),
    ]
    given = helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["batch", 1, 8, 8])
    made = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", 10])
    stored = [numpy_helper.from_array(value, name) for name, value in held.items()]
    graph = helper.make_graph(nodes, "digits", [given], [made], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


_NORM = ("weight", "bias", "running_mean", "running_var")
