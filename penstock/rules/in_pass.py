"""Rules that are judged in the pass that writes the rows: those that break one are set aside, or nothing is written."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import narwhals as nw
import pyarrow as pa

from penstock.core.names import is_hidden
from penstock.core.several import several
from penstock.dataset.dataset import Dataset
from penstock.dataset.gather_step import GatherStep
from penstock.dataset.quarantine import check_names, set_aside
from penstock.dataset.steps import RowLog, SelectColumns, Step
from penstock.frames import ROW
from penstock.frames.on_host import filter_rows
from penstock.pipeline.cardinality import CountOptions
from penstock.pipeline.cardinality.plan import is_ample
from penstock.rules.base import DatasetRule
from penstock.rules.checking import check, check_rules
from penstock.rules.report import CheckReport, RuleOutcome
from penstock.rules.rule_file import read_rules
from penstock.rules.rule_scan import RuleScan
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
