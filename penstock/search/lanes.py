"""Fits of a pipeline on the training rows of one fold, waiting for work shared by many.

Shared are scans and trainings; equal stages that learn from the same are fitted once, and are one step of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from penstock.core.errors import PenstockError, UserCodeError
from penstock.dataset.dataset import Dataset
from penstock.dataset.folds.folds import BlockSplit, Fold, Part
from penstock.dataset.steps import output_schema
from penstock.dataset.task_errors import described
from penstock.pipeline.cardinality import CountOptions
from penstock.pipeline.fit import Fit
from penstock.pipeline.fusion import Pass
from penstock.pipeline.model import PipelineModel
from penstock.pipeline.plan import Plan
from penstock.pipeline.training import Training
from penstock.spmd import SpmdOptions
from penstock.stages.base import Fitted, Stage
from penstock.stages.step import StageStep
from penstock.stages.vectors import over


class SharedSteps:
    """Remembers what stages learned, and the steps that they are, for all trials and folds of a search.

    What was learned goes by the identity of the results that it was learned from: those of a scan are there once for
    all that ask for them. Whatever is remembered is kept alive, so that no identity is given away twice.
    """

    def __init__(self) -> None:
        self._learned: dict[Any, list[tuple[Stage, Mapping[str, Any], Fitted | PenstockError]]] = {}
        self._steps: dict[Any, list[StageStep]] = {}
        self._pruned: dict[int, StageStep] = {}
        self._located: dict[int, tuple[PenstockError, PenstockError]] = {}

    def learn(self, stage: Stage, results: Mapping[str, Any]) -> Fitted:
        """Return what a stage learns from its statistics, learned once."""
        key = type(stage), tuple(sorted((name, id(result)) for name, result in results.items()))
        alike = self._learned.setdefault(key, [])
        learned = next((learned for other, _, learned in alike if other == stage), None)
        if learned is None:
            learned = _learned(stage, results)
            alike.append((stage, dict(results), learned))
        if isinstance(learned, PenstockError):
            raise learned
        return learned

    def located(self, error: PenstockError, locate: Callable[[PenstockError], PenstockError]) -> PenstockError:
        """Return an error with the place that `locate` finds by a scan, looked for once."""
        if id(error) not in self._located:
            self._located[id(error)] = error, locate(error)
        return self._located[id(error)][1]

    def step(self, step: StageStep) -> StageStep:
        """Return the one step that is used in place of all that do the same."""
        alike = self._steps.setdefault((id(step.fitted), step.training, step.name), [])
        for other in alike:
            if other.stage == step.stage:
                return other
        alike.append(step)
        return step

    def scoring_step(self, step: StageStep) -> StageStep:
        """Return the one step that scores as `step` does, with what a model keeps of what was learned."""
        step = self.step(step)
        if id(step) not in self._pruned:
            self._pruned[id(step)] = replace(step, fitted=step.pruned_state)
        return self._pruned[id(step)]


def _learned(stage: Stage, results: Mapping[str, Any]) -> Fitted | PenstockError:
    try:
        return over.finish(stage, results)
    except PenstockError as error:
        return error


class LaneFit(Fit):
    """A fit whose stages are fitted once for all lanes in which they learn from the same."""

    def __init__(self, plan: Plan, fold: Fold, shared: SharedSteps, options: SpmdOptions, *, validate: bool) -> None:
        self._shared = shared
        super().__init__(plan, fold.train, fold.validation if validate else None, options, CountOptions())

    def learn(self, stage: Stage, results: Mapping[str, Any]) -> Fitted:
        return self._shared.learn(stage, results)

    def located(self, error: PenstockError, position: int) -> PenstockError:
        return self._shared.located(error, lambda error: super(LaneFit, self).located(error, position))

    def step(self, position: int, *, training: bool = True) -> StageStep:
        return self._shared.step(super().step(position, training=training))

    def scoring_step(self, position: int) -> StageStep:
        """Return a stage that is fitted as a step of rows to score."""
        return self._shared.scoring_step(super().step(position, training=False))


class Lane:
    """A trial on a fold.

    Attributes
    ----------
    trial : int
        Its number.
    fold : int
        Its number.
    split : BlockSplit
        The blocks that are trained on, and validated with.
    work : Pass, Training or None
        What the fit waits for; None once it has ended.
    error : Exception or None
        Why it failed.
    train_seconds : float
        What its own trainings took.
    """

    def __init__(self, trial: int, fold: Fold, split: BlockSplit, fit: LaneFit) -> None:
        self.trial, self.fold, self.split, self.fit = trial, fold.index, split, fit
        self._fold = fold
        self.error: Exception | None = None
        self.train_seconds = 0.0
        self._course = fit.course()
        self._fitted: tuple[Fitted, ...] | None = None
        self.work: Pass | Training | None = None
        self.answer(None)

    def answer(self, answer: Any) -> None:
        """Go on with an answer, to what is waited for next."""
        self._advance(lambda: self._course.send(answer))

    def fail(self, error: Exception) -> None:
        """Go on with an error in place of an answer."""
        self._advance(lambda: self._course.throw(error))

    def _advance(self, go_on: Any) -> None:
        self.work = None
        try:
            self.work = go_on()
        except StopIteration as end:
            self._fitted = end.value
        except PenstockError as error:
            self.error = error
        except Exception as error:  # of a stage of one's own: its trial fails, the others go on
            self.error = UserCodeError(f"the fit raised {described(error)}")
            self.error.__cause__ = error

    @property
    def is_fitted(self) -> bool:
        """Whether all stages are fitted."""
        return self._fitted is not None and self.error is None

    def ahead(self, position: int) -> list[StageStep]:
        """Return the stages before `position` as steps of training rows."""
        return [self.fit.step(place) for place in range(position)]

    def steps(self) -> list[StageStep]:
        """Return all stages as steps of rows to score."""
        return [self.fit.scoring_step(place) for place in range(len(self.fit.plan.stages))]

    def model(self) -> PipelineModel:
        """Return the model of this trial and fold."""
        plan = self.fit.plan
        stages = self.steps()
        fitted = tuple(step.fitted or {} for step in stages)
        return PipelineModel(plan.stages, fitted, plan.schemas[0], given_names=plan.names)

    def scored_rows(self, part: Part) -> Dataset:
        """Return the rows that were held out, or trained on, scored."""
        dataset: Dataset = getattr(self._fold, part)
        for step in self.steps():
            dataset = dataset.with_step(step)
        return dataset

    def scored_schema(self) -> pa.Schema:
        """Return the columns of scored rows."""
        return output_schema(self.steps(), self.fit.plan.schemas[0])


def waiting(lanes: Sequence[Lane], kind: type) -> list[Lane]:
    """Return the lanes that wait for a scan, or for a training."""
    return [lane for lane in lanes if isinstance(lane.work, kind)]
