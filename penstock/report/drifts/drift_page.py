"""What has changed since the rows of a profile, as one HTML page: alarms first, then all that was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.pipeline.drift.column_drift import ColumnDrift, DriftMeasure
from penstock.pipeline.drift.drift_report import DriftReport, MetricDrift
from penstock.report.descriptions.value_bars import BarRow, value_bars
from penstock.report.figures import TABLE_ROWS, Cell, Figure, Grid
from penstock.report.page import render_sections
from penstock.report.sections import Section
from penstock.report.text import show_label, show_number, show_share

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
        "Alarms": [_alarms(report), *(each for by, found in report.slices.items() for each in _of_slicing(by, found))],
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


_HEADS = {"kolmogorov_smirnov": "KS", "jensen_shannon": "JS", "chi_square": "Chi-square", "psi": "PSI"}
_LEAST = 1e-6
"""What p-values below it are told as."""
_ORDER = ("psi", "kolmogorov_smirnov", "jensen_shannon", "chi_square", "missing", "values", "range")


def measures(columns: Sequence[ColumnDrift]) -> list[Figure]:
    """Return the measures of each column, each with what chance gives at most."""
    names = [name for name in _ORDER if any(name == each.name for column in columns for each in column.measures)]
    rows = [_measured(column, names) for column in columns]
    caption = (
        "Behind each number in brackets what chance alone exceeds at the level of the page, with so many rows; p is the"
        " smallest p-value of a column, for all columns and measures together. An arrow marks an alarm."
    )
    heads = ("Column", "", "p", *(_HEADS.get(name, name.capitalize()) for name in names))
    return [_table("Measures", caption, heads, rows)] if rows else []


def _measured(column: ColumnDrift, names: Sequence[str]) -> list[Cell]:
    by_name = {each.name: each for each in column.measures}
    cells = [Cell(_of_measure(by_name[name]) if name in by_name else "", number=True) for name in names]
    smallest = min((each.adjusted for each in column.measures if each.adjusted is not None), default=None)
    return [Cell(show_label(column.name)), Cell(column.role), _p_value(smallest), *cells]


def _of_measure(measure: DriftMeasure) -> str:
    mark = "\u2191 " if measure.drifted else ""
    return f"{mark}{_short(measure.value)} ({_short(measure.chance)})"


def _p_value(value: float | None) -> Cell:
    told = "" if value is None else f"< {_LEAST:g}" if value < _LEAST else f"{value:.2g}"
    return Cell(told, number=True)


def _short(value: float) -> str:
    return f"{value:.3f}" if value < 1 else f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


def moments(columns: Sequence[ColumnDrift]) -> list[Figure]:
    """Return missing values, moments and ranges of the columns, then and now."""
    names = ("missing", "mean", "std", "min", "max")
    rows = [[Cell(show_label(each.name)), Cell(each.role), _shift(each), *_sides(each, names)] for each in columns]
    heads = ("Column", "", "Shift", *(f"{name.capitalize()} {side}" for name in names for side in ("then", "now")))
    caption = "The shift is that of the mean, in standard deviations; in brackets what chance alone exceeds."
    return [_table("Then and now", caption, heads, rows)] if rows else []


def _shift(column: ColumnDrift) -> Cell:
    told = [_of_measure(each) for each in column.measures if each.name == "mean"]
    return Cell("".join(told), number=True)


def _sides(column: ColumnDrift, names: Sequence[str]) -> list[Cell]:
    values = [(name, side.get(name)) for name in names for side in (column.reference, column.current)]
    return [Cell("" if value is None else _number(name, value), number=True) for name, value in values]


def _number(name: str, value: float) -> str:
    return show_share(value) if name == "missing" else show_number(value)


def categories(columns: Sequence[ColumnDrift]) -> list[Figure]:
    """Return the values of strings that are new, have vanished, or are there more or less often."""
    rows = [
        [Cell(show_label(column.name)), Cell(show_label(each.value)), Cell(each.change),
         Cell(show_share(each.reference), number=True), Cell(show_share(each.current), number=True)]
        for column in columns
        for each in column.categories
    ]  # fmt: skip
    caption = "Values whose share chance does not explain, for all values of all columns together."
    return [_table("Values", caption, ("Column", "Value", "", "Then", "Now"), rows)] if rows else []


def metrics(drifts: Sequence[MetricDrift]) -> list[Figure]:
    """Return the metrics then and now."""
    rows = [_of_metric(each) for each in drifts]
    caption = "The standard error is that of the difference, as bootstraps say; p is for all that was tested together."
    heads = ("Metric", "Then", "Now", "Standard error", "p", "")
    return [_table("Metrics", caption, heads, rows)] if rows else []


def _of_metric(drift: MetricDrift) -> list[Cell]:
    numbers = (drift.reference, drift.current, drift.error)
    shown = [Cell("" if value is None else show_number(value), number=True) for value in numbers]
    return [Cell(show_label(drift.name)), *shown, _p_value(drift.adjusted), Cell("alarm" if drift.drifted else "")]


def _of_slicing(by: str, found: Mapping[str, Sequence[ColumnDrift]]) -> list[Figure]:
    """Return the columns with an alarm in a slicing."""
    rows = [_of_slice(key, each) for key, columns in found.items() for each in columns if each.drifted]
    caption, heads = f"Alarms in {len(found):,} slices.", ("Slice", "Column", "", "Rows", "Measures")
    return [_table(f"By {show_label(by)}", caption, heads, rows)] if rows else []


def _of_slice(key: str, column: ColumnDrift) -> list[Cell]:
    names = ", ".join(each.name for each in column.measures if each.drifted)
    rows = Cell(f"{column.rows[1]:,}", number=True)
    return [Cell(show_label(key)), Cell(show_label(column.name)), Cell(column.role), rows, Cell(names)]


def _table(title: str, caption: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Figure:
    return Figure(title, caption, grid=Grid(heads, rows[:TABLE_ROWS], max(0, len(rows) - TABLE_ROWS)), wide=True)
