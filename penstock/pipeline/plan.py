"""The plan of a fit: which statistics are gathered in which scan, before anything is read.

A statistic is ready when no stage that makes its columns, or drops rows before it, still has to be fitted. All that are
ready are gathered in one scan, whatever stages they belong to; it is fused here, once, by :class:`Pass`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from penstock.core.errors import ConfigError, PenstockError
from penstock.core.names import check_names
from penstock.frames import ROW
from penstock.pipeline.fills import Fill, fills_after
from penstock.pipeline.fusion import Pass, StatisticRequest
from penstock.stages.base import Fitted, Stage
from penstock.stages.step import StageStep
from penstock.stages.trainer import Trainer, as_trainer
from penstock.stages.vectors import over
from penstock.statistics.base import Statistic, check_statistics
from penstock.statistics.counts import Counts
from penstock.statistics.unfilled import Unfilled, as_fillable


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


class Readiness:
    """From which level on each column, and the set of rows, is as it will be for the stages to come."""

    def __init__(self, schema: pa.Schema) -> None:
        self._columns = dict.fromkeys([*schema.names, ROW], 0)
        self._rows = 0
        self._written: dict[str, int] = {}
        self._cut = 0
        self._fills: dict[str, Fill] = {}

    def of(self, columns: Iterable[str]) -> int:
        """Return from which level on these columns, and the set of rows, are known."""
        return max([self._rows, *(self._columns[name] for name in columns)])

    def requests(self, stage: int, statistics: Mapping[str, Statistic]) -> tuple[int, list[StatisticRequest]]:
        """Return from which level on the statistics of a stage can be gathered, and what is asked for then.

        What waits for nothing but a value that another stage puts in place of nulls is gathered with the nulls, and
        these are counted.
        """
        reads = {name: statistic.reads for name, statistic in statistics.items()}
        if not any(name in self._fills for names in reads.values() for name in names):
            level = max([self._rows, *map(self.of, reads.values())])
            return level, [self._request(stage, name, each, reads[name]) for name, each in statistics.items()]
        level = max(self._of_unfilled(each, reads[name]) for name, each in statistics.items())
        asked = [
            self._request(stage, name, each, reads[name], self._late(reads[name], level))
            for name, each in statistics.items()
        ]
        return level, [*asked, *_counts_of_nulls(stage, asked)]

    def _of_unfilled(self, statistic: Statistic, reads: Iterable[str]) -> int:
        """Return from which level on a statistic can be gathered, with nulls where it can be told of their values."""
        if as_fillable(statistic) is None:
            return self.of(reads)
        levels = (self._fills[name].level if name in self._fills else self._columns[name] for name in reads)
        return max([self._rows, *levels])

    def _late(self, reads: Iterable[str], level: int) -> tuple[tuple[str, Fill], ...]:
        """Return the columns that are gathered with nulls, as these are filled later than at `level`."""
        return tuple((name, self._fills[name]) for name in reads if self._columns[name] > level)

    def _request(
        self,
        stage: int,
        name: str,
        statistic: Statistic,
        reads: Iterable[str],
        fills: tuple[tuple[str, Fill], ...] = (),
    ) -> StatisticRequest:
        fillable = as_fillable(statistic) if fills else None
        wanted = statistic if fillable is None else Unfilled.of(fillable)
        return StatisticRequest(stage, name, wanted, self._earliest(reads), fills)

    def _earliest(self, columns: Iterable[str]) -> int:
        """Return the first position at which these columns have the values, and rows, that they have now."""
        return max([self._cut, *(self._written.get(name, 0) for name in columns)])

    def note(self, step: StageStep, level: int, schema: pa.Schema, *, learns: bool = False) -> None:
        """Take account of what a stage writes, and drops, from `level` on; `schema` is that before it."""
        if self._fills or learns:
            self._fills = fills_after(step, schema, self._fills, self.of(step.inputs) if learns else None)
        for name in step.stage.outputs():
            self._columns[name], self._written[name] = level, step.position + 1
        for name in step.doubtful:
            self._columns[name] = max(self._columns[name], level)
        if not step.keeps_rows:
            self._rows, self._cut = level, step.position + 1


def _counts_of_nulls(stage: int, requests: Iterable[StatisticRequest]) -> list[StatisticRequest]:
    """Return the statistics that count the nulls that other stages fill, where these have been filled."""
    fills = {(fill.position, fill.filled): fill.nulls for request in requests for _, fill in request.fills}
    columns: dict[tuple[int, str], list[str]] = {}
    for (position, filled), name in fills.items():
        columns.setdefault((position, name), []).append(filled)
    return [
        StatisticRequest(stage, name, Counts(tuple(names)), position + 1) for (position, name), names in columns.items()
    ]
