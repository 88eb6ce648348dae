"""Which columns are missing together: a line for each pattern, a cell for each column that is missing in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup

from penstock.dataset.description.relations import MissingPatterns
from penstock.report.figures import Cell, Figure, Grid
from penstock.report.matrix import column_head
from penstock.report.svg import FONT, box, drawing, words
from penstock.report.text import measure, show_count, show_label, show_share
from penstock.statistics.null_patterns import NullPattern

_MOST_COLUMNS, _MOST_PATTERNS = 40, 20
_WIDTH, _SIDE, _LINE, _LABEL_EMS = 880.0, 22.0, 22.0, 9.0


def missing_patterns(found: MissingPatterns, rows: int) -> Figure:
    """Return the patterns of most rows, over the columns that are missing most often; some column is."""
    title = "Missing together"
    names = _columns(found)
    kept = found.patterns[:_MOST_PATTERNS]
    grid = Grid(("Missing", "Rows", "Share"), [_numbers(each, rows) for each in kept])
    return Figure(title, _caption(found, names, rows), _draw(title, kept, names, rows), grid, wide=True)


def _columns(found: MissingPatterns) -> list[str]:
    """Return the columns that are missing in most rows, in the order in which they first occur."""
    counts = Counter[str]()
    for pattern in found.patterns:
        counts.update(dict.fromkeys(pattern.columns, pattern.rows))
    most = {name for name, _ in counts.most_common(_MOST_COLUMNS)}
    return [name for name in counts if name in most]


def _caption(found: MissingPatterns, names: Sequence[str], rows: int) -> str:
    """Return what is drawn, and what is not."""
    shown = sum(each.rows for each in found.patterns[:_MOST_PATTERNS])
    told = ["A line is a pattern; its filled cells are the columns without a value."]
    if shown < rows:
        told.append(f"{show_count(rows - shown)} rows have other patterns.")
    if len(names) == _MOST_COLUMNS:
        told.append(f"Drawn are the {_MOST_COLUMNS} columns that are missing most often.")
    if found.error:
        told.append(f"Counts may be too low by {show_count(found.error)}.")
    return " ".join(told)


def _numbers(pattern: NullPattern, rows: int) -> list[Cell]:
    named = ", ".join(pattern.columns) if pattern.columns else "none"
    return [
        Cell(show_label(named, 60)),
        Cell(show_count(pattern.rows), True),
        Cell(show_share(pattern.rows / rows), True),
    ]


def _draw(title: str, patterns: Sequence[NullPattern], names: Sequence[str], rows: int) -> Markup:
    shown = [show_label(name, _LABEL_EMS) for name in names]
    labels = [f"{show_count(each.rows)} ({show_share(each.rows / rows)})" for each in patterns]
    reach = FONT * max(map(measure, shown)) * 0.75
    left, top = max(14 + FONT * max(map(measure, labels)), reach), 30 + reach
    side = min(_SIDE, (_WIDTH - left - 8) / len(names))
    body = [column_head(left + side * (place + 0.5) - 4, top - 10, name, True) for place, name in enumerate(shown)]
    for line, (pattern, label) in enumerate(zip(patterns, labels, strict=True)):
        y = top + _LINE * line
        body.append(words((left - 12, y + _LINE / 2 + 4), label, "label", "end"))
        body += [_cell(pattern, name, (left + side * place, y), side) for place, name in enumerate(names)]
    return drawing(
        (_WIDTH, top + _LINE * len(patterns) + 4), title, f"{len(patterns)} patterns of {len(names)} columns.", body
    )


def _cell(pattern: NullPattern, name: str, place: tuple[float, float], side: float) -> Markup:
    missing = name in pattern.columns
    tip = f"{show_label(name)}: {'missing' if missing else 'there'} in {show_count(pattern.rows)} rows"
    return box((place[0] + 1, place[1] + 1), (side - 2, _LINE - 2), "cell" if missing else "cell empty", tip)
