"""Modules made by their factories, with trained weights or without, and scored."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

import narwhals as nw
import torch
from safetensors.torch import load
from torch import nn

from penstock import frames
from penstock.core.errors import ArtifactError, ConfigError
from penstock.frames import matrices
from penstock.stages.base import Blob, Fitted
from penstock.stages.modules import Factory, make_for_weights, module_factory
from penstock.stages.training._finite import finite_matrix
from penstock.stages.training.torch._data import codes, tensor
from penstock.stages.training.torch._group import device_of

if TYPE_CHECKING:
    from penstock.stages.training.torch._learner import TorchLearner

_ROWS = 512
"""Rows that are scored together: always as many, for a matrix product rounds otherwise where its shape is another."""


def build(stage: TorchLearner, learned: Fitted) -> nn.Module:
    """Return the stage's module, its weights drawn at random, after a trial without rows.

    Raises
    ------
    ConfigError
        The factory does not take its options, or what it makes does not keep the contract of a module.
    """
    factory, options = module_factory(stage.module), _options(stage, learned)
    try:
        module = factory(**options)
        codes = torch.zeros((0, len(stage.category_names)), dtype=torch.int64)
        inputs = (torch.zeros((0, len(stage.feature_names))), *([codes] if stage.category_names else []))
        with torch.no_grad():
            made = module.eval()(*inputs)
    except (TypeError, ValueError, RuntimeError, AttributeError, IndexError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(
            f"module {stage.module!r} of {_shown(options)} fails without rows: {type(error).__name__}: {error}",
            hint="A module takes any number of rows, none included; see the stage's documentation.",
        ) from error
    expected = (0, options["outputs"])
    if not isinstance(made, torch.Tensor) or tuple(made.shape) != expected:
        found = tuple(made.shape) if isinstance(made, torch.Tensor) else type(made).__name__
        raise ConfigError(f"module {stage.module!r} of {_shown(options)} gives {found}, expected shape {expected}")
    return module


def _options(stage: TorchLearner, learned: Fitted) -> dict[str, Any]:
    cardinalities = {"cardinalities": list(learned["cardinalities"])} if stage.category_names else {}
    outputs = learned["classes"].num_rows if "classes" in learned else 1
    return {"inputs": len(stage.feature_names), "outputs": outputs, **cardinalities, **stage.module_options}


def _shown(options: dict[str, Any]) -> str:
    return f"({', '.join(f'{name}={value!r}' for name, value in options.items())})"


def trained(stage: TorchLearner, fitted: Fitted, device: torch.device) -> nn.Module:
    """Return the stage's module with its weights, in eval mode; made once in a process."""
    options = json.dumps(_options(stage, fitted))
    return _trained(module_factory(stage.module), options, fitted["weights"], device)


def set_weights(module: nn.Module, weights: Blob) -> None:
    """Have a module take these weights; ArtifactError where they are not its own."""
    try:
        module.load_state_dict(load(weights.data))
    except RuntimeError as error:
        hint = "Register the module that the model was trained with, under the same name."
        raise ArtifactError(f"weights do not suit the registered module: {error}", hint=hint) from error


@functools.lru_cache(maxsize=16)
def _trained(factory: Factory, options: str, weights: Blob, device: torch.device) -> nn.Module:
    module = make_for_weights(factory, json.loads(options))
    set_weights(module, weights)
    return module.to(device).eval().requires_grad_(False)


def outputs_of(stage: TorchLearner, frame: nw.DataFrame, fitted: Fitted) -> Any:
    """Return the module's outputs for each row, float64 in NumPy or CuPy; those of a row with a null mean nothing.

    Raises
    ------
    DataValueError
        A feature is infinite, or too large for float32.
    """
    kind = frames.kind_of(frame)
    features = tensor(finite_matrix(frame, stage.feature_names, "float32")).nan_to_num(0.0)
    coded = codes(frame, stage.category_names, fitted["cardinalities"])
    inputs = (features,) if coded is None else (features, coded)
    module = trained(stage, fitted, device_of(kind))
    with torch.inference_mode():
        parts = zip(*(_padded(each).split(_ROWS) for each in inputs), strict=True)
        made = torch.cat([module(*part).double() for part in parts])[: len(frame)]
    return made.numpy() if kind == "cpu" else matrices.to_device(made, kind)


def _padded(values: torch.Tensor) -> torch.Tensor:
    """Return a whole number of blocks of rows, zeros at the end."""
    more = max(-(-len(values) // _ROWS), 1) * _ROWS - len(values)
    return torch.cat([values, values.new_zeros((more, values.shape[1]))])
