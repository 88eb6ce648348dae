"""The report of a check in a notebook: a row for each rule, broken ones first."""

from __future__ import annotations

from penstock.report.notebook.pieces import TextTable, render
from penstock.report.text import show_label
from penstock.rules.limits import show
from penstock.rules.report import CheckReport, RuleOutcome

_ORDER = ("failed", "quarantined", "warned", "passed")


def check_html(report: CheckReport) -> str:
    """Return the display of a report."""
    outcomes = sorted(report.outcomes, key=lambda each: _ORDER.index(each.status))
    rules = TextTable(("rule", "", "observed", "expected", "found"), [_row(each) for each in outcomes])
    return render("check", summary=report.summary, rules=rules)


def _row(outcome: RuleOutcome) -> list[str]:
    cells = (outcome.rule, outcome.status, show(outcome.observed), outcome.expected, outcome.message)
    return [show_label(cell, 80) for cell in cells]
