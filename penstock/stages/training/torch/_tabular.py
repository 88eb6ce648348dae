"""Layers for tables: a multilayer perceptron, and one whose inputs are joined by embeddings of categories."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from penstock.core.errors import check_one_of

_ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU, "tanh": nn.Tanh}
_LONGEST = 600


def layers(inputs: int, outputs: int, hidden: Sequence[int], dropout: float, activation: str) -> nn.Sequential:
    """Return linear layers with an activation after each but the last.

    Examples
    --------
    >>> [tuple(weight.shape) for weight in layers(4, 2, [8], 0.0, "relu").parameters()]
    [(8, 4), (8,), (2, 8), (2,)]
    """
    check_one_of("activation", activation, _ACTIVATIONS)
    made: list[nn.Module] = []
    for width in hidden:
        made += [nn.Linear(inputs, width), _ACTIVATIONS[activation]()]
        made += [nn.Dropout(dropout)] if dropout else []
        inputs = width
    return nn.Sequential(*made, nn.Linear(inputs, outputs))


def embedding_length(cardinality: int) -> int:
    """Return how long the embedding of so many values is: the rule of fast.ai's tabular models.

    Examples
    --------
    >>> [embedding_length(size) for size in (2, 100, 10**6)]
    [2, 21, 600]
    """
    return min(_LONGEST, round(1.6 * float(cardinality**0.56)))


class Tabular(nn.Module):
    """Embeddings of categories beside numeric features, through fully connected layers.

    ``forward(features, codes)`` takes float32 of shape (rows, inputs) and int64 of shape (rows, categories); code 0, a
    value that was not seen at fit, has an embedding of zeros that is not trained.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        cardinalities: Sequence[int],
        embedding_size: int | None,
        hidden: Sequence[int],
        dropout: float,
        activation: str,
    ) -> None:
        super().__init__()
        lengths = [embedding_size or embedding_length(size) for size in cardinalities]
        sizes = zip(cardinalities, lengths, strict=True)
        self.embeddings = nn.ModuleList(nn.Embedding(size, length, padding_idx=0) for size, length in sizes)
        self.layers = layers(inputs + sum(lengths), outputs, hidden, dropout, activation)

    def forward(self, features: torch.Tensor, codes: torch.Tensor | None = None) -> torch.Tensor:
        """Return the outputs of each row."""
        return self.layers(_joined(self.embeddings, features, codes))

    def stages(self) -> list[nn.Module]:
        """Return what may be on different ranks: the embeddings, and each layer."""
        return [_Embedded(self.embeddings), *self.layers] if len(self.embeddings) else list(self.layers)


class _Embedded(nn.Module):
    """The embeddings of a `Tabular`."""

    def __init__(self, embeddings: nn.ModuleList) -> None:
        super().__init__()
        self.embeddings = embeddings

    def forward(self, features: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
        """Return features and embeddings side by side."""
        return _joined(self.embeddings, features, codes)


def _joined(embeddings: nn.ModuleList, features: torch.Tensor, codes: torch.Tensor | None) -> torch.Tensor:
    columns = () if codes is None else codes.unbind(dim=1)
    embedded = [embedding(column) for embedding, column in zip(embeddings, columns, strict=True)]
    return torch.cat([features, *embedded], dim=1)
