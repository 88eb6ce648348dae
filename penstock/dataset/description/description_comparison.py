"""Two descriptions side by side: columns that one alone has, those of another type, and the facts of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from penstock.core.displayed import Displayed
from penstock.core.errors import ConfigError
from penstock.dataset.description.column_description import ColumnDescription
from penstock.dataset.description.data_description import DataDescription
from penstock.dataset.description.text_table import aligned, shown, top_shown

_FACTS = ("type", "missing", "distinct", "infinite", "mean", "std", "min", "max")
"""What of a column is laid side by side, as text; beside them first and last, and frequent values."""


@dataclass(frozen=True)
class DescriptionComparison(Displayed):
    """What `DataDescription.compare` returns: two descriptions, and what there is in one alone.

    It says what differs, and not whether that is more than chance.

    Attributes
    ----------
    left, right : DataDescription
    names : tuple of (str, str)
        What the two are called.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> engine = ps.LocalEngine(device="cpu")
    >>> one, other = (engine.from_arrow(pa.table(table)) for table in ({"x": [1, 2]}, {"x": [3, None]}))
    >>> one.describe().compare(other.describe(), names=("monday", "tuesday"))
    monday 2 rows, tuesday 2 rows
    column           type   missing  distinct  mean  std       min  max  top
    x       monday   int64  0.0%     2         1.5   0.707107  1    2    1: 1, 2: 1
            tuesday  int64  50.0%    1         3               3    3    3: 1
    """

    left: DataDescription
    right: DataDescription
    names: tuple[str, str] = ("left", "right")
    _display = "penstock.report.notebook.descriptions:comparison_html"

    def __post_init__(self) -> None:
        if (
            len(self.names) != 2
            or self.names[0] == self.names[1]
            or not all(isinstance(each, str) for each in self.names)
        ):
            raise ConfigError(f"names are {self.names!r}, expected two different texts", hint='Write names=("a", "b").')

    @property
    def only_left(self) -> tuple[str, ...]:
        """Columns that the left alone has."""
        return tuple(each.name for each in self.left.columns if each.name not in _by_name(self.right))

    @property
    def only_right(self) -> tuple[str, ...]:
        """Columns that the right alone has."""
        return tuple(each.name for each in self.right.columns if each.name not in _by_name(self.left))

    @property
    def pairs(self) -> tuple[tuple[ColumnDescription, ColumnDescription], ...]:
        """What both have, in the order of the left."""
        right = _by_name(self.right)
        return tuple((each, right[each.name]) for each in self.left.columns if each.name in right)

    @property
    def type_changes(self) -> dict[str, tuple[str, str]]:
        """By column both types, where they differ."""
        return {one.name: (one.type, other.type) for one, other in self.pairs if one.type != other.type}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON: both descriptions by name, and what differs between their columns."""
        return {
            "names": list(self.names),
            "only_left": list(self.only_left),
            "only_right": list(self.only_right),
            "type_changes": {name: list(types) for name, types in self.type_changes.items()},
            "left": self.left.to_dict(),
            "right": self.right.to_dict(),
        }

    def to_polars(self) -> pl.DataFrame:
        """Return two rows a column, as `DataDescription.to_polars` has them, and ``dataset`` first: one of `names`."""
        sides = zip(self.names, (self.left, self.right), strict=True)
        frames = [side.to_polars().select(pl.lit(name).alias("dataset"), pl.all()) for name, side in sides]
        order = {name: place for place, name in enumerate([*_by_name(self.left), *self.only_right])}
        both = pl.concat(frames, how="diagonal").with_columns(pl.col("column").replace_strict(order).alias("place"))
        return both.sort("place", maintain_order=True).drop("place")

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Return the head and the rows of a table of text: two a column that both have, one of others."""
        head = ["column", "", *_FACTS, "top"]
        rows = [row for name in self._columns() for row in self._rows(name)]
        used = [place for place, name in enumerate(head) if place < 3 or any(row[place] for row in rows)]
        return [head[place] for place in used], [[row[place] for place in used] for row in rows]

    def _columns(self) -> list[str]:
        return [*_by_name(self.left), *self.only_right]

    def _rows(self, name: str) -> list[list[str]]:
        sides = zip(self.names, (self.left, self.right), strict=True)
        found = [(called, _by_name(side).get(name)) for called, side in sides]
        rows = [[called, *_facts(column)] for called, column in found if column is not None]
        return [[shown(name) if place == 0 else "", *row] for place, row in enumerate(rows)]

    def __repr__(self) -> str:
        """Return the table as text; characters that a terminal obeys are escaped."""
        rows = zip(self.names, (self.left, self.right), strict=True)
        return "\n".join([", ".join(f"{name} {side.rows:,} rows" for name, side in rows), aligned(*self.cells())])

    def to_html(self, *, title: str = "Comparison", details: Mapping[str, Any] | None = None) -> str:
        """Return a page with both side by side, as `DataDescription.to_html` does."""
        return import_module("penstock.report.descriptions").render_comparison(self, title, details or {})

    def write_report(
        self, path: str | PathLike[str], *, title: str = "Comparison", details: Mapping[str, Any] | None = None
    ) -> Path | str:
        """Write the page of `to_html`, as `DataDescription.write_report` does."""
        page = self.to_html(title=title, details=details)
        return import_module("penstock.report.page").write_page(page, path)


def _by_name(description: DataDescription) -> dict[str, ColumnDescription]:
    return {column.name: column for column in description.columns}


def _facts(column: ColumnDescription) -> list[str]:
    told = column.to_dict()
    rows = column.count + column.missing
    told |= {"missing": f"{column.missing / rows:.1%}" if rows else "", "infinite": column.infinite or None}
    told |= {"min": told.get("min", told.get("first")), "max": told.get("max", told.get("last"))}
    about = "about " if column.distinct_error else ""
    told["distinct"] = None if column.distinct is None else f"{about}{column.distinct:,}"
    return [*(shown(told.get(name)) for name in _FACTS), top_shown(told)]
