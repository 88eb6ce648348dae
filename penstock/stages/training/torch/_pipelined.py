"""A module cut into parts that work at once, each on another piece of a batch: PyTorch's `Schedule1F1B`.

Narayanan et al., "PipeDream: generalized pipeline parallelism for DNN training", SOSP 2019; updates wait for the whole
batch, as in their PipeDream-Flush.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

from penstock.core.errors import ConfigError
from penstock.spmd import Rank
from penstock.stages.training.torch._cutting import Part, cut
from penstock.stages.training.torch._data import Rows
from penstock.stages.training.torch._strategy import Objective, Strategy

if TYPE_CHECKING:
    from penstock.stages.training.torch._learner import TorchLearner


@dataclass(frozen=True)
class _Batch:
    """What is under way, and the losses of the pieces that arrived; without a factor, gradients are not asked for."""

    objective: Objective
    rows: Rows
    factor: float | None
    losses: list[torch.Tensor] = field(default_factory=list)


class Pipelined(Strategy):
    """One part of the module on each rank: the first is given the features of a batch, the last tells its loss.

    Every rank has all rows in memory, for the first needs their features and the last their labels. Of the module, a
    rank has its own part on its device; the others are on no device.
    """

    whole_batches: ClassVar[bool] = True

    def __init__(self, module: nn.Module, stage: TorchLearner, rank: Rank, device: torch.device) -> None:
        super().__init__(module, stage, rank, device)
        self._pieces = 2 * rank.size if stage.microbatches is None else stage.microbatches
        if self._pieces < rank.size:
            raise ConfigError(
                f"microbatches of {stage.title} is {self._pieces}, expected at least the number of ranks, {rank.size}",
                stage=stage.title,
            )
        parts = [Part(modules, stage.precision, device) for modules in cut(module, rank.size)]
        features = torch.zeros((0, len(stage.feature_names)))
        codes = torch.zeros((0, len(stage.category_names)), dtype=torch.int64)
        self._between = _traced(parts, (features, codes) if stage.category_names else (features,))
        for index, part in enumerate(parts):
            part.to(device if index == rank.index else "meta")
        self._part = parts[rank.index]
        self._schedule: Schedule1F1B | None = None
        self._piece = 0
        self._batch: _Batch

    def named_parameters(self) -> dict[str, nn.Parameter]:
        return {name: each for name, each in self.module.named_parameters() if not each.is_meta}

    def train(self, mode: bool) -> None:
        self._part.train(mode)

    def backward(self, objective: Objective, rows: Rows, factor: float, *, last: bool) -> torch.Tensor:
        return self._run(objective, rows, factor)

    def evaluate(self, objective: Objective, rows: Rows) -> torch.Tensor:
        with torch.no_grad():
            return self._run(objective, rows, None)

    def clip(self, norm: float) -> None:
        parameters = list(self.parameters())
        own = nn.utils.get_total_norm([each.grad for each in parameters if each.grad is not None])
        squared = own.square()
        dist.all_reduce(squared)
        nn.utils.clip_grads_with_norm_(parameters, norm, squared.sqrt())

    def total(self, values: torch.Tensor) -> torch.Tensor:
        """Return those of the last rank, which alone knows the losses, of all rows."""
        told = values.to(self.device)
        dist.broadcast(told, src=self.rank.size - 1)
        return told.cpu()

    def state(self) -> dict[str, torch.Tensor]:
        own = {name: self._gathered(value) for name, value in self._own_state().items()}
        gathered = self._of_all_ranks(own)
        return {name: gathered[name] for name in self.module.state_dict()}

    def load(self, state: Mapping[str, torch.Tensor]) -> None:
        self.module.load_state_dict({name: state[name] for name in self._own_state()}, strict=False)

    def optimiser_state(self, optimiser: torch.optim.Optimizer) -> dict[str, Any]:
        return self._of_all_ranks(super().optimiser_state(optimiser))

    def _own_state(self) -> dict[str, torch.Tensor]:
        return {name: value for name, value in self.module.state_dict().items() if not value.is_meta}

    def _of_all_ranks(self, own: dict[str, Any]) -> dict[str, Any]:
        # By the driver, whose connections are authenticated: PyTorch would unpickle what comes over its own.
        return {name: value for part in self.rank.gather(own) for name, value in part.items()}

    def _run(self, objective: Objective, rows: Rows, factor: float | None) -> torch.Tensor:
        """Send rows through all parts, and gradients of `factor` times their loss back; return the loss.

        Parts agree once on what they pass, so batches have the size of the first, the largest of an epoch.
        """
        if self._schedule is None:
            self._piece = -(-len(rows) // self._pieces)
            self._schedule = Schedule1F1B(self._stage(), self._pieces, self._loss, scale_grads=False)
        size, loss = self._piece * self._pieces, torch.zeros((), dtype=torch.float64, device=self.device)
        for begin in range(0, len(rows), size):
            places = torch.arange(begin, min(begin + size, len(rows)), device=self.device)
            self._batch = _Batch(objective, padded(rows.take(places), size), factor)
            loss = sum(self._passed(self._schedule), start=loss)
        return loss

    def _passed(self, schedule: Schedule1F1B) -> list[torch.Tensor]:
        """Have the batch pass all parts; return the losses of its pieces, none but on the last rank."""
        rows = self._batch.rows
        step = schedule.eval if self._batch.factor is None else schedule.step
        inputs = rows.inputs if self.rank.index == 0 else ()
        target = torch.arange(len(rows), device=self.device) if self.rank.index == self.rank.size - 1 else None
        step(*inputs, target=target)
        return self._batch.losses

    def _loss(self, outputs: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Return what to differentiate of the piece of the batch at these places."""
        batch = self._batch
        loss = batch.objective.of(outputs, batch.rows.take(places))
        batch.losses.append(loss.detach())
        return loss if batch.factor is None else loss * batch.factor

    def _stage(self) -> PipelineStage:
        index, size = self.rank.index, self.rank.size
        given, made = (
            tuple(each.new_empty((self._piece, *each.shape[1:])) for each in tensors)
            for tensors in self._between[index : index + 2]
        )
        return PipelineStage(
            self._part, index, size, self.device,
            input_args=tuple(each.requires_grad_(index > 0) for each in given),
            output_args=tuple(each.requires_grad_() for each in made),
        )  # fmt: skip


def padded(rows: Rows, size: int) -> Rows:
    """Return so many rows: those given, and the first of them again, with a weight of 0."""
    missing = size - len(rows)
    places = torch.arange(len(rows), device=rows.weight.device)
    more = rows.take(torch.cat([places, places.new_zeros(missing)]))
    weight = torch.cat([rows.weight, rows.weight.new_zeros(missing)])
    return Rows(more.features, more.codes, more.label, weight)


def _traced(parts: Sequence[Part], inputs: tuple[torch.Tensor, ...]) -> list[tuple[torch.Tensor, ...]]:
    """Return what each part is given, and what the last gives, without rows."""
    passed = [inputs]
    with torch.no_grad():
        for number, part in enumerate(parts, start=1):
            made = part(*passed[-1])
            if not isinstance(made, torch.Tensor) or made.shape[:1] != (0,):
                raise ConfigError(f"part {number} of {len(parts)} of the module gives no tensor of shape (rows, ...)")
            passed.append((made,))
    return passed
