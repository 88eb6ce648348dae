"""Networks of PyTorch, loaded once in a process for each device."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from safetensors.torch import load as load_tensors

from penstock import devices
from penstock.core.errors import ArtifactError, ConfigError
from penstock.frames import Kind
from penstock.stages.base import Blob
from penstock.stages.inference._network import Network
from penstock.stages.inference._program import load_program
from penstock.stages.modules import Factory, make_for_weights

_MOST = 4
"""Networks that a process keeps."""


@functools.lru_cache(maxsize=_MOST)
def registered(factory: Factory, name: str, options: str, weights: Blob, kind: Kind) -> Network:
    """Return a registered module with its weights.

    Parameters
    ----------
    factory : callable
    name : str
        Under which it is registered.
    options : str
        What the factory is called with, as JSON.
    weights : Blob
        Safetensors, by the names of the module's parameters and buffers.

    Raises
    ------
    ConfigError
        The factory does not take the options.
    ArtifactError
        Weights are missing, left over, or of other shapes.
    """
    try:
        module = make_for_weights(factory, json.loads(options))
    except TypeError as error:
        raise ConfigError(f"module {name!r} does not take the options {options}: {error}") from error
    _fill(module, load_tensors(weights.data), name)
    module.requires_grad_(False).eval().to(_device(kind))
    return Network(_runner(module, _device(kind)))


def _fill(module: torch.nn.Module, weights: dict[str, torch.Tensor], name: str) -> None:
    wanted = {key: tuple(value.shape) for key, value in module.state_dict().items()}
    found = {key: tuple(value.shape) for key, value in weights.items()}
    if wanted != found:
        key = next(key for key in (*wanted, *found) if wanted.get(key) != found.get(key))
        raise ArtifactError(
            f"the weights do not fit module {name!r}: {key!r} is {found.get(key, 'missing')}, expected "
            f"{wanted.get(key, 'none of this name')}; it has {len(wanted)} tensors, the file {len(found)}",
            hint="Pass the options that the module was trained with.",
        )
    module.load_state_dict(weights)


@functools.lru_cache(maxsize=_MOST)
def exported(graph: str, weights: Blob, kind: Kind) -> Network:
    """Return a program of `torch.export`, whose graph is given as JSON."""
    document = json.loads(graph)
    program = load_program(document, weights.data, _device(kind))
    return Network(_runner(program, _device(kind)), document["takes"])


def _device(kind: Kind) -> torch.device:
    index = devices.use(kind).index
    return torch.device("cpu") if index is None else torch.device("cuda", index)


def _runner(module: Callable[[torch.Tensor], Any], device: torch.device) -> Callable[[Any], np.ndarray]:
    def run(batch: Any) -> np.ndarray:
        with torch.inference_mode():
            made = module(torch.as_tensor(batch, device=device).clone())  # a module may work in place
        if not isinstance(made, torch.Tensor) or not made.is_floating_point():
            found = made.dtype if isinstance(made, torch.Tensor) else type(made).__name__
            raise ConfigError(f"the network gives {found}, expected one tensor of floating numbers")
        return made.float().cpu().numpy()

    return run
