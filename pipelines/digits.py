"""Handwritten digits: a multilayer perceptron against a small convolutional network, trained by all ranks at once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pydantic import BaseModel, Field

import penstock as ps
from penstock import stages as st
from penstock.stages.evaluation import Evaluator

if TYPE_CHECKING:
    import torch

SIDE = 8
PIXELS = [f"p{place}" for place in range(SIDE * SIDE)]
LABEL = "label"
SCHEMA = pa.schema([*((name, pa.float32()) for name in PIXELS), (LABEL, pa.int32())])


@ps.register_module("digits: convolutional")
def convolutional(*, inputs: int, outputs: int, channels: int) -> torch.nn.Module:
    """Return two convolutions over pictures that come row by row, each halved in size, and a linear layer."""
    from torch import nn

    return nn.Sequential(
        nn.Unflatten(1, (1, SIDE, inputs // SIDE)),
        nn.Conv2d(1, channels, kernel_size=3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(channels, 2 * channels, kernel_size=3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(2 * channels * (SIDE // 4) ** 2, outputs),
    )


class Parameters(BaseModel, extra="forbid"):
    """What `conf/pipelines/digits.yaml` and ``--set`` can change."""

    hidden: list[int] = [128]
    dropout: float = Field(default=0.5, ge=0, lt=1)
    channels: int = Field(default=16, ge=1)
    epochs: int = Field(default=60, ge=1)
    batch_size: int = Field(default=64, ge=1)
    learning_rate: float = Field(default=0.01, gt=0)
    seed: int = 0


def build(parameters: Parameters) -> ps.Pipeline:
    """Return the pipeline; pixels are from 0 to 1."""
    network = st.TorchClassifier(
        LABEL,
        features=PIXELS,
        module="digits: convolutional",
        module_options={"channels": parameters.channels},
        optimizer="adam",
        learning_rate=parameters.learning_rate,
        schedule="one_cycle",
        epochs=parameters.epochs,
        batch_size=parameters.batch_size,
        seed=parameters.seed,
    )
    perceptron = replace(
        network,
        module="mlp",
        module_options={"hidden": parameters.hidden, "dropout": parameters.dropout},
        raw_prediction="mlp_margins",
        probability="mlp_probability",
        prediction="mlp_prediction",
    )
    return ps.Pipeline(perceptron, network)


def evaluators(parameters: Parameters) -> dict[str, Evaluator]:
    """Return what measures them, side by side."""
    metrics = ("accuracy", "f1", "logLoss")
    return {
        "mlp": st.MulticlassClassificationEvaluator(
            label=LABEL, prediction="mlp_prediction", probability="mlp_probability", metrics=metrics
        ),
        "convolutional": st.MulticlassClassificationEvaluator(label=LABEL, metrics=metrics),
    }
