"""What rules need of the rows of a dataset, gathered together, and what each says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.core.errors import DataValueError
from penstock.dataset.dataset import Dataset
from penstock.dataset.tasks import Probe
from penstock.pipeline.fusion import Pass, StatisticRequest
from penstock.rules.base import DatasetRule, RuleVerdict
from penstock.rules.limits import show
from penstock.rules.report import RuleOutcome
from penstock.statistics import counts
from penstock.statistics.base import State

Results = dict[str, Any] | DataValueError
"""The results of the statistics of a rule by name, or why it has none."""


@dataclass(frozen=True)
class RuleScan:
    """The statistics of several rules over one dataset: equal ones are gathered once.

    Attributes
    ----------
    dataset : Dataset
        With the columns that rules make for their statistics.
    rules, bound : tuple of DatasetRule
        As they are given, and as they suit the columns.
    needed : Pass
    """

    dataset: Dataset
    rules: tuple[DatasetRule, ...]
    bound: tuple[DatasetRule, ...]
    needed: Pass

    @classmethod
    def of(cls, dataset: Dataset, rules: Sequence[DatasetRule]) -> RuleScan:
        """Return what rules need, whose columns are checked."""
        bound = [rule.bind(dataset) for rule in rules]
        for rule in bound:
            dataset = rule.prepare(dataset)
        requests = [StatisticRequest(-1, "rows", counts.RowCount(), 0)]
        for place, rule in enumerate(bound):
            requests += [StatisticRequest(place, name, each, 0) for name, each in rule.statistics(dataset).items()]
        return cls(dataset, tuple(rules), tuple(bound), Pass.of(requests))

    def probes(self) -> list[Probe]:
        """Return what to gather, after all steps of the dataset."""
        return self.needed.probes(len(self.dataset.steps))

    def outcomes(self, states: Sequence[Sequence[State]]) -> tuple[int, list[RuleOutcome]]:
        """Return the number of rows, and the outcome of each rule, from the states of `probes`."""
        (_, rows), *answers = self.needed.answers(states)
        results: list[Results] = [{} for _ in self.rules]
        for request, state in answers:
            found = results[request.stage]
            if isinstance(found, dict):
                results[request.stage] = _finished(found, request, state)
        verdicts = [self._verdict(rule, found) for rule, found in zip(self.bound, results, strict=True)]
        return rows, [_outcome(rule, each, self.dataset) for rule, each in zip(self.rules, verdicts, strict=True)]

    def _verdict(self, rule: DatasetRule, found: Results) -> RuleVerdict:
        if isinstance(found, DataValueError):
            return RuleVerdict(False, None, found.message)
        return rule.recorded(rule.judge({**found, **rule.others(self.dataset)}))


def _finished(found: dict[str, Any], request: StatisticRequest, state: Any) -> Results:
    try:
        return {**found, request.name: request.statistic.finish(state)}
    except DataValueError as error:
        return error


def _outcome(rule: DatasetRule, verdict: RuleVerdict, dataset: Dataset) -> RuleOutcome:
    path, row = (None, None) if verdict.passed and not verdict.broken else _place(verdict, dataset)
    first = "" if not verdict.first else f" with {show(dict(verdict.first))}"
    first += "" if path is None else f" in {path}, row {row}"
    return RuleOutcome(
        rule.title, rule.reads, rule.severity, verdict.passed, verdict.observed, rule.expected,
        f"{verdict.message}, the first{first}" if first else verdict.message, verdict.broken, path, row,
    )  # fmt: skip


def _place(verdict: RuleVerdict, dataset: Dataset) -> tuple[str | None, int | None]:
    """Return the file of the first row that breaks a rule, and the row in it, if they can be told."""
    if verdict.row is not None:
        return next(
            fragment.locate(verdict.row)
            for fragment in dataset.fragments
            if verdict.row < fragment.start + fragment.rows
        )
    found = None if verdict.predicate is None else dataset.first_where(verdict.predicate, ())
    return found or (None, None)
