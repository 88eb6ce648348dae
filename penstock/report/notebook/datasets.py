"""A dataset in a notebook: its rows and files, the steps to come, and its columns. Nothing is read."""

from __future__ import annotations

from penstock.dataset.dataset import Dataset
from penstock.dataset.facts import facts_of
from penstock.report.notebook.pieces import TextTable, render, show_facts
from penstock.report.text import show_label


def dataset_html(dataset: Dataset) -> str:
    """Return the display of a dataset; a query that has not run is not run for it."""
    columns = [[show_label(field.name, 60), str(field.type)] for field in dataset.schema]
    steps = [show_label(step.label, 80) for step in dataset.steps]
    facts = show_facts(facts_of(dataset))
    return render("dataset", facts=facts, steps=steps, columns=TextTable(("column", "type"), columns))
