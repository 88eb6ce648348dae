"""Metrics of many fitted lanes on the rows that each was not trained on, or was trained on, from one scan."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from penstock.core.errors import DataValueError, PenstockError
from penstock.dataset.dataset import Dataset
from penstock.dataset.folds.folds import Part
from penstock.search.joint_scan import JointScan, Key, ScanAnswer
from penstock.search.lanes import Lane
from penstock.stages.evaluation.base import Evaluators
from penstock.stages.evaluation.result import Evaluation
from penstock.stages.evaluation.shared_scan import named_evaluators
from penstock.stages.evaluation.views import AllRows, Asked, Results

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
