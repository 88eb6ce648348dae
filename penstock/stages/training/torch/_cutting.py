"""A module cut into consecutive parts, of about as many parameters each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import torch
from torch import nn

from penstock.core.errors import ConfigError
from penstock.stages.training.torch._strategy import has_batch_norm, reduced


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
