"""Nested states with tensors in them, as bytes that are read without running code: JSON and safetensors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import torch
from safetensors.torch import load, save

_TENSOR, _PAIRS = "tensor", "pairs"


def pack(state: Any) -> bytes:
    """Return a state of numbers, strings, lists, mappings (of strings or integers) and tensors as bytes.

    Examples
    --------
    >>> state = {"step": 3, "rates": [0.1, None], 0: {"momentum": torch.tensor([1.5])}}
    >>> unpack(pack(state)) == state
    True
    """
    tensors: dict[str, torch.Tensor] = {}
    document = json.dumps(_taken_apart(state, tensors))
    return document.encode() + b"\n" + bytes(save(tensors))


def unpack(data: bytes) -> Any:
    """Return the state that `pack` made bytes of; tuples are lists, and tensors are on the CPU."""
    document, _, tensors = data.partition(b"\n")
    return _put_together(json.loads(document), load(tensors))


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy of its own on the CPU: safetensors takes none that share memory, as tied weights do."""
    return tensor.detach().to("cpu", copy=True).contiguous()


def _taken_apart(value: Any, tensors: dict[str, torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        name = str(len(tensors))
        tensors[name] = whole(value)
        return {_TENSOR: name}
    if isinstance(value, Mapping):
        return {_PAIRS: [[key, _taken_apart(item, tensors)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        return [_taken_apart(item, tensors) for item in value]
    return value


def _put_together(document: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    if isinstance(document, list):
        return [_put_together(item, tensors) for item in document]
    if not isinstance(document, dict):
        return document
    if _TENSOR in document:
        return tensors[document[_TENSOR]]
    return {key: _put_together(item, tensors) for key, item in document[_PAIRS]}
