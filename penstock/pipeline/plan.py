"""The plan of a fit: which statistics are gathered in which scan, before anything is read.

A statistic is ready when no stage that makes its columns, or drops rows before it, still has to be fitted. All that are
ready are gathered in one scan, whatever stages they belong to; it is fused here, once, by :class:`Pass`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from penstock.core.errors import ConfigError, PenstockError
from penstock.core.names import check_names
from penstock.pipeline.fusion import Pass, StatisticRequest
from penstock.pipeline.readiness import Readiness
from penstock.stages.base import Fitted, Stage
from penstock.stages.step import StageStep
from penstock.stages.trainer import Trainer, as_trainer
from penstock.stages.vectors import over
from penstock.statistics.base import Statistic, check_statistics


@dataclass(frozen=True)
class Level:
    """A scan, if any statistic is ready, the stages that are finished from it, and the trainers that can run then."""

    scan: Pass | None
    finishes: tuple[int, ...]
    trains: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """Bound stages, the schema before each (and after the last), and the levels in which they are fitted.

    ``given`` are the stages as they were written, whose columns may be selectors still; ``names`` are those that the
    user gave to them.
    """

    stages: tuple[Stage, ...]
    schemas: tuple[pa.Schema, ...]
    levels: tuple[Level, ...]
    given: tuple[Stage, ...]
    names: tuple[str | None, ...]

    def step(self, position: int, fitted: Fitted | None = None, *, training: bool = True) -> StageStep:
        """Return a stage as a step, which can be planned with where it is not fitted."""
        return StageStep(self.stages[position], fitted, position, training, self.names[position])

    def anew(self, fitted: Mapping[int, Fitted], gathered: Collection[int]) -> Plan:
        """Return the plan for the stages that are left, bound to what those that are fitted give; both by position.

        Of the stages `gathered`, trainers, the statistics are there, and are not asked for again if they stay the same.
        """
        done = {position: (self.stages[position], state) for position, state in fitted.items()}
        known = {position: over.statistics(self.stages[position], self.schemas[position]) for position in gathered}
        return plan(self.given, self.schemas[0], done, known, self.names)

    def trainer(self, position: int) -> Trainer | None:
        """Return the stage at `position` if it learns from rows, once its statistics are finished."""
        return as_trainer(self.stages[position], self.schemas[position])

    @property
    def trainers(self) -> dict[int, Trainer]:
        """The stages that learn from rows, by position."""
        every = {position: self.trainer(position) for position in range(len(self.stages))}
        return {position: trainer for position, trainer in every.items() if trainer is not None}

    @property
    def requests(self) -> list[StatisticRequest]:
        """All statistics that are asked for."""
        return [request for level in self.levels if level.scan is not None for request in level.scan.requests]

    @property
    def scans(self) -> int:
        """How many passes over the data gather statistics."""
        return sum(level.scan is not None for level in self.levels)


def plan(
    stages: Sequence[Stage],
    schema: pa.Schema,
    fitted: Mapping[int, tuple[Stage, Fitted]] = MappingProxyType({}),
    gathered: Mapping[int, Mapping[str, Statistic]] = MappingProxyType({}),
    names: Sequence[str | None] = (),
) -> Plan:
    """Return the plan of fitting `stages`, in order, to data of `schema`.

    Parameters
    ----------
    fitted : mapping of int to (Stage, mapping)
        By position, bound stages that are fitted already, and what they learned. One that is bound otherwise now, as
        other columns come to it, is fitted again.
    gathered : mapping of int to mapping
        By position, the statistics that are there, of stages that are not fitted.
    names : sequence of str or None, optional
        That the user gave to stages.

    Raises
    ------
    SchemaError, ConfigError
        A stage does not fit the columns that come to it, or makes one with a name that Penstock keeps for itself.
    """
    ready, names = Readiness(schema), tuple(names) or (None,) * len(stages)
    bound: list[Stage] = []
    schemas = [schema]
    requests: dict[int, list[StatisticRequest]] = {}
    finishes: dict[int, list[int]] = {}
    trains: dict[int, list[int]] = {}
    for position, stage in enumerate(stages):
        step = _bound(StageStep(stage, None, position, True, names[position]), schemas[-1])
        stage = step.stage
        bound.append(stage)
        known, learned = fitted.get(position, (None, {}))
        if stage == known:
            step = replace(step, fitted=learned)
            ready.note(step, ready.of(step.inputs), schemas[-1])
            schemas.append(_checked_schema(step, schemas[-1]))
            continue
        statistics = _statistics(step, stage, schemas[-1])
        if statistics == gathered.get(position):
            statistics = {}
        level, asked = ready.requests(position, statistics)
        if statistics:
            requests.setdefault(level, []).extend(asked)
            finishes.setdefault(level, []).append(position)
        usable = level + 1 if statistics else 0
        trainer = as_trainer(stage, schemas[-1])
        if trainer is not None:
            usable = max(level, ready.of(trainer.training_columns()))
            trains.setdefault(usable, []).append(position)
            usable += 1
        learns = bool(statistics) or trainer is not None
        ready.note(step, max(usable, ready.of(step.inputs)), schemas[-1], learns=learns)
        schemas.append(_checked_schema(step, schemas[-1]))
    return Plan(tuple(bound), tuple(schemas), _levels(requests, finishes, trains), tuple(stages), names)


def _bound(step: StageStep, schema: pa.Schema) -> StageStep:
    try:
        bound: Any = step.stage.bind(schema)
    except PenstockError as error:
        raise step.blamed(error) from error.__cause__
    if not isinstance(bound, Stage):
        problem = f"bind of {step.label} returned {bound!r}, expected the stage that is bound"
        raise ConfigError(problem, hint="Return self, or super().bind(schema).", stage=step.name or step.label)
    return replace(step, stage=bound)


def _checked_schema(step: StageStep, schema: pa.Schema) -> pa.Schema:
    made, label = step.output_schema(schema), step.label
    check_names(made.names, label, stage=step.name or label)
    return made


def _statistics(step: StageStep, stage: Stage, schema: pa.Schema) -> Mapping[str, Statistic]:
    statistics: Any = over.statistics(stage, schema)
    label = step.label
    if not isinstance(statistics, Mapping):
        problem = f"statistics of {label} returned {statistics!r}, expected a dict of statistics by name"
        raise ConfigError(problem, stage=step.name or label)
    check_statistics(statistics.values(), label)
    return statistics


def _levels(
    requests: Mapping[int, list[StatisticRequest]], finishes: Mapping[int, list[int]], trains: Mapping[int, list[int]]
) -> tuple[Level, ...]:
    last = max([0, *requests, *finishes, *trains])
    return tuple(
        Level(
            Pass.of(requests[level]) if level in requests else None,
            tuple(finishes.get(level, ())),
            tuple(trains.get(level, ())),
        )
        for level in range(last + 1)
    )
