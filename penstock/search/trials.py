"""Trials on folds: every pipeline is fitted on the training rows of each, evaluated on the others, and refitted."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from penstock.core.errors import ConfigError, DataValueError, PenstockError
from penstock.dataset.dataset import Dataset
from penstock.dataset.folds.folds import Folds, Part
from penstock.pipeline.fit import nothing_left
from penstock.pipeline.fusion import Pass
from penstock.pipeline.model import PipelineModel
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.plan import Plan
from penstock.pipeline.training import Training, check_ranks
from penstock.search.joint_scan import JointScan, Key, ScanAnswer
from penstock.search.lanes import Lane, LaneFit, SharedSteps, waiting
from penstock.search.search_result import mean_of
from penstock.search.trainings import are_alone, train_lanes
from penstock.spmd import SpmdOptions
from penstock.stages.base import Fitted
from penstock.stages.capabilities import DatasetStage
from penstock.stages.evaluation.base import Evaluators
from penstock.stages.evaluation.result import Evaluation
from penstock.stages.evaluation.shared_scan import named_evaluators
from penstock.stages.evaluation.views import AllRows, Asked, Results
from penstock.stages.step import capability

Watchers = Mapping[int, Sequence[Fitted]]
"""Of the stages, by position, that watch rows to validate with, what each learned on every fold."""


@dataclass
class FoldScores:
    """What became of one trial.

    Attributes
    ----------
    evaluations : list of Evaluation
        By fold; none where it failed.
    train_seconds : float
        What trainings took that were its own; scans, and trainings that equal those of another trial, are shared.
    error : Exception or None
        Why it failed, on the first fold where it did.
    watchers : mapping of int to sequence of mapping
    models : list of PipelineModel
        By fold.
    training : list of Evaluation
        By fold, on the rows that were trained on, where that was asked for.
    """

    evaluations: list[Evaluation] = field(default_factory=list)
    train_seconds: float = 0.0
    error: Exception | None = None
    watchers: Watchers = field(default_factory=dict)
    models: list[PipelineModel] = field(default_factory=list)
    training: list[Evaluation] = field(default_factory=list)

    def beside(self, other: FoldScores) -> FoldScores:
        """Return what became of the trial on these folds and on others."""
        watchers = {
            position: [*self.watchers.get(position, ()), *other.watchers.get(position, ())]
            for position in {**self.watchers, **other.watchers}
        }
        return FoldScores(
            [*self.evaluations, *other.evaluations], self.train_seconds + other.train_seconds,
            self.error or other.error, watchers, [*self.models, *other.models],
        )  # fmt: skip

    def mean(self, metric: str) -> float | None:
        """Return the mean of a metric over the folds; None where one of them has none."""
        return mean_of([evaluation.get(metric) for evaluation in self.evaluations])


def run_trials(
    pipelines: Mapping[int, Pipeline],
    folds: Folds,
    evaluators: Evaluators,
    options: SpmdOptions | None = None,
    parallelism: int | None = None,
    *,
    on_training: bool = False,
    refit: bool = False,
) -> dict[int, FoldScores]:
    """Fit pipelines, by the number of their trial, on all folds side by side, and evaluate them if there is by what.

    A trial that fails keeps none of the others from going on. With `on_training` they are also evaluated on the rows
    that they were trained on; with `refit` one of them is to be fitted on all rows afterwards.

    Raises
    ------
    SchemaError, ConfigError
        Before anything is read: no pipeline fits the columns, none makes what an evaluator needs, or ranks are refused,
        see `check_ranks`.
    """
    options = options or SpmdOptions()
    plans, refused = plan_trials(pipelines, folds.dataset, evaluators, options, parallelism, refit=refit)
    if refused and not plans:
        raise next(iter(refused.values()))
    lanes = start_lanes(plans, folds, options)
    fit_lanes(lanes, folds.dealt, parallelism)
    evaluations = evaluate_lanes(lanes, folds.dealt, evaluators) if evaluators else {}
    of_training = evaluate_lanes(lanes, folds.dealt, evaluators, "train") if on_training else {}
    scores = {number: FoldScores(error=refused.get(number)) for number in pipelines}
    for number in plans:
        of_folds = [lane for lane in lanes if lane.trial == number]
        scores[number] = _fold_scores(of_folds, evaluations, of_training)
    return scores


def _fold_scores(lanes: Sequence[Lane], evaluations: LaneScores, training: LaneScores) -> FoldScores:
    """Return what became of a trial, from its folds."""
    seconds = sum(lane.train_seconds for lane in lanes)
    error = next((lane.error for lane in lanes if lane.error is not None), None)
    if error is not None:
        return FoldScores(train_seconds=seconds, error=error)
    keys = [(lane.trial, lane.fold) for lane in lanes]
    of_folds, on_training = ([each[key] for key in keys if key in each] for each in (evaluations, training))
    return FoldScores(of_folds, seconds, None, _watched(lanes), [lane.model() for lane in lanes], on_training)


def plan_trials(
    pipelines: Mapping[int, Pipeline],
    dataset: Dataset,
    evaluators: Evaluators,
    options: SpmdOptions,
    parallelism: int | None,
    *,
    refit: bool,
) -> tuple[dict[int, Plan], dict[int, PenstockError]]:
    """Return the plans by trial, and why there are none of others."""
    plans: dict[int, Plan] = {}
    refused: dict[int, PenstockError] = {}
    members = named_evaluators(evaluators).values() if evaluators else ()
    for number, pipeline in pipelines.items():
        try:
            plans[number] = pipeline.plan(dataset)
            _check_partitioned(plans[number])
            check_trainings(plans[number], dataset, options, parallelism, refit=refit)
            for evaluator in members:
                evaluator.bind(plans[number].schemas[-1])
        except PenstockError as error:
            plans.pop(number, None)
            refused[number] = error
    return plans, refused


def check_trainings(
    plan: Plan, dataset: Dataset, options: SpmdOptions, parallelism: int | None = None, *, refit: bool = False
) -> None:
    """Refuse ranks as `check_ranks` does, unless every training runs as one rank among others."""
    if refit or not are_alone(plan, dataset, options, parallelism):
        check_ranks(plan.trainers.values(), dataset.engine, options)


def _check_partitioned(plan: Plan) -> None:
    """Raise ConfigError for a stage that does not score the partitions in which a search has its rows."""
    for stage in plan.stages:
        if capability(stage, DatasetStage) is not None:
            raise ConfigError(
                f"{stage.title} scores whole datasets, and a search scores the rows of folds, partition by partition",
                hint="Tune it by Spark ML: SparkMLEstimator(CrossValidator(estimator=..., ...)).",
                stage=stage.title,
            )


def _watched(lanes: Sequence[Lane]) -> Watchers:
    """Return what the trainers of one trial learned that watch rows to validate with."""
    positions = watching(lanes[0].fit.plan)
    return {position: [lane.fit.fitted[position] or {} for lane in lanes] for position in positions}


def start_lanes(plans: Mapping[int, Plan], folds: Folds, options: SpmdOptions) -> list[Lane]:
    """Return the fits of all trials on all folds, each waiting for its first scan; nothing is read."""
    shared, every_fold, lanes = SharedSteps(), list(folds), list[Lane]()
    for number, plan in plans.items():
        validate = bool(watching(plan))
        for fold, split in zip(every_fold, folds.splits, strict=True):
            lanes.append(Lane(number, fold, split, LaneFit(plan, fold, shared, options, validate=validate)))
    return lanes


def watching(plan: Plan) -> list[int]:
    """Return the positions of trainers that watch rows that they are not trained on."""
    return [position for position, trainer in plan.trainers.items() if trainer.watches_validation]


def refit(pipeline: Pipeline, watchers: Watchers, dataset: Dataset, options: SpmdOptions | None) -> PipelineModel:
    """Return the model of all rows; trainers that watched rows on folds train as long as they did there on average."""
    stages = {
        pipeline.names[position]: pipeline.stages[position].without_validation(fitted)  # type: ignore[attr-defined]
        for position, fitted in watchers.items()
    }
    return pipeline.with_params(stages).fit(dataset, options=options)


def fit_lanes(lanes: Sequence[Lane], dealt: Dataset, parallelism: int | None = None) -> int:
    """Fit all lanes, or find out why they cannot be; return how many scans that took.

    `parallelism` is how many trainings run at the same time, see `train_lanes`.
    Scans come first wherever a lane waits for one, so that as many as can share it.
    """
    scans = 0
    while True:
        if scanning := waiting(lanes, Pass):
            scans += 1
            _gather(scanning, dealt, f"scan {scans} of {len({lane.trial for lane in lanes})} trial(s)")
        elif training := waiting(lanes, Training):
            train_lanes(training, parallelism)
        else:
            return scans


def _gather(lanes: Sequence[Lane], dealt: Dataset, label: str) -> None:
    scan = JointScan(dealt)
    asked: list[tuple[Lane, dict[tuple[int, str], Key]]] = []
    for lane in lanes:
        try:
            asked.append((lane, _asked(lane, scan)))
        except PenstockError as error:
            lane.fail(error)
    answers = scan.run(label)
    for lane, keys in asked:
        _answer(lane, {name: answers[key] for name, key in keys.items()})


def _asked(lane: Lane, scan: JointScan) -> dict[tuple[int, str], Key]:
    """Ask for the statistics that a lane waits for; return by stage and name what to look up."""
    return {
        (request.stage, request.name): scan.ask(lane.split.train, lane.ahead(request.position), request.statistic)
        for request in cast(Pass, lane.work).requests
    }


def _answer(lane: Lane, answers: dict[tuple[int, str], ScanAnswer]) -> None:
    try:
        lane.answer(_results(lane, answers))
    except PenstockError as error:
        lane.fail(error)


def _results(lane: Lane, answers: dict[tuple[int, str], ScanAnswer]) -> dict[int, dict[str, Any]]:
    """Return the results that a lane waits for, by stage and name; raise the error of any, as of that stage."""
    requests = cast(Pass, lane.work).requests
    results: dict[int, dict[str, Any]] = {}
    for request in requests:
        answer = answers[request.stage, request.name]
        if answer.error is None and not answer.log.kept:
            raise nothing_left(answer.log)
        try:
            results.setdefault(request.stage, {})[request.name] = answer.value()
        except PenstockError as error:
            raise lane.fit.blamed(lane.fit.located(error, request.position), request.stage) from error
    return results


LaneScores = dict[tuple[int, int], Evaluation]
"""The metrics of lanes by trial and fold."""


@dataclass
class _Validation:
    """The evaluation of one lane: what it waits for, and in the end its metrics."""

    lane: Lane
    course: Generator[Asked, Results, Evaluation]
    part: Part
    asked: Asked | None = None
    keys: dict[str, dict[str, Key]] = field(default_factory=dict)
    evaluation: Evaluation | None = None

    def answer(self, results: Results | None) -> None:
        """Go on with the results of what was asked for."""
        try:
            self.asked = self.course.send(results)  # type: ignore[arg-type]
        except StopIteration as end:
            self.asked, self.evaluation = None, end.value

    def ask(self, scan: JointScan) -> None:
        """Ask a scan for what is waited for."""
        steps, blocks = self.lane.steps(), self.lane.split.of(self.part)
        self.keys = {
            member: {name: scan.ask(blocks, steps, statistic) for name, statistic in of_one.items()}
            for member, of_one in (self.asked or {}).items()
        }

    def take(self, answers: Mapping[Key, ScanAnswer]) -> None:
        """Go on with the answers of a scan."""
        self.answer({
            member: {name: self._value(answers[key]) for name, key in of_one.items()}
            for member, of_one in self.keys.items()
        })  # fmt: skip

    def _value(self, answer: ScanAnswer) -> Any:
        """Return a result; the error about a value with its file and row."""
        error = answer.error
        if isinstance(error, DataValueError) and error.predicate is not None and error.path is None:
            rows = self.lane.scored_rows(self.part)
            place = rows.first_where(error.predicate, [error.column] if error.column else rows.columns)
            raise error.at(**dict(zip(("path", "row"), place, strict=True)) if place else {})
        return answer.value()


def evaluate_lanes(
    lanes: Sequence[Lane], dealt: Dataset, evaluators: Evaluators, part: Part = "validation"
) -> LaneScores:
    """Return the metrics of each fitted lane by trial and fold; a lane that cannot be evaluated has an error then."""
    validations = [_Validation(lane, _course(lane, evaluators), part) for lane in lanes if lane.is_fitted]
    pending = [each for each in validations if _survives(each.lane, partial(each.answer, None))]
    while pending:
        scan = JointScan(dealt)
        asking = [each for each in pending if _survives(each.lane, partial(each.ask, scan))]
        answers = scan.run("evaluate")
        answered = [each for each in asking if _survives(each.lane, partial(each.take, answers))]
        pending = [each for each in answered if each.evaluation is None]
    return {(each.lane.trial, each.lane.fold): each.evaluation for each in validations if each.evaluation is not None}


def _course(lane: Lane, evaluators: Evaluators) -> Generator[Asked, Results, Evaluation]:
    """Yield what the evaluators ask for, and return what they make of it."""
    schema = lane.scored_schema()
    members = {name: evaluator.bind(schema) for name, evaluator in named_evaluators(evaluators).items()}
    view = AllRows(members, schema, isinstance(evaluators, Mapping))
    first = yield view.statistics()
    follow_ups = view.follow_ups(first)
    second = (yield follow_ups) if any(follow_ups.values()) else {}
    return view.report({(): {member: {**found, **second.get(member, {})} for member, found in first.items()}})


def _survives(lane: Lane, act: Callable[[], None]) -> bool:
    """Return whether `act` does not fail; note in the lane why it does."""
    try:
        act()
    except PenstockError as error:
        lane.error = error
    return lane.error is None
