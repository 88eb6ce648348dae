"""The plan of a fit: which statistics are gathered in which scan, before anything is read.

A statistic is ready when no stage that makes its columns, or drops rows before it, still has to be fitted. All that are
ready are gathered in one scan, whatever stages they belong to. Equal ones are gathered once, and those of one kind over
different columns as one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import pyarrow as pa

from penstock.core.errors import PenstockError
from penstock.core.names import check_names
from penstock.dataset.tasks import Probe
from penstock.frames import ROW
from penstock.pipeline.fusion import Fusion
from penstock.stages.base import Fitted, Stage
from penstock.stages.step import StageStep
from penstock.statistics.base import State, Statistic
from penstock.statistics.distinct.partitionable import Partitionable
from penstock.statistics.distinct.top_k import TopK


@dataclass(frozen=True)
class Request:
    """A statistic that a stage asks for, and the earliest place along the pipeline where its columns are the same."""

    stage: int
    name: str
    statistic: Statistic
    position: int


@dataclass(frozen=True)
class Scan:
    """One pass over the data."""

    requests: tuple[Request, ...]

    def probes(self) -> list[Probe]:
        """Return what to gather where."""
        places = sorted({request.position for request in self.requests})
        return [Probe(place, self._fusion(place).gathered, self._kept(place)) for place in places]

    def _fusion(self, place: int) -> Fusion:
        return Fusion.of(request.statistic for request in self.requests if request.position == place)

    def _kept(self, place: int) -> dict[str, TopK]:
        """Return by column which counted values any of the requests asks for, unless it is all."""
        kept: dict[str, TopK] = {}
        for request in self.requests:
            if request.position == place and isinstance(request.statistic, Partitionable):
                for name, keep in request.statistic.retention().items():
                    kept[name] = kept[name] | keep if name in kept else keep
        return {name: keep for name, keep in kept.items() if not keep.all}

    def answers(self, states: Sequence[Sequence[State]]) -> list[tuple[Request, State]]:
        """Return each request with its state, which may be fused over more columns, from the states of `probes`."""
        held = {probe.position: of_probe for probe, of_probe in zip(self.probes(), states, strict=True)}
        fusions = {place: self._fusion(place) for place in held}
        return [
            (request, fusions[request.position].state(request.statistic, held[request.position]))
            for request in self.requests
        ]

    def users(self, probe: Probe, statistic: Statistic) -> list[int]:
        """Return the stages that one of the statistics of `probes` is gathered for."""
        fusion = self._fusion(probe.position)
        here = [request for request in self.requests if request.position == probe.position]
        return sorted({request.stage for request in here if fusion.serves(statistic, request.statistic)})


@dataclass(frozen=True)
class Level:
    """A scan, if any statistic is ready, the stages that are finished from it, and the trainers that can run then."""

    scan: Scan | None
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
        known = {position: self.stages[position].statistics(self.schemas[position]) for position in gathered}
        return plan(self.given, self.schemas[0], done, known, self.names)

    def trains(self, position: int) -> bool:
        """Return whether the stage at `position` learns from rows, once its statistics are finished."""
        return self.stages[position].trains(self.schemas[position])

    @property
    def scans(self) -> int:
        """How many passes over the data gather statistics."""
        return sum(level.scan is not None for level in self.levels)


class _Readiness:
    """From which level on each column, and the set of rows, is as it will be for the stages to come."""

    def __init__(self, schema: pa.Schema) -> None:
        self.columns = dict.fromkeys([*schema.names, ROW], 0)
        self.rows = 0
        self.written: dict[str, int] = {}
        self.cut = 0

    def of(self, columns: Iterable[str]) -> int:
        return max([self.rows, *(self.columns[name] for name in columns)])

    def earliest(self, columns: Iterable[str]) -> int:
        """Return the first position at which these columns have the values, and rows, that they have now."""
        return max([self.cut, *(self.written.get(name, 0) for name in columns)])

    def note(self, position: int, stage: Stage, level: int) -> None:
        """Take account of what the stage at `position` writes, and drops, from `level` on."""
        for name in stage.outputs():
            self.columns[name], self.written[name] = level, position + 1
        for name in stage.doubtful():
            self.columns[name] = max(self.columns[name], level)
        if not stage.tags.keeps_rows:
            self.rows, self.cut = level, position + 1


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
    ready, names = _Readiness(schema), tuple(names) or (None,) * len(stages)
    bound: list[Stage] = []
    schemas = [schema]
    requests: dict[int, list[Request]] = {}
    finishes: dict[int, list[int]] = {}
    trains: dict[int, list[int]] = {}
    for position, stage in enumerate(stages):
        step = StageStep(stage, None, position, name=names[position])
        stage = _bound(step, schemas[-1])
        bound.append(stage)
        known, learned = fitted.get(position, (None, {}))
        if stage == known:
            ready.note(position, stage, ready.of(stage.training_inputs()))
            schemas.append(_checked(step, stage.learned_schema(schemas[-1], learned)))
            continue
        statistics = stage.statistics(schemas[-1])
        if statistics == gathered.get(position):
            statistics = {}
        level = ready.of(name for statistic in statistics.values() for name in statistic.reads)
        for name, statistic in statistics.items():
            requests.setdefault(level, []).append(Request(position, name, statistic, ready.earliest(statistic.reads)))
        if statistics:
            finishes.setdefault(level, []).append(position)
        usable = level + 1 if statistics else 0
        if stage.trains(schemas[-1]):
            usable = max(level, ready.of(stage.training_columns()))
            trains.setdefault(usable, []).append(position)
            usable += 1
        ready.note(position, stage, max(usable, ready.of(stage.training_inputs())))
        schemas.append(_checked(step, stage.output_schema(schemas[-1])))
    return Plan(tuple(bound), tuple(schemas), _levels(requests, finishes, trains), tuple(stages), names)


def _bound(step: StageStep, schema: pa.Schema) -> Stage:
    try:
        return step.stage.bind(schema)
    except PenstockError as error:
        raise step.blamed(error) from error.__cause__


def _checked(step: StageStep, schema: pa.Schema) -> pa.Schema:
    check_names(schema.names, step.label, stage=step.name or step.label)
    return schema


def _levels(
    requests: Mapping[int, list[Request]], finishes: Mapping[int, list[int]], trains: Mapping[int, list[int]]
) -> tuple[Level, ...]:
    last = max([0, *requests, *finishes, *trains])
    return tuple(
        Level(
            Scan(tuple(requests[level])) if level in requests else None,
            tuple(finishes.get(level, ())),
            tuple(trains.get(level, ())),
        )
        for level in range(last + 1)
    )
