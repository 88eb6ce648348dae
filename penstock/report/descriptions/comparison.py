"""The page of two descriptions side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.dataset.description.description_comparison import DescriptionComparison
from penstock.report.descriptions.column_figures import pair_figure
from penstock.report.descriptions.description import columns_of, sections_of
from penstock.report.descriptions.overview import facts_of_two, warning_figure
from penstock.report.figures import Cell, Figure, Grid
from penstock.report.page import render_sections
from penstock.report.text import show_count, show_label


def render_comparison(comparison: DescriptionComparison, title: str, details: Mapping[str, Any]) -> str:
    """Return the page; `details` stand under the title."""
    left, right = (show_label(name) for name in comparison.names)
    sides = ((left, comparison.left), (right, comparison.right))
    rows = {f"Rows of {name}": side.rows for name, side in sides}
    warned = [warning_figure(f"In {name}", side.warnings) for name, side in sides if side.warnings]
    parts = {
        "Schemas": _schemas(comparison),
        "Overview": [facts_of_two(comparison)],
        "Columns": columns_of(pair_figure(one, other, (left, right)) for one, other in comparison.pairs),
        "Warnings": warned,
    }
    return render_sections("Comparison", sections_of(parts), title=title, details={**rows, **details})


def _schemas(comparison: DescriptionComparison) -> list[Figure]:
    """Return the columns that one alone has, and those of another type; nothing where the schemas are equal."""
    left, right = (show_label(name) for name in comparison.names)
    rows = [[Cell(show_label(name)), Cell("there"), Cell("-")] for name in comparison.only_left]
    rows += [[Cell(show_label(name)), Cell("-"), Cell("there")] for name in comparison.only_right]
    rows += [[Cell(show_label(name)), *map(Cell, types)] for name, types in comparison.type_changes.items()]
    caption = f"{show_count(len(rows))} columns are in one alone, or of another type."
    return [Figure("What differs in schema", caption, grid=Grid(("Column", left, right), rows))] if rows else []
