"""A check: what rules need, from one scan; then the verdict of each."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.errors import ConfigError, class_name
from penstock.dataset.dataset import Dataset
from penstock.pipeline.cardinality import CountOptions, plan_counts
from penstock.rules.base import DatasetRule
from penstock.rules.report import CheckReport
from penstock.rules.rule_scan import RuleScan


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
