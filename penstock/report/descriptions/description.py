"""The page of a description."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.dataset.description.data_description import DataDescription
from penstock.report.descriptions.column_figures import column_figure
from penstock.report.descriptions.correlations import correlation_figures
from penstock.report.descriptions.missing import missing_patterns
from penstock.report.descriptions.overview import overview, warning_figure
from penstock.report.descriptions.value_bars import BarRow, value_bars
from penstock.report.figures import Figure
from penstock.report.page import render_sections
from penstock.report.sections import Section
from penstock.report.text import show_label, show_share

MOST_FIGURES = 300
_MOST_ASSOCIATED = 30


def render_description(description: DataDescription, title: str, details: Mapping[str, Any]) -> str:
    """Return the page; `details` stand under the title."""
    facts: dict[str, Any] = {"Rows": description.rows, "Columns": len(description.columns)}
    if description.label is not None:
        facts["Label"] = show_label(description.label)
    parts = {
        "Warnings": [warning_figure("What would hurt a model", description.warnings)] if description.warnings else [],
        "Overview": [overview(description)],
        "Label": _associations(description),
        "Columns": columns_of(map(column_figure, description.columns)),
        "Missing values": _missing(description),
        "Correlations": [] if description.correlations is None else correlation_figures(description.correlations),
    }
    return render_sections("Description", sections_of(parts), title=title, details={**facts, **details})


def sections_of(parts: Mapping[str, list[Figure]]) -> list[Section]:
    """Return sections of figures; those without any are left out."""
    return [
        Section(title, title.lower().replace(" ", "-"), [], figures, []) for title, figures in parts.items() if figures
    ]


def columns_of(figures: Iterable[Figure]) -> list[Figure]:
    """Return the figures that show something, no more than a page can have."""
    return [each for each in figures if each.drawn is not None][:MOST_FIGURES]


def _associations(description: DataDescription) -> list[Figure]:
    """Return how much each column tells of the label, the one that tells most first."""
    told = [(each.association, each.name) for each in description.columns if each.association is not None]
    rows = [BarRow(show_label(name, 11), [share]) for share, name in sorted(told, key=lambda pair: -pair[0])]
    if not rows:
        return []
    label = show_label(description.label)
    caption = f"Which share of the entropy of {label} each column tells by itself; 100% would give it away."
    drawn = value_bars("What tells of the label", rows[:_MOST_ASSOCIATED], [""], show=show_share, high=1.0)
    return [Figure(f"What tells of {label}", caption, drawn)]


def _missing(description: DataDescription) -> list[Figure]:
    found = description.missing_patterns
    are_missing = found is not None and any(each.columns for each in found.patterns)
    return [missing_patterns(found, description.rows)] if found is not None and are_missing else []
