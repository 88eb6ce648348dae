"""What has changed since the rows of a profile, as one HTML page: alarms first, then all that was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from penstock.pipeline.drift.column_drift import ColumnDrift
from penstock.pipeline.drift.drift_report import DriftReport
from penstock.report.descriptions.value_bars import BarRow, value_bars
from penstock.report.drifts.tables import categories, measures, metrics, moments, slice_alarms
from penstock.report.figures import Cell, Figure, Grid
from penstock.report.page import render_sections
from penstock.report.sections import Section
from penstock.report.text import show_label

_DRAWN = 24
"""Columns that are drawn, those with an alarm first."""
_CELLS = 14
_LABEL_EMS = 12.0
_SIDES = ("then", "now")


def render_drift(report: DriftReport, title: str, details: Mapping[str, Any]) -> str:
    """Return the page; `details` stand under the title."""
    facts = {"Rows": report.rows, "Rows of the profile": report.reference_rows, "Level": f"{report.level:g}"}
    drifted = report.drifted
    others = [each for each in report.columns if not each.drifted]
    parts = {
        "Alarms": [_alarms(report), *slice_alarms(report.slices)],
        "Columns": [*measures((*drifted, *others)), *moments((*drifted, *others)), *categories(drifted)],
        "Metrics": metrics(report.metrics),
        "Distributions": [_shares(each) for each in (*drifted, *others)[:_DRAWN] if each.cells],
    }
    sections = [
        Section(name, f"part-{place}", [], list(figures), [])
        for place, (name, figures) in enumerate(parts.items(), 1)
        if figures
    ]
    return render_sections("Drift", sections, title=title, details={**facts, **details})


def _alarms(report: DriftReport) -> Figure:
    if report.passed:
        roles = Counter(each.role for each in report.columns)
        compared = Grid(
            ("Compared", "Columns"), [[Cell(role), Cell(str(count), number=True)] for role, count in roles.items()]
        )
        caption = f"{report.summary}. What differs is what chance gives of so many rows."
        return Figure("No alarm", caption, grid=compared)
    strongest = sorted(report.drifted, key=_strongest, reverse=True)
    rows = [BarRow(show_label(each.name, _LABEL_EMS), [_strongest(each)]) for each in strongest]
    caption = f"{report.summary}. How many times as large as chance gives a column's measures are, of the largest."
    drawn = value_bars("Alarms", rows[:_DRAWN], [""], show=lambda times: f"{times:.3g} times") if rows else None
    return Figure("Columns with an alarm", caption, drawn)


def _strongest(column: ColumnDrift) -> float:
    """Return how many times as large as by chance the measures are, of the largest."""
    return max(each.value / each.chance if each.chance else 1.0 for each in column.measures if each.drifted)


def _shares(column: ColumnDrift) -> Figure:
    """Return the shares of the bins or values of a column, then and now."""
    cells = sorted(column.cells, key=lambda each: -max(each.reference, each.current))[:_CELLS]
    kept = [each for each in column.cells if each in cells]
    rows = [BarRow(show_label(each.name, _LABEL_EMS), [each.reference, each.current]) for each in kept]
    left_out = len(column.cells) - len(kept)
    caption = f"Shares of the rows; {left_out:,} rarer ones are not drawn." if left_out else "Shares of the rows."
    name = f"{show_label(column.name)} ({column.role})"
    return Figure(name, caption, value_bars(f"Shares of {name}", rows, _SIDES))
