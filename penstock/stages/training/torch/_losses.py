"""Losses by name, of each row; those of `torch.nn.functional`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.nn import functional

_NUMBERS: dict[str, Callable[..., torch.Tensor]] = {
    "mse": functional.mse_loss,
    "l1": functional.l1_loss,
    "huber": functional.huber_loss,
    "smooth_l1": functional.smooth_l1_loss,
}


def row_losses(name: str, options: Mapping[str, Any]) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Return the function of outputs, of shape (rows, outputs), and labels that gives the loss of each row.

    Examples
    --------
    >>> row_losses("l1", {})(torch.tensor([[1.0], [2.0]]), torch.tensor([0.0, 5.0]))
    tensor([1., 3.])
    """
    if name == "cross_entropy":
        return lambda outputs, label: functional.cross_entropy(outputs, label, reduction="none", **options)
    loss = _NUMBERS[name]
    return lambda outputs, label: loss(outputs[:, 0], label, reduction="none", **options)
