"""A module cut into parts that work at once, each on another piece of a batch: PyTorch's `Schedule1F1B`.

Narayanan et al., "PipeDream: generalized pipeline parallelism for DNN training", SOSP 2019; updates wait for the whole
batch, as in their PipeDream-Flush.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

from penstock.core.errors import ConfigError
from penstock.spmd import Rank
from penstock.stages.training.torch._data import Rows
from penstock.stages.training.torch._strategy import Objective, Strategy, has_batch_norm, reduced

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


class Part(nn.Module):
    """Some modules one after the other; it computes in `precision`, and gives float32."""

    def __init__(self, modules: Sequence[nn.Module], precision: str, device: torch.device) -> None:
        super().__init__()
        self.steps = nn.ModuleList(modules)
        self.precision, self.device = precision, device

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """Return what the last module gives; the first is given all inputs."""
        with reduced(self.precision, self.device):
            first, *others = self.steps
            made: torch.Tensor = first(*inputs)
            for module in others:
                made = module(made)
        return made.float()


def cut(module: nn.Module, count: int) -> list[list[nn.Module]]:
    """Return the modules of each of `count` parts.

    Raises
    ------
    ConfigError
        The module is no sequence, is too short, has batch normalisation, or has a parameter in two parts or in none.

    Examples
    --------
    >>> module = nn.Sequential(nn.Linear(9, 3), nn.ReLU(), nn.Linear(3, 3), nn.Linear(3, 1))
    >>> [len(part) for part in cut(module, 2)]
    [2, 2]
    """
    if has_batch_norm(module):
        raise ConfigError(
            "the module has batch normalisation, which would see only the rows of a part of a batch",
            hint="Use nn.LayerNorm or nn.GroupNorm, or another strategy than 'pipeline'.",
        )
    blocks = _blocks(_sequence(module))
    if len(blocks) < count:
        raise ConfigError(
            f"the module has {len(blocks)} module(s) with parameters in its sequence, fewer than {count} ranks",
            hint=f"Use SpmdOptions(world_size={len(blocks)}) at most, or strategy='fsdp'.",
        )
    parts = [list(itertools.chain(*blocks[begin:end])) for begin, end in itertools.pairwise(_bounds(blocks, count))]
    _check_owners(module, parts)
    return parts


def _sequence(module: nn.Module) -> list[nn.Module]:
    """Return the modules which, called one after the other, do what the module does."""
    if type(module).forward is nn.Sequential.forward:
        return list(_flat(module))
    if callable(stages := getattr(module, "stages", None)):
        return list(stages())
    raise ConfigError(
        f"{type(module).__name__} cannot be cut into parts for strategy='pipeline', expected nn.Sequential",
        hint="Give the module a method stages() that returns modules to call one after the other, or use 'fsdp'.",
    )


def _flat(module: nn.Module) -> Iterator[nn.Module]:
    for child in module.children():
        if type(child).forward is nn.Sequential.forward:
            yield from _flat(child)
        else:
            yield child


def _blocks(modules: Sequence[nn.Module]) -> list[list[nn.Module]]:
    """Return the modules in groups of which each has one with parameters: an optimiser takes no empty part."""
    blocks: list[list[nn.Module]] = []
    for module in modules:
        if not blocks or (_size([module]) and _size(blocks[-1])):
            blocks.append([])
        blocks[-1].append(module)
    return blocks if not blocks or _size(blocks[0]) else []


def _bounds(blocks: Sequence[Sequence[nn.Module]], count: int) -> list[int]:
    """Return where each part begins, and the end: nearest to equal shares of the parameters, one block at least."""
    sizes = list(itertools.accumulate(map(_size, blocks)))
    bounds = [0]
    for part in range(1, count):
        wanted = sizes[-1] * part / count
        possible = range(bounds[-1] + 1, len(blocks) - (count - part) + 1)
        bounds.append(min(possible, key=lambda end: abs(sizes[end - 1] - wanted)))
    return [*bounds, len(blocks)]


def _size(modules: Sequence[nn.Module]) -> int:
    parameters = itertools.chain.from_iterable(module.parameters() for module in modules)
    return sum(parameter.numel() for parameter in parameters if parameter.requires_grad)


def _check_owners(module: nn.Module, parts: Sequence[Sequence[nn.Module]]) -> None:
    owned = [{id(parameter) for each in part for parameter in each.parameters()} for part in parts]
    for name, parameter in module.named_parameters():
        owners = [number for number, part in enumerate(owned, start=1) if id(parameter) in part]
        if len(owners) != 1:
            place = f"in parts {', '.join(map(str, owners))}" if owners else "in none of the modules of stages()"
            raise ConfigError(
                f"parameter {name!r} is {place}, expected one of {len(parts)} parts to have it",
                hint="strategy='fsdp' takes modules that share parameters.",
            )
