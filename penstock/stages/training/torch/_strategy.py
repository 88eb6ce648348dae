"""How a module is spread over the ranks: what wraps it, runs it on the rows of a batch, and gathers what it learned.

The training loop knows no more of it than `Strategy`. Every method is called on all ranks, as often and in the same
order, so that each may be a collective call; ranks have different rows of a batch, and some of them none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from penstock.core.errors import ConfigError
from penstock.spmd import Rank
from penstock.stages.training.torch._data import Rows
from penstock.stages.training.torch._state import whole

if TYPE_CHECKING:
    from penstock.stages.training.torch._learner import TorchLearner

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
_REDUCED = {"bfloat16": torch.bfloat16, "float16": torch.float16}
_NUMBERS: dict[str, Callable[..., torch.Tensor]] = {
    "mse": functional.mse_loss,
    "l1": functional.l1_loss,
    "huber": functional.huber_loss,
    "smooth_l1": functional.smooth_l1_loss,
}


def row_losses(name: str, options: Mapping[str, Any]) -> Loss:
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


@dataclass(frozen=True)
class Objective:
    """The weighted sum of the losses of some rows; the module runs in reduced precision where asked for.

    Parameters
    ----------
    loss : callable
        Takes outputs in float32 and labels, and gives the loss of each row.
    precision : {"float32", "bfloat16", "float16"}
    scaler : torch.amp.GradScaler
        Enabled for float16 only, whose gradients would vanish unless scaled.
    """

    loss: Loss
    precision: str
    scaler: torch.amp.GradScaler

    def __call__(self, module: nn.Module, rows: Rows) -> torch.Tensor:
        """Return the sum, float64."""
        with reduced(self.precision, rows.features.device):
            outputs = module(*rows.inputs)
        return self.of(outputs, rows)

    def of(self, outputs: torch.Tensor, rows: Rows) -> torch.Tensor:
        """Return the sum for the outputs of these rows."""
        return (self.loss(outputs.float(), rows.label) * rows.weight).sum(dtype=torch.float64)


def reduced(precision: str, device: torch.device) -> torch.autocast:
    """Return the context in which a module computes in this precision."""
    return torch.autocast(device.type, _REDUCED.get(precision), enabled=precision in _REDUCED)


class Strategy(ABC):
    """One module on all ranks.

    Parameters
    ----------
    module : torch.nn.Module
        The same on every rank, on the CPU; what of it this rank has goes to `device`.
    stage : TorchLearner
        Its settings.
    rank : Rank
    device : torch.device
    """

    whole_batches: ClassVar[bool] = False
    """Whether each rank is given all rows of a batch, and not only those that it has read."""

    def __init__(self, module: nn.Module, stage: TorchLearner, rank: Rank, device: torch.device) -> None:
        self.module, self.rank, self.device = module, rank, device

    def named_parameters(self) -> dict[str, nn.Parameter]:
        """Return what the optimiser of this rank changes, by the names in the whole module."""
        return dict(self.module.named_parameters())

    def parameters(self) -> Iterable[nn.Parameter]:
        """Return what the optimiser of this rank changes."""
        return self.named_parameters().values()

    def train(self, mode: bool) -> None:
        """Set the module to train, or to evaluate."""
        self.module.train(mode)

    @abstractmethod
    def backward(self, objective: Objective, rows: Rows, factor: float, *, last: bool) -> torch.Tensor:
        """Add to the gradients those of `factor` times the loss of the rows of all ranks, scaled as `scaler` says.

        Parameters
        ----------
        objective : Objective
        rows : Rows
            Those of one batch that are on this rank.
        factor : float
            One divided by the weight of all rows of the update.
        last : bool
            The optimiser is called next, so gradients must be the same on all ranks, or each its own part of them.

        Returns
        -------
        torch.Tensor
            The loss of this rank's rows, float64, without a gradient; `total` makes of it that of the batch.
        """

    def evaluate(self, objective: Objective, rows: Rows) -> torch.Tensor:
        """Return the loss of this rank's rows, as `backward` does; the module is in eval mode."""
        with torch.no_grad():
            return objective(self.module, rows)

    def clip(self, norm: float) -> None:
        """Scale the gradients down where their norm, over all ranks, is larger."""
        nn.utils.clip_grad_norm_(self.parameters(), norm)

    def total(self, values: torch.Tensor) -> torch.Tensor:
        """Return the sum of small values over the rows of all ranks, on the host."""
        summed = values.to(self.device)
        if self.rank.size > 1:
            dist.all_reduce(summed)
        return summed.cpu()

    def state(self) -> dict[str, torch.Tensor]:
        """Return parameters and buffers of the whole module by the names that it has alone, copied to the CPU."""
        return {name: self._gathered(value) for name, value in self.module.state_dict().items()}

    def load(self, state: Mapping[str, torch.Tensor]) -> None:
        """Take what `state` gave, on any number of ranks."""
        self.module.load_state_dict(state)

    def optimiser_state(self, optimiser: torch.optim.Optimizer) -> dict[str, Any]:
        """Return what the optimisers of all ranks together know of each parameter, by its name, on the CPU."""
        known, names = optimiser.state_dict()["state"], list(self.named_parameters())
        return {
            names[place]: {
                key: self._gathered(value) if isinstance(value, torch.Tensor) else value for key, value in each.items()
            }
            for place, each in known.items()
        }

    def load_optimiser(self, optimiser: torch.optim.Optimizer, state: Mapping[str, Any]) -> None:
        """Take what `optimiser_state` gave, on any number of ranks."""
        known = {
            place: {key: self._placed(value, parameter) for key, value in state[name].items()}
            for place, (name, parameter) in enumerate(self.named_parameters().items())
            if name in state
        }
        optimiser.load_state_dict({**optimiser.state_dict(), "state": known})

    def _gathered(self, value: torch.Tensor) -> torch.Tensor:
        """Return a copy, on the CPU, of the whole of what this rank has, perhaps, a part of."""
        return whole(value)

    def _placed(self, value: Any, parameter: nn.Parameter) -> Any:
        """Return the part of a whole value that belongs to what this rank has of a parameter."""
        return value


