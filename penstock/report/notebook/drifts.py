"""The report of drift in a notebook: a row for each column, those with an alarm first."""

from __future__ import annotations

from penstock.pipeline.drift.column_drift import ColumnDrift
from penstock.pipeline.drift.drift_report import DriftReport
from penstock.report.notebook.pieces import TextTable, render
from penstock.report.text import show_label

_TOLD = 3


def drift_html(report: DriftReport) -> str:
    """Return the display of a report."""
    others = [each for each in report.columns if not each.drifted]
    columns = TextTable(
        ("column", "role", "", "measures", "values"), [_row(each) for each in (*report.drifted, *others)]
    )
    return render("drift", summary=report.summary, columns=columns)


def _row(column: ColumnDrift) -> list[str]:
    told = [each for each in column.measures if each.drifted] or column.measures[:_TOLD]
    values = ", ".join(str(each) for each in column.categories[:_TOLD])
    cells = (column.name, column.role, "drifted" if column.drifted else "", "; ".join(map(str, told)), values)
    return [show_label(cell, 100) for cell in cells]
