"""One training of a fit: the body that runs on every rank, and the rows that it reads."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock.core.scheduler import Scheduler
from penstock.dataset.dataset import Dataset
from penstock.spmd import PreparedInputs, Rank, SpmdOptions, refuse_ports, train
from penstock.stages.base import Fitted
from penstock.stages.capabilities import DatasetStage
from penstock.stages.step import capability
from penstock.stages.trainer import Trainer
from penstock.stages.vectors import over


@dataclass(frozen=True)
class TrainerBody:
    """The body of a trainer, as it travels to every rank."""

    stage: Trainer
    learned: Fitted
    inputs: PreparedInputs | None = None

    @property
    def rounds(self) -> int:
        """How many rounds there are, for progress."""
        return self.stage.rounds

    @property
    def opens_ports(self) -> bool:
        """Whether several ranks listen on every address of their machines."""
        return self.stage.tags.opens_ports

    def __call__(self, rank: Rank) -> Fitted:
        """Train on one rank."""
        return over.train(self.stage, replace(rank, inputs=self.inputs), self.learned)


@dataclass(frozen=True)
class JointBody:
    """The body of trainers of one class on the same rows, which learn together; it returns what each learned.

    There are no checkpoints: each would be of one of them.
    """

    bodies: tuple[TrainerBody, ...]
    inputs: PreparedInputs | None = None

    @property
    def stage(self) -> Trainer:
        """The first of the trainers."""
        return self.bodies[0].stage

    @property
    def rounds(self) -> int:
        """How many rounds the longest has."""
        return max(body.rounds for body in self.bodies)

    @property
    def opens_ports(self) -> bool:
        """Whether several ranks listen on every address of their machines."""
        return self.stage.tags.opens_ports

    def __call__(self, rank: Rank) -> list[Fitted]:
        """Train all on one rank."""
        alone = replace(rank, inputs=self.inputs, checkpoint=None, checkpoint_interval=sys.maxsize)
        return over.train_together(alone, [(body.stage, body.learned) for body in self.bodies])


@dataclass(frozen=True)
class Training:
    """A stage that is to be trained, once its statistics are finished.

    Attributes
    ----------
    position : int
        Of the stage in the pipeline.
    title : str
        What progress and errors call it.
    body : TrainerBody
    datasets : mapping of str to Dataset
        "train", and "validation" where there is one, as they come to the stage.
    options : SpmdOptions
    """

    position: int
    title: str
    body: TrainerBody
    datasets: Mapping[str, Dataset]
    options: SpmdOptions

    @property
    def label(self) -> str:
        """What progress calls it."""
        return f"train {self.title}"

    def run(self, body: TrainerBody | JointBody, engine: Scheduler) -> Any:
        """Run a body on these rows, on the ranks of the options, or else on all of the engine."""
        whole = capability(body.stage, DatasetStage)
        if whole is not None:
            return whole.learn_from(self.datasets["train"], self.body.learned)
        return train(engine, body, self.datasets, _options_of(body.stage, self.options), label=self.label)


def check_ranks(stages: Iterable[Trainer], engine: Scheduler, options: SpmdOptions) -> None:
    """Refuse, before anything is read, ranks for which there is no room, and ports that nobody has allowed.

    Raises
    ------
    ConfigError
        As of `Engine.ranks`; InsecureClusterError for several ranks of XGBoost without ``allow_insecure``.
    """
    for stage in stages:
        if capability(stage, DatasetStage) is None:
            size = engine.ranks(_options_of(stage, options), label=f"train {stage.title}")
            grows = options.elastic and not engine.in_process
            if stage.tags.opens_ports:
                refuse_ports(max(size, 2) if grows else size, options)


def _options_of(stage: Trainer, options: SpmdOptions) -> SpmdOptions:
    return replace(options, world_size=1) if stage.tags.single_rank else options
