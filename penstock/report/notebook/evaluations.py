"""An evaluation in a notebook: its metrics, and its page in a frame of its own."""

from __future__ import annotations

from penstock.report.notebook.pieces import TextTable, render
from penstock.report.page import render as render_page
from penstock.report.sections import MetricRow, split
from penstock.stages.evaluation.result import Evaluation


def evaluation_html(evaluation: Evaluation) -> str:
    """Return the display of an evaluation."""
    sections = split(evaluation)
    grids = {
        section.title: TextTable(("metric", "value", "", ""), [_metric(row) for row in section.metrics])
        for section in sections
    }
    drawn = any(section.figures or section.slices for section in sections)
    return render("evaluation", grids=grids, page=render_page(evaluation) if drawn else "")


def _metric(row: MetricRow) -> list[str]:
    if row.value is None:
        return [row.name, "undefined", row.better, row.reason]
    return [row.name, row.value, row.better, "; ".join(row.accuracy)]
