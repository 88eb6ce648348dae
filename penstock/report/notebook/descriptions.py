"""Descriptions of datasets in a notebook: a table with a row for each column, or two."""

from __future__ import annotations

from penstock.dataset.description.data_description import DataDescription
from penstock.dataset.description.description_comparison import DescriptionComparison
from penstock.dataset.description.text_table import text_table
from penstock.report.notebook.pieces import TextTable, render, show_facts


def description_html(description: DataDescription) -> str:
    """Return the display of a description."""
    head, rows = text_table(description.to_dict()["columns"])
    facts = show_facts({"rows": description.rows, "columns": len(description.columns)})
    return render("description", facts=facts, table=TextTable(head, rows))


def comparison_html(comparison: DescriptionComparison) -> str:
    """Return the display of two descriptions side by side."""
    sides = zip(comparison.names, (comparison.left, comparison.right), strict=True)
    facts = show_facts({f"rows of {name}": side.rows for name, side in sides})
    return render("description", facts=facts, table=TextTable(*comparison.cells()))
