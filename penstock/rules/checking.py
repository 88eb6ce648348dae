"""A check: what rules need, from one scan; then the verdict of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.core.errors import ConfigError, DataValueError, class_name
from penstock.dataset.dataset import Dataset
from penstock.pipeline.cardinality import CountOptions, plan_counts
from penstock.pipeline.fusion import Pass, StatisticRequest
from penstock.rules.base import DatasetRule, RuleVerdict
from penstock.rules.limits import show
from penstock.rules.report import CheckReport, RuleOutcome
from penstock.statistics import counts

Results = list[dict[str, Any] | DataValueError]


def check(dataset: Dataset, rules: Sequence[DatasetRule], memory_budget: int | str | None = None) -> CheckReport:
    """Return the outcome of each rule; see `Dataset.check`."""
    check_rules(rules)
    options = CountOptions(memory_budget)
    bound = [rule.bind(dataset) for rule in rules]
    prepared = dataset
    for rule in bound:
        prepared = rule.prepare(prepared)
    rows, results = _gathered(prepared, bound, options)
    verdicts = [_verdict(rule, dataset, found) for rule, found in zip(bound, results, strict=True)]
    outcomes = [_outcome(rule, verdict, prepared) for rule, verdict in zip(rules, verdicts, strict=True)]
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


def _gathered(dataset: Dataset, rules: Sequence[DatasetRule], options: CountOptions) -> tuple[int, Results]:
    """Return the number of rows, and for each rule the results of its statistics, or why one has none."""
    requests = [StatisticRequest(-1, "rows", counts.RowCount(), 0)]
    for place, rule in enumerate(rules):
        requests += [StatisticRequest(place, name, each, 0) for name, each in rule.statistics(dataset).items()]
    scan = Pass.of(requests)
    probes = scan.probes(len(dataset.steps))
    plan = plan_counts(dataset, probes, options)
    states, _ = dataset.probe(plan.applied(probes) if plan.columns else probes, label="check")
    (_, rows), *answers = scan.answers(states)
    results: Results = [{} for _ in rules]
    for request, state in answers:
        found = results[request.stage]
        if isinstance(found, dict):
            results[request.stage] = _finished(found, request, state)
    return rows, results


def _finished(found: dict[str, Any], request: StatisticRequest, state: Any) -> dict[str, Any] | DataValueError:
    try:
        return {**found, request.name: request.statistic.finish(state)}
    except DataValueError as error:
        return error


def _verdict(rule: DatasetRule, dataset: Dataset, found: dict[str, Any] | DataValueError) -> RuleVerdict:
    if isinstance(found, DataValueError):
        return RuleVerdict(False, None, found.message)
    return rule.judge({**found, **rule.others(dataset)})


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
