"""Rules that are judged in the pass that writes the rows: those that break one are set aside, or nothing is written."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError, DataValueError, class_name
from penstock.core.names import is_hidden
from penstock.core.several import several
from penstock.dataset.dataset import Dataset
from penstock.dataset.gather_step import GatherStep
from penstock.dataset.quarantine import check_names, set_aside
from penstock.dataset.steps import RowLog, SelectColumns, Step
from penstock.dataset.tasks import Probe
from penstock.frames import ROW
from penstock.frames.on_host import filter_rows
from penstock.pipeline.cardinality import CountOptions, plan_counts
from penstock.pipeline.cardinality.plan import is_ample
from penstock.pipeline.fusion import Pass, StatisticRequest
from penstock.rules.base import DatasetRule, RuleVerdict
from penstock.rules.limits import show
from penstock.rules.report import CheckReport, RuleOutcome
from penstock.rules.rule_file import read_rules
from penstock.statistics import counts
from penstock.statistics.base import State, Statistic

_ALL, _LEFT = "check of all rows", "check"


@dataclass(frozen=True, eq=False)
class SetAsideStep(Step):
    """Sets the rows aside for which an expression of the columns `read` is true: they break a rule, their reason."""

    reason: str
    read: pa.Schema
    broken: nw.Expr
    keeps_rows = False

    @property
    def label(self) -> str:
        return self.reason

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        return wanted.union(self.read.names)

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        broken = self.broken.fill_null(False)
        bad = filter_rows(frame, broken, self.read)
        shown = [name for name in bad.columns if not is_hidden(name)]
        log.quarantine(self.label, set_aside(bad.select(shown), self.label))
        return filter_rows(frame, ~broken, self.read) if len(bad) else frame


@dataclass(frozen=True)
class WrittenCheck:
    """The check of rows that are being written.

    Attributes
    ----------
    rules : tuple of DatasetRule
    of_all, of_left : RuleScan
        Of rules that set rows aside, by all rows; and of others, by those that are left.
    apart : tuple of DatasetRule
        Those that count more values than fit in any case: they are checked in a scan of their own.
    """

    rules: tuple[DatasetRule, ...]
    of_all: RuleScan
    of_left: RuleScan
    apart: tuple[DatasetRule, ...]

    def __call__(self, gathered: Mapping[str, Sequence[State]]) -> CheckReport:
        """Return the report; BrokenRulesError where a rule of severity error is broken."""
        _, of_all = self.of_all.outcomes([gathered[_ALL]])
        rows, of_left = self.of_left.outcomes([gathered[_LEFT]])
        of_apart = check(self.of_left.dataset, self.apart).outcomes if self.apart else ()
        return CheckReport(self._in_order(of_all, of_left, of_apart), rows).raise_if_failed()

    def _in_order(self, *outcomes: Sequence[RuleOutcome]) -> tuple[RuleOutcome, ...]:
        judged = (*self.of_all.rules, *self.of_left.rules, *self.apart)
        by_rule = {id(rule): each for rule, each in zip(judged, chain(*outcomes), strict=True)}
        return tuple(by_rule[id(rule)] for rule in self.rules)


Rules = Sequence[DatasetRule] | str | os.PathLike[str]
"""Rules, or the path of a file of them."""


def check_suits(dataset: Dataset, rules: Rules) -> None:
    """Raise ConfigError or SchemaError for what are no rules, or do not suit the columns; no rows are read."""
    RuleScan.of(dataset, _read(rules))


def _read(rules: Rules) -> list[DatasetRule]:
    rules = read_rules(os.fspath(rules)) if isinstance(rules, str | os.PathLike) else rules
    found: list[DatasetRule] = list(several(rules, "rules", "Sequence[DatasetRule]"))
    check_rules(found)
    return found


def checked(dataset: Dataset, rules: Rules) -> Dataset:
    """Return a dataset whose rows are checked as they are written; see `Dataset.write`."""
    rules = _read(rules)
    of_all = RuleScan.of(dataset, [rule for rule in rules if rule.severity == "quarantine"])
    rest = of_all.dataset.with_step(GatherStep(_ALL, _statistics(of_all)))
    for rule in of_all.bound:
        rest = _without_broken(rest, rule)
    of_left, apart = _scan_of_left(rest, [rule for rule in rules if rule.severity != "quarantine"])
    judge = WrittenCheck(tuple(rules), of_all, of_left, apart)
    whole = of_left.dataset.with_step(GatherStep(_LEFT, _statistics(of_left), judge))
    return whole.with_step(SelectColumns(tuple(dataset.schema.names)))


def _scan_of_left(dataset: Dataset, rules: Sequence[DatasetRule]) -> tuple[RuleScan, tuple[DatasetRule, ...]]:
    """Return the scan of rules that can be judged in a pass, and the rules that cannot."""
    scans = [RuleScan.of(dataset, [rule]) for rule in rules]
    fits = [is_ample(scan.dataset, scan.probes(), CountOptions()) for scan in scans]
    small = [rule for rule, each in zip(rules, fits, strict=True) if each]
    return RuleScan.of(dataset, small), tuple(rule for rule, each in zip(rules, fits, strict=True) if not each)


def _statistics(scan: RuleScan) -> tuple[Statistic, ...]:
    return tuple(gather.statistic for gather in scan.needed.gathers)


def _without_broken(dataset: Dataset, rule: DatasetRule) -> Dataset:
    check_names(dataset.schema, rule.title)
    read = pa.schema([dataset.schema.field(name) for name in rule.reads])
    if not any(step.makes_rows for step in dataset.steps):
        read = read.append(pa.field(ROW, pa.int64()))
    return dataset.with_step(SetAsideStep(rule.title, read, rule.rows_to_set_aside(dataset)))


def check(dataset: Dataset, rules: Sequence[DatasetRule], memory_budget: int | str | None = None) -> CheckReport:
    """Return the outcome of each rule; see `Dataset.check`."""
    check_rules(rules)
    options, scan = CountOptions(memory_budget), RuleScan.of(dataset, rules)
    probes = scan.probes()
    plan = plan_counts(scan.dataset, probes, options)
    states, _ = scan.dataset.probe(plan.applied(probes) if plan.columns else probes, label="check")
    rows, outcomes = scan.outcomes(states)
    return CheckReport(tuple(outcomes), rows)


def check_rules(rules: Sequence[object]) -> None:
    """Raise ConfigError unless there are rules, and nothing else."""
    if not rules:
        raise ConfigError("check has no rule", hint='Write dataset.check(ps.rules.Unique("id"), ...).')
    for rule in rules:
        if not isinstance(rule, DatasetRule):
            raise ConfigError(
                f"check takes rules, found {class_name(rule)}",
                hint="They are in penstock.rules: Unique, NullShare, Between, ...; rules of a list: check(*rules).",
            )


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
