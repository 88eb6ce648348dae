"""The architectures that are ready to use, by name; PyTorch is imported when one is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.stages.modules import register_module

if TYPE_CHECKING:
    import torch


@register_module("mlp")
def mlp(
    *, inputs: int, outputs: int, hidden: Sequence[int] = (64, 64), dropout: float = 0.0, activation: str = "relu"
) -> torch.nn.Module:
    """Return fully connected layers over numeric features, each of which may be on a rank of its own.

    Parameters
    ----------
    inputs, outputs : int
        Given by the stage.
    hidden : sequence of int
        The width of each hidden layer; none makes a linear model.
    dropout : float
        Share of hidden values that are left out at random while training.
    activation : {"relu", "gelu", "silu", "tanh"}
    """
    from penstock.stages.training.torch._tabular import layers

    return layers(inputs, outputs, hidden, dropout, activation)


@register_module("tabular")
def tabular(
    *,
    inputs: int,
    outputs: int,
    cardinalities: Sequence[int] = (),
    embedding_size: int | None = None,
    hidden: Sequence[int] = (64, 64),
    dropout: float = 0.0,
    activation: str = "relu",
) -> torch.nn.Module:
    """Return fully connected layers over numeric features and an embedding of each category.

    Parameters
    ----------
    inputs, outputs, cardinalities : int, int and sequence of int
        Given by the stage.
    embedding_size : int, optional
        The length of every embedding; unless given, ``1.6 * cardinality ** 0.56``, at most 600, as in fast.ai.
    hidden, dropout, activation
        As those of `mlp`.
    """
    from penstock.stages.training.torch._tabular import Tabular

    return Tabular(inputs, outputs, cardinalities, embedding_size, hidden, dropout, activation)
