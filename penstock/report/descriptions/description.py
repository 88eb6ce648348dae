"""The pages of a description, and of two side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from penstock.dataset.description.column_warnings import ColumnWarning
from penstock.dataset.description.data_description import DataDescription
from penstock.dataset.description.description_comparison import DescriptionComparison
from penstock.dataset.description.relations import Correlations
from penstock.dataset.description.text_table import text_table
from penstock.report.descriptions.column_figures import column_figure, pair_figure
from penstock.report.descriptions.missing import missing_patterns
from penstock.report.descriptions.value_bars import BarRow, value_bars
from penstock.report.figures import Cell, Figure, Grid
from penstock.report.matrix import column_head
from penstock.report.page import render_sections
from penstock.report.sections import sections_of
from penstock.report.svg import FONT, box, drawing, join, words
from penstock.report.text import MINUS, measure, show_count, show_label, show_share

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


_MOST, _TOLD, _LEAST = 30, 20, 0.1
_WIDTH, _LABEL_EMS, _SHADE, _ROOMY = 880.0, 9.0, 0.75, 34.0


def correlation_figures(found: Correlations) -> list[Figure]:
    """Return the matrix, of many columns that of the first, and the pairs that correlate most."""
    varying = [place for place, row in enumerate(found.matrix) if row[place] is not None]
    found = found.at(varying)
    if len(found.columns) < 2:
        return []
    pairs = found.pairs(_LEAST)
    rows = [
        [Cell(show_label(one)), Cell(show_label(other)), Cell(_number(value), True)]
        for one, other, value in pairs[:_TOLD]
    ]
    grid = Grid(("Column", "Other column", "Correlation"), rows, max(len(pairs) - _TOLD, 0)) if rows else None
    strongest = Figure("Strongest", "" if rows else f"No two columns correlate by {_LEAST} or more.", grid=grid)
    return [_matrix(found), *([strongest] if rows else [])]


def _matrix(found: Correlations) -> Figure:
    caption = (
        "Pearson's coefficients over the rows that have both. The fuller a colour, the further from 0; blue is above."
    )
    if len(found.columns) > _MOST:
        caption += f" Drawn are the first {_MOST} of {len(found.columns)} columns."
    return Figure("Correlations", caption, _draw(found), wide=True)


def _draw(found: Correlations) -> Markup:
    names = [show_label(name, _LABEL_EMS) for name in found.columns[:_MOST]]
    reach = FONT * max(map(measure, names))
    left, top = max(16 + reach, 0.75 * reach), 26 + 0.75 * reach
    side = min((_WIDTH - left) / len(names), 64.0)
    down = min(side, 34.0)
    heads = [column_head(left + side * (place + 0.5) - 4, top - 8, name, True) for place, name in enumerate(names)]
    lines = [_line(found, names, place, (left, top + down * place), (side, down)) for place in range(len(names))]
    return drawing((_WIDTH, top + down * len(names) + 4), "Correlations", f"{len(names)} columns.", [*heads, *lines])


def _line(
    found: Correlations, names: Sequence[str], row: int, corner: tuple[float, float], size: tuple[float, float]
) -> Markup:
    parts = [words((corner[0] - 10, corner[1] + size[1] / 2 + 4), names[row], "label", "end")]
    for column, value in enumerate(found.matrix[row][: len(names)]):
        left = corner[0] + column * size[0]
        told = "undefined" if value is None else _number(value)
        kind = "cell negative" if value is not None and value < 0 else "cell"
        tip = f"{names[row]} and {names[column]}: {told}"
        place, extent = (left + 1, corner[1] + 1), (size[0] - 2, size[1] - 2)
        parts.append(box(place, extent, kind, tip, 0.0 if value is None else _SHADE * abs(value)))
        if size[0] >= _ROOMY and value is not None:
            parts.append(words((left + size[0] / 2, corner[1] + size[1] / 2 + 4), _number(value), "value", "middle"))
    return join(parts)


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", MINUS)


_MOST_WARNINGS, _MOST_LISTED = 200, 500
_NAMES = {
    "constant": "Constant", "missing": "Mostly missing", "near_unique": "Nearly unique", "infinite": "Infinite",
    "skewed": "Skewed", "padded": "Padded texts", "mixed": "Numbers as texts", "duplicated": "Duplicated",
    "correlated": "Correlated", "leaking": "Gives the label away",
}  # fmt: skip
_WORDS = ("", "type", "top")


def overview(description: DataDescription) -> Figure:
    """Return the facts of all columns as a table; quantiles are left to their figures."""
    head, rows = text_table(description.to_dict()["columns"])
    return Figure("All columns", grid=_grid(head, rows), wide=True)


def facts_of_two(comparison: DescriptionComparison) -> Figure:
    """Return the facts of the columns of two datasets as a table."""
    return Figure("All columns", grid=_grid(*comparison.cells()), wide=True)


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Grid | None:
    used = [place for place, name in enumerate(head) if not name.endswith("%")]
    shown = [
        [Cell(row[place], number=place > 0 and head[place] not in _WORDS) for place in used]
        for row in rows[:_MOST_LISTED]
    ]
    return Grid([head[place] for place in used], shown, max(len(rows) - _MOST_LISTED, 0)) if rows else None


def warning_figure(title: str, warnings: Sequence[ColumnWarning]) -> Figure:
    """Return warnings, and what to do about them, as a table."""
    names = [each.name for each in warnings]
    rows = [_warning_row(each, each.name not in names[:place]) for place, each in enumerate(warnings[:_MOST_WARNINGS])]
    head = ("Warning", "Columns", "Found", "What to do")
    grid = Grid(head, rows, max(len(warnings) - _MOST_WARNINGS, 0)) if rows else None
    return Figure(title, grid=grid, wide=True)


def _warning_row(warning: ColumnWarning, is_first: bool) -> list[Cell]:
    """Return what is said of a warning; the first of a name has the name, and what to do."""
    columns = Cell(show_label(", ".join(warning.columns), 60), prose=True)
    name, advice = (_NAMES[warning.name], warning.advice) if is_first else ("", "")
    return [Cell(name), columns, Cell(warning.message, prose=True), Cell(advice, prose=True)]


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
