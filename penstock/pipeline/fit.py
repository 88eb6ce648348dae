"""A fit under way: level by level, the statistics of all stages that are ready in one scan, then trainers."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, cast

from penstock.core.errors import ConfigError, DataValueError, EmptyInputError, PenstockError, SchemaError
from penstock.core.redaction import presentable
from penstock.core.schemas import shorten
from penstock.dataset.dataset import Dataset
from penstock.dataset.steps import RowLog, Step
from penstock.pipeline.cardinality import ColumnCount, CountKey, CountOptions, plan_counts
from penstock.pipeline.fills import copies, unfilled_state
from penstock.pipeline.fusion import Pass, StatisticRequest
from penstock.pipeline.plan import Level, Plan
from penstock.pipeline.refitting.kept_statistics import StatisticsKeeper
from penstock.pipeline.refitting.learners import learn_on
from penstock.pipeline.reuse import held_between_passes
from penstock.pipeline.training import TrainerBody, Training, check_ranks
from penstock.spmd import SpmdOptions
from penstock.stages.base import Fitted, Stage
from penstock.stages.step import StageStep
from penstock.stages.trainer import Trainer
from penstock.stages.vectors import over
from penstock.statistics.base import State
from penstock.statistics.distinct.footprint import Found
from penstock.statistics.distinct.partitionable import as_partitionable


@dataclass
class FitReport:
    """What a fit did: scans of the data, rows read, dropped and quarantined, seconds by part, notes of stages.

    ``counts`` has for each column whose values were counted what was expected, the way, and how many there were.
    """

    engine: str
    device: str
    device_reason: str
    scans: int = 0
    rows: RowLog = field(default_factory=RowLog)
    seconds: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    counts: list[ColumnCount] = field(default_factory=list)


class Fit:
    """One fit under way."""

    def __init__(
        self,
        plan: Plan,
        dataset: Dataset,
        validation: Dataset | None,
        options: SpmdOptions,
        counting: CountOptions,
        *,
        keeper: StatisticsKeeper | None = None,
        learned: Mapping[int, Fitted] = MappingProxyType({}),
        before: Mapping[int, Fitted] = MappingProxyType({}),
    ) -> None:
        self.plan, self.dataset, self.validation, self.options = plan, dataset, validation, options
        self.counting, self.scans, self.keeper, self.before = counting, plan.scans, keeper, before
        self.fitted: list[Fitted | None] = [learned.get(position) for position in range(len(plan.stages))]
        self.done: set[int] = set(learned)
        self.frozen = frozenset(learned)
        self.results: dict[int, Mapping[str, Any]] = {}
        self._computed: dict[tuple[int, bool], tuple[Fitted | None, Step]] = {}
        self._finish_others()
        device = dataset.engine.device
        self.report = FitReport(dataset.engine.name, str(device), device.reason)

    def run(self) -> tuple[Fitted, ...]:
        """Return what each stage learned."""
        trainers = self.plan.trainers.items()
        check_ranks([each for at, each in trainers if at not in self.done], self.dataset.engine, self.options)
        course = self.course()
        with held_between_passes(self.plan, self.dataset) as self.dataset:
            try:
                work = next(course)
                while True:
                    work = course.send(self._gather(work) if isinstance(work, Pass) else self._train(work))
            except StopIteration as end:
                return end.value

    def course(self) -> Generator[Pass | Training, Any, tuple[Fitted, ...]]:
        """Yield what has to be done with rows, and take the answers; return what each stage learned.

        Of a pass the answer is the results of its statistics, by stage and name; of a training, what was learned.
        """
        levels = deque(self.plan.levels)
        while levels:
            level = levels.popleft()
            if level.scan is not None:
                self.results |= yield level.scan
            for position in level.finishes:
                self._finish(position)
            for position in level.trains:
                self.fitted[position] = self._plain("train", (yield self._training(position)), position)
            learned = self._learned(level)
            self.done |= learned
            self._note(learned)
            if any(self._surprises(position) for position in learned):
                levels = self._planned_anew()
        return tuple(self.plan.step(position, state).pruned_state for position, state in enumerate(self.fitted))

    def _learned(self, level: Level) -> set[int]:
        """Return the stages that have learned all that they will, once a level is done; forget their statistics."""
        finished = set(level.finishes).difference(*(other.trains for other in self.plan.levels))
        learned = finished | set(level.trains)
        for position in learned & set(self.results):
            del self.results[position]
        return learned

    def _note(self, learned: set[int]) -> None:
        for position in sorted(learned):
            stage, fitted = self.plan.stages[position], self.fitted[position]
            notes = [] if fitted is None else over.notes(stage, fitted)
            if position in self.before and self.plan.trainer(position) is not None:
                notes = [*notes, f"goes on from what it had learned, on {self.report.rows.kept} new rows alone"]
            self.report.notes += [presentable(f"{self.plan.step(position).label}: {note}") for note in notes]

    def _surprises(self, position: int) -> bool:
        """Return whether a stage gives other columns than were planned with, now that it is fitted."""
        before, after = self.plan.schemas[position : position + 2]
        return bool(self.plan.step(position, self.fitted[position]).output_schema(before) != after)

    def _planned_anew(self) -> deque[Level]:
        """Bind the stages that are left to the columns that there are now, and return their levels."""
        fitted = {position: self.fitted[position] or {} for position in self.done}
        before = self.plan.stages
        try:
            self.plan = self.plan.anew(fitted, self.results)
        except (SchemaError, ConfigError) as error:
            raise self._explained(error) from error
        self.done = {position for position in self.done if self.plan.stages[position] == before[position]}
        self._finish_others()
        return deque(self.plan.levels)

    def _finish_others(self) -> None:
        """Finish the stages that wait for no statistic: those without any, and trainers whose statistics are there."""
        waiting = {position for level in self.plan.levels for position in level.finishes}
        for position in range(len(self.fitted)):
            if position in waiting:
                self.fitted[position] = None
            elif position not in self.done:
                self._finish(position)

    def _explained(self, error: PenstockError) -> PenstockError:
        """Return the error of a stage that cannot be bound anew, with who left out the columns that it misses."""
        left = {
            name: (self.plan.step(position).label, reason)
            for position in sorted(self.done)
            for name, reason in self.plan.step(position, self.fitted[position]).left_out.items()
        }
        if left and error.column is None:
            hint = f"Left out, by the stages before, were: {shorten(list(left))}."
            return type(error)(error.message, hint=hint, **error.place)
        if error.column not in left:
            return error
        title, reason = left[error.column]
        return SchemaError(
            f"column {error.column!r}, which {error.stage} names, was left out by {title}: {reason}",
            hint=f"Take what is left with a selector, numeric() say, or take {error.column!r} from {title}.",
            column=error.column,
            stage=error.stage,
        )

    def _up_to(self, dataset: Dataset, position: int, *, training: bool = True) -> Dataset:
        for place in range(position):
            dataset = dataset.with_step(self._step_on(dataset, place, training=training))
        return dataset

    def _step_on(self, dataset: Dataset, position: int, *, training: bool) -> Step:
        """Return a stage as a step of these rows; what an engine computes for all of them is computed once a fit."""
        step, key = self.step(position, training=training), (position, training)
        learned, computed = self._computed.get(key, (None, step))
        if learned is None or learned is not step.fitted:
            computed = step.on(dataset)
        if computed is not step:
            self._computed[key] = step.fitted, computed
        return computed

    def step(self, position: int, *, training: bool = True) -> StageStep:
        """Return a stage that is fitted as a step; to one that is frozen, no row is one that it has learned from."""
        training = training and position not in self.frozen
        fitted = self.fitted[position]
        if fitted is None:
            fitted = unfilled_state(self.plan.stages[position])
        return self.plan.step(position, fitted, training=training)

    def learn(self, stage: Stage, results: Mapping[str, Any]) -> Fitted:
        """Return what a stage learns from its statistics."""
        return over.finish(stage, results)

    def _gather(self, scan: Pass) -> dict[int, dict[str, Any]]:
        began = time.perf_counter()
        self.report.scans += 1
        ahead = self._up_to(self.dataset, max(request.position for request in scan.requests))
        probes = scan.probes(len(self.dataset.steps), whole=self.keeper is not None)
        counts = plan_counts(ahead, probes, self.counting)
        probes = counts.applied(probes) if counts.columns else probes
        states, log = ahead.probe(probes, label=f"scan {self.report.scans} of {self.scans}")
        self.report.rows = log
        self.report.seconds[f"scan {self.report.scans}"] = time.perf_counter() - began
        warm = any(self.plan.trainer(position) for position in self.before)
        if not log.kept and (warm or self.keeper is None or not self.keeper.before):
            raise nothing_left(log)
        results: dict[int, dict[str, Any]] = {}
        for request, state in scan.answers(states):
            if self.keeper is not None:
                state = self.keeper.merged(request, state)
            results.setdefault(request.stage, {})[request.name] = self._result(request, state)
        if counts.columns:
            self.report.counts += counts.counted(self._counted(scan, results))
        return results

    def _counted(self, scan: Pass, results: Mapping[int, Mapping[str, Any]]) -> dict[CountKey, Found]:
        """Return how many values were found."""
        offset = len(self.dataset.steps)
        return {
            (request.position + offset, name, statistic.footprints()[name].most): found
            for request in scan.requests
            for statistic in [as_partitionable(request.statistic)]
            for name, found in statistic.cardinalities(results[request.stage][request.name]).items()
        }

    def _result(self, request: StatisticRequest, state: State) -> Any:
        try:
            return request.statistic.finish(state)
        except PenstockError as error:
            raise self.blamed(self.located(error, request.position), request.stage) from error

    def _finish(self, position: int) -> None:
        try:
            stage, results = self.plan.stages[position], self._filled(position)
            before = self.before.get(position)
            learned = self.learn(stage, results) if before is None else learn_on(stage, results, before)
        except PenstockError as error:
            raise self.blamed(self.located(error, position), position) from error
        self.fitted[position] = self._plain("finish", learned, position)

    def _filled(self, position: int) -> Mapping[str, Any]:
        """Return the results of a stage, with the values in them that stages before it put in place of null."""
        results = dict(self.results.get(position, {}))
        waiting = [request for request in self.plan.requests if request.stage == position and request.fills]
        names = {fill.nulls for request in waiting for _, fill in request.fills} & results.keys()
        counts = {name: results.pop(name) for name in names}
        for request in waiting if counts else ():
            values = {
                name: fill.value(self.plan.stages, self.plan.schemas, self.fitted) for name, fill in request.fills
            }
            results[request.name] = results[request.name].filled(copies(request.fills, counts, values))
        self.results[position] = results
        return results

    def _plain(self, method: str, learned: Any, position: int) -> Fitted:
        """Return what a stage learned; a `finish` or `train` without a return is refused."""
        if isinstance(learned, Mapping):
            return learned
        label = self.plan.step(position).label
        problem = f"{method} of {label} returned {type(learned).__name__}, expected a dict of what was learned"
        raise ConfigError(problem, hint="Return {} where there is nothing to learn.", stage=label)

    def blamed(self, error: PenstockError, position: int) -> PenstockError:
        """Return an error with the name of the stage that it is of."""
        step = self.plan.step(position)
        return step.blamed(error).at(stage=step.label)

    def located(self, error: PenstockError, position: int) -> PenstockError:
        """Find the first file and row of a value that makes fitting meaningless; one more scan, only then."""
        if not isinstance(error, DataValueError) or error.predicate is None or error.path is not None:
            return error
        column = error.column
        ready = self._up_to(self.dataset, position)
        found = ready.first_where(error.predicate, [column] if column else ready.columns)
        return error if found is None else error.at(path=found[0], row=found[1])

    def _training(self, position: int) -> Training:
        """Return the training of a stage: its body, and the rows it reads."""
        data = {"train": self._up_to(self.dataset, position)}
        if self.validation is not None:
            data["validation"] = self._up_to(self.validation, position, training=False)
        body = TrainerBody(cast(Trainer, self.plan.stages[position]), self.fitted[position] or {})
        return Training(position, self.plan.step(position).label, body, data, self.options)

    def _train(self, training: Training) -> Fitted:
        began = time.perf_counter()
        try:
            fitted: Fitted = training.run(training.body, self.dataset.engine)
        except PenstockError as error:
            raise self.blamed(error, training.position) from error
        part = training.label
        self.report.seconds[part] = self.report.seconds.get(part, 0.0) + time.perf_counter() - began
        return fitted


def nothing_left(log: RowLog) -> EmptyInputError:
    """Return the error of a fit without rows."""
    gone = ", ".join(f"{rows} by {reason!r}" for reason, rows in {**log.dropped, **log.quarantined}.items())
    problem = f"no row is left of {log.read} read, so there is nothing to learn from"
    return EmptyInputError(f"{problem}; dropped: {gone}" if gone else problem, rows=log.read)
