"""A module whose parameters are cut into as many shards as there are ranks: PyTorch's `fully_shard`.

Zhao et al., "PyTorch FSDP: experiences on scaling fully sharded data parallel", VLDB 2023.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from penstock.spmd import Rank
from penstock.stages.training.torch._data import Rows
from penstock.stages.training.torch._state import whole
from penstock.stages.training.torch._strategy import Objective, Strategy, synchronised

if TYPE_CHECKING:
    from penstock.stages.training.torch._learner import TorchLearner


class FullySharded(Strategy):
    """Every rank has its shard of each parameter, gradient and state of the optimiser, and its own rows of a batch.

    The shards of one layer are put together while it computes; where gradients of several batches are accumulated,
    those of all layers are whole until the last.
    """

    module: FSDPModule

    def __init__(self, module: nn.Module, stage: TorchLearner, rank: Rank, device: torch.device) -> None:
        super().__init__(synchronised(module, rank, device), stage, rank, device)
        mesh = DeviceMesh.from_group(dist.group.WORLD, device.type)
        for layer in (*layers(self.module), self.module):
            fully_shard(layer, mesh=mesh)

    def backward(self, objective: Objective, rows: Rows, factor: float, *, last: bool) -> torch.Tensor:
        self.module.set_requires_gradient_sync(last)
        loss = objective(self.module, rows)
        objective.scaler.scale(loss * factor * self.rank.size).backward()
        return loss.detach()

    def load(self, state: Mapping[str, torch.Tensor]) -> None:
        here = self.module.state_dict()
        self.module.load_state_dict({name: self._placed(value, here[name]) for name, value in state.items()})

    def _gathered(self, value: torch.Tensor) -> torch.Tensor:
        return whole(value.full_tensor() if isinstance(value, DTensor) else value)

    def _placed(self, value: Any, parameter: torch.Tensor) -> Any:
        """Return the shard of what has the shape of the parameter; counts of updates, say, are whole on each rank."""
        if not isinstance(parameter, DTensor) or not isinstance(value, torch.Tensor) or value.shape != parameter.shape:
            return value
        return distribute_tensor(value.to(self.device), parameter.device_mesh, parameter.placements, src_data_rank=None)


def layers(module: nn.Module) -> list[nn.Module]:
    """Return the parts to put together one at a time; none where they share parameters, which are then one with all."""
    found = [part for part in _opened(module) if any(True for _ in part.parameters())]
    owned = [id(parameter) for part in found for parameter in part.parameters()]
    return found if len(owned) == len(set(owned)) else []


def _opened(module: nn.Module) -> Iterator[nn.Module]:
    """Yield the children, and instead of containers, those in them."""
    for child in module.children():
        if isinstance(child, nn.Sequential | nn.ModuleList | nn.ModuleDict):
            yield from _opened(child)
        else:
            yield child