class Alone(Strategy):
    """The only rank."""

    def __init__(self, module: nn.Module, stage: TorchLearner, rank: Rank, device: torch.device) -> None:
        super().__init__(module.to(device), stage, rank, device)

    def backward(self, objective: Objective, rows: Rows, factor: float, *, last: bool) -> torch.Tensor:
        loss = objective(self.module, rows)
        objective.scaler.scale(loss * factor).backward()
        return loss.detach()


class DataParallel(Strategy):
    """The whole module on every rank, and `DistributedDataParallel`, which takes the mean of their gradients.

    Statistics of batch normalisation are those of all ranks' rows on GPUs. On CPUs PyTorch cannot share them.
    """

    def __init__(self, module: nn.Module, stage: TorchLearner, rank: Rank, device: torch.device) -> None:
        module = synchronised(module, rank, device).to(device)
        super().__init__(module, stage, rank, device)
        self._wrapped = DistributedDataParallel(module, device_ids=None if device.type == "cpu" else [device.index])

    def backward(self, objective: Objective, rows: Rows, factor: float, *, last: bool) -> torch.Tensor:
        with nullcontext() if last else self._wrapped.no_sync():
            loss = objective(self._wrapped, rows)
            objective.scaler.scale(loss * factor * self.rank.size).backward()
        return loss.detach()


def synchronised(module: nn.Module, rank: Rank, device: torch.device) -> nn.Module:
    """Return the module with statistics of batch normalisation over the rows of all ranks.

    Raises
    ------
    ConfigError
        It has some, and the device is a CPU.
    """
    if device.type == "cuda":
        return nn.SyncBatchNorm.convert_sync_batchnorm(module)
    if has_batch_norm(module):
        raise ConfigError(
            f"the module has batch normalisation, which would see only the rows of one of {rank.size} ranks",
            hint="Use nn.LayerNorm or nn.GroupNorm, GPUs, or SpmdOptions(world_size=1).",
        )
    return module


def has_batch_norm(module: nn.Module) -> bool:
    """Return whether a row's output depends, in training, on the rows beside it."""
    return any(isinstance(part, nn.modules.batchnorm._BatchNorm) for part in module.modules())


def strategy_of(stage: TorchLearner, rank: Rank) -> type[Strategy]:
    """Return the strategy that a stage asks for, or that of the only rank."""
    if rank.size == 1:
        return Alone
    if stage.strategy == "fsdp":
        from penstock.stages.training.torch._sharded import FullySharded

        return FullySharded
    if stage.strategy == "pipeline":
        from penstock.stages.training.torch._pipelined import Pipelined

        return Pipelined
    return DataParallel
