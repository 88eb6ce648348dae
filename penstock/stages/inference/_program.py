"""Runs the graph of a program node by node: ATen operators and arithmetic, on tensors, numbers and a few words."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from safetensors.torch import load as load_tensors
from torch import Tensor

from penstock.core.errors import UnsupportedStepError

Graph = Mapping[str, Any]
"""What is kept of a program: names of its input and output, the shape it takes, and its nodes as PyTorch has them."""

DTYPES = {
    1: torch.uint8, 2: torch.int8, 3: torch.int16, 4: torch.int32, 5: torch.int64, 6: torch.float16, 7: torch.float32,
    8: torch.float64, 12: torch.bool, 13: torch.bfloat16,
}  # fmt: skip
_FORMATS = {
    1: torch.contiguous_format, 2: torch.channels_last, 3: torch.channels_last_3d, 4: torch.preserve_format,
}  # fmt: skip
_ATEN = re.compile(r"torch\.ops\.aten\.(\w+)\.(\w+)")
_ARITHMETIC = re.compile(
    r"_operator\.(add|sub|mul|floordiv|truediv|mod|neg|pow|getitem|eq|ne|lt|le|gt|ge|and_|or_|not_)"
)
_WORDS = (
    "none", "tanh", "floor", "trunc", "sum", "mean", "prod", "amax", "amin", "max", "reflect", "replicate", "circular",
    "constant", "ij", "xy", "linear", "same", "valid", "bilinear", "bicubic", "nearest",
)  # fmt: skip
_PLAIN = ("as_int", "as_ints", "as_float", "as_floats", "as_bool", "as_bools")
_NUMBER = {"as_sym_int": "as_int", "as_sym_float": "as_float", "as_sym_bool": "as_bool"}
_REFERENCES = ("as_tensor", "as_optional_tensor", *_NUMBER)


class _Name(str):
    """The name of a value that is known when the program runs."""


class Program:
    """Runs a graph node by node, as PyTorch runs a module.

    Parameters
    ----------
    graph : mapping
        Of `read_program`; every node is checked again.
    tensors : mapping of str to Tensor
    device : torch.device
        Where it runs, whatever the graph says.

    Raises
    ------
    ValueError
        A node is not one that may run.
    """

    def __init__(self, graph: Graph, tensors: Mapping[str, Tensor], device: torch.device) -> None:
        self._device = device
        self._tensors = {name: tensor.to(device) for name, tensor in tensors.items()}
        self._input, self._output = graph["input"], graph["output"]
        self._steps = [_Step(node, self) for node in graph["nodes"]]
        self._check()
        self._idle = self._idle_after()

    def __call__(self, batch: Tensor) -> Tensor:
        values: dict[str, Any] = {**self._tensors, self._input: batch}
        for step, idle in zip(self._steps, self._idle, strict=True):
            step.run(values)
            for name in idle:
                del values[name]
        return values[self._output]

    def _check(self) -> None:
        """Demand that each value is made before it is read, and that no weight is changed."""
        known = {self._input, *self._tensors}
        for step in self._steps:
            if absent := sorted(set(step.reads) - known):
                raise ValueError(f"{step.target} reads {absent[0]!r}, which no node before it makes")
            known |= set(step.makes)
            if changed := sorted(step.changes & set(self._tensors)):
                raise ValueError(
                    f"{step.target} changes {changed[0]!r} as it runs: call eval() on the module before it is exported"
                )
        if self._output not in known:
            raise ValueError(f"no node makes its output {self._output!r}")

    def _idle_after(self) -> list[list[str]]:
        """Return the values that no later node reads, so that their memory is free."""
        last = {name: place for place, step in enumerate(self._steps) for name in (*step.makes, *step.reads)}
        idle: list[list[str]] = [[] for _ in self._steps]
        for name, place in last.items():
            if name != self._output and name not in self._tensors:
                idle[place].append(name)
        return idle

    def value(self, argument: Mapping[str, Any]) -> Any:
        """Return an argument: a value, or the name under which one is found when the program runs."""
        ((kind, content),) = argument.items()
        if kind == "as_none":
            return None
        if kind in _PLAIN:
            return [_number(item) for item in content] if isinstance(content, list) else _number(content)
        if kind in _REFERENCES:
            return self._reference(kind, content)
        if kind.endswith("s") and kind[:-1] in _REFERENCES:
            return [self._reference(kind[:-1], item) for item in content]
        if kind == "as_scalar_type":
            return known(DTYPES, content, "dtype")
        if kind == "as_memory_format":
            return known(_FORMATS, content, "memory format")
        if kind == "as_device":
            return self._device
        if kind == "as_layout" and content == 7:
            return torch.strided
        if kind == "as_string" and content in _WORDS:
            return content
        raise ValueError(f"an argument {kind} {str(content)!r:.60} is not taken")

    def _reference(self, kind: str, content: Mapping[str, Any]) -> Any:
        if kind == "as_tensor":
            return _Name(content["name"])
        if kind == "as_optional_tensor":
            return _Name(content["as_tensor"]["name"]) if "as_tensor" in content else None
        return _Name(content["as_name"]) if "as_name" in content else _number(content[_NUMBER[kind]])


class _Step:
    """One node: an operator, its arguments, and the names of what it makes."""

    def __init__(self, node: Mapping[str, Any], program: Program) -> None:
        self.target = node["target"]
        self._operator = _operator(self.target)
        arguments = [(item["name"], program.value(item["arg"]), item["kind"] == 2) for item in node["inputs"]]
        self._positional = [value for _, value, keyword in arguments if not keyword]
        self._keywords = {name: value for name, value, keyword in arguments if keyword}
        self._outputs = [_made(output) for output in node["outputs"]]
        self.makes = [name for output in self._outputs for name in (output if isinstance(output, list) else [output])]
        self.reads = [name for _, value, _ in arguments for name in _names(value)]
        schema = getattr(self._operator, "_schema", None)
        written = {item.name for item in schema.arguments if item.is_write} if schema is not None else set()
        self.changes = {name for key, value, _ in arguments if key in written for name in _names(value)}

    def run(self, values: dict[str, Any]) -> None:
        made = self._operator(
            *(_resolved(value, values) for value in self._positional),
            **{name: _resolved(value, values) for name, value in self._keywords.items()},
        )
        results = [made] if len(self._outputs) == 1 else list(made)
        for output, result in zip(self._outputs, results, strict=True):
            if isinstance(output, list):
                values.update(zip(output, result, strict=True))
            else:
                values[output] = result


def _operator(target: str) -> Callable[..., Any]:
    if found := _ATEN.fullmatch(target):
        packet = getattr(torch.ops.aten, found[1], None)
        if isinstance(packet, torch._ops.OpOverloadPacket) and found[2] in packet.overloads():
            return getattr(packet, found[2])
    if found := _ARITHMETIC.fullmatch(target):
        return getattr(operator, found[1])
    raise ValueError(f"operator {target!r} is not one of ATen's, nor arithmetic")


def _made(output: Mapping[str, Any]) -> str | list[str]:
    ((kind, content),) = output.items()
    if kind == "as_tensors":
        return [item["name"] for item in content]
    name = content.get("name", content.get("as_name")) if isinstance(content, Mapping) else None
    if kind not in _REFERENCES or not isinstance(name, str):
        raise ValueError(f"a node makes {kind}")
    return name


def known(codes: Mapping[int, Any], number: int, what: str) -> Any:
    """Return what a code of the format stands for; ValueError for one that is not taken."""
    if number not in codes:
        raise ValueError(f"{what} {number} is not taken")
    return codes[number]


def _number(value: Any) -> Any:
    """Return a number; infinities are words in JSON."""
    return float(value) if isinstance(value, str) else value


def _names(value: Any) -> Sequence[str]:
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, _Name)]


def _resolved(value: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_resolved(item, values) for item in value]
    return values[value] if isinstance(value, _Name) else value


def load_program(graph: Graph, weights: bytes, device: torch.device) -> Program:
    """Return the program of a saved model.

    Raises
    ------
    UnsupportedStepError
        The graph has something in it that may not run.
    """
    try:
        return Program(graph, load_tensors(weights), device)
    except (ValueError, KeyError, TypeError) as error:
        raise UnsupportedStepError(f"the program of the model cannot be run: {error}") from error
