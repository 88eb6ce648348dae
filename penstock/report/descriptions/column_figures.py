"""A figure for each column: how its values are distributed, or the most frequent of them; of one dataset or of two."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.dataset.description.column_description import ColumnDescription
from penstock.report.descriptions.histograms import can_draw, draw_histogram, draw_two, histogram_numbers, left_out
from penstock.report.descriptions.value_bars import BarRow, value_bars
from penstock.report.figures import Figure
from penstock.report.text import show_count, show_label, show_number, show_share

_LABEL_EMS = 11.0
_FEW = 12
"""So many whole numbers have each a bar of its own, with its name."""


def column_figure(column: ColumnDescription) -> Figure:
    """Return the figure of a column."""
    title, caption = show_label(column.name), _caption(column)
    if not column.count:
        return Figure(title, caption)
    if column.histogram is not None and can_draw(column.histogram) and not _is_listed(column):
        drawn = draw_histogram(title, column.histogram)
        return Figure(
            title, f"{caption} {left_out(column.histogram)}".strip(), drawn, histogram_numbers(column.histogram)
        )
    told = f"{caption} {_others([column], [''])}".strip()
    return Figure(title, told, value_bars(title, _rows([column]), [""]) if column.top else None)


def pair_figure(left: ColumnDescription, right: ColumnDescription, names: tuple[str, str]) -> Figure:
    """Return a column of two datasets in one figure."""
    title = show_label(left.name)
    told = [f"{name}: {_caption(each)}" for name, each in zip(names, (left, right), strict=True)]
    drawable = [each for each in (left.histogram, right.histogram) if each is not None and can_draw(each)]
    if len(drawable) == 2 and not (_is_listed(left) and _is_listed(right)):
        how = f"Bars are {names[0]}, the line is {names[1]}."
        return Figure(title, " ".join([*told, how]), draw_two(title, *drawable))
    drawn = value_bars(title, _rows([left, right]), names) if left.top or right.top else None
    return Figure(title, " ".join([*told, _others([left, right], names)]).strip(), drawn)


def _is_listed(column: ColumnDescription) -> bool:
    """Return whether a column of numbers is shown by its values: whole numbers that are few."""
    return bool(column.top) and (column.distinct or 0) <= min(_FEW, len(column.top))


def _caption(column: ColumnDescription) -> str:
    """Return the facts of a column in a sentence."""
    rows = column.count + column.missing
    missing = f"{show_share(column.missing / rows)} missing" if column.missing else ""
    about = "about " if column.distinct_error else ""
    distinct = "" if column.distinct is None else f"{about}{show_count(column.distinct)} different"
    mean = "" if column.mean is None else f"mean {show_number(column.mean)}"
    spread = "" if column.std is None else f"deviation {show_number(column.std)}"
    length = "" if column.length_min is None else f"length {column.length_min:,} to {column.length_max:,}"
    facts = [column.type, missing, distinct, mean, spread, length]
    return f"{', '.join(fact for fact in facts if fact)}."


def _rows(columns: Sequence[ColumnDescription]) -> list[BarRow]:
    """Return a line for each of the most frequent values, with its share of the values of each column."""
    shares = [{value: count / max(column.count, 1) for value, count in column.top} for column in columns]
    values = list(dict.fromkeys(value for known in shares for value in known))
    exact = [sum(count for _, count in column.top) == column.count for column in columns]
    return [
        BarRow(
            show_label(value, _LABEL_EMS),
            [known.get(value, 0.0 if whole else None) for known, whole in zip(shares, exact, strict=True)],
        )
        for value in values
    ]


def _others(columns: Sequence[ColumnDescription], names: Sequence[str]) -> str:
    """Return in words which share of the values is drawn nowhere; nothing where all are."""
    rest = [1 - sum(count for _, count in column.top) / max(column.count, 1) for column in columns]
    told = [f"{show_share(each)}{name and f' of {name}'}" for each, name in zip(rest, names, strict=True) if each > 0]
    return f"All others are {' and '.join(told)}." if told else ""
