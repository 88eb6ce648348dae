"""Pieces that displays are made of, and the templates that put them together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import pyarrow as pa
from jinja2 import Environment, PackageLoader, StrictUndefined

from penstock.report.text import show_count, show_label, show_number

FEW = 12
"""So many rows of a table are seen at once; where there are more, all of them unfold."""
_TEXT_EMS = 60.0


class TextTable(NamedTuple):
    """A table: its head, and rows of text, of which the first cell is the title."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def render(template: str, **values: Any) -> str:
    """Return the HTML of a display; all text is escaped."""
    return _environment().get_template(f"{template}.html.j2").render(few=FEW, **values)


def show_facts(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return facts as text, whole numbers with separators; those that are None are left out.

    Examples
    --------
    >>> show_facts({"rows": 200000, "device": "cpu", "dashboard": None})
    {'rows': '200,000', 'device': 'cpu'}
    """
    return {name: show_value(value) for name, value in facts.items() if value is not None}


def show_value(value: Any, *, exact: bool = False) -> str:
    """Return any value as a short text, numbers rounded unless they are to be `exact`.

    Examples
    --------
    >>> show_value(1234), show_value(("a", "b")), show_value({"x": 0.123456}), show_value([])
    ('1,234', 'a, b', 'x: 0.1235', 'none')
    >>> show_value(pa.table({"value": ["a", "b"], "count": [3, 1]}))
    '2 rows of value, count'
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return show_count(value)
    if isinstance(value, float):
        rounded = math.isfinite(value) and value != round(value) and not exact
        return show_number(value) if rounded else show_label(value)
    if isinstance(value, pa.Table):
        return f"{value.num_rows:,} rows of {show_value(value.column_names)}"
    if isinstance(value, Mapping):
        return _listed([f"{show_label(name)}: {show_value(each, exact=exact)}" for name, each in value.items()])
    if isinstance(value, tuple | list | frozenset | set):
        return _listed([show_value(each, exact=exact) for each in value])
    return show_label(value, _TEXT_EMS)


def _listed(values: Sequence[str]) -> str:
    shown = ", ".join(values[:FEW]) or "none"
    return f"{shown}, ... ({len(values)} in all)" if len(values) > FEW else shown


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("penstock.report.notebook"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
