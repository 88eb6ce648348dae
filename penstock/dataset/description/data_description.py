"""What is known of the columns of a dataset: plain numbers, as a frame, as JSON and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from penstock.core.displayed import Displayed
from penstock.core.errors import SchemaError, did_you_mean
from penstock.dataset.description.column_description import ColumnDescription, plain
from penstock.dataset.description.column_warnings import ColumnWarning
from penstock.dataset.description.relations import Correlations, MissingPatterns
from penstock.dataset.description.text_table import aligned, text_table

if TYPE_CHECKING:
    from penstock.dataset.description.description_comparison import DescriptionComparison


@dataclass(frozen=True)
class DataDescription(Displayed):
    """What `Dataset.describe` returns: the number of rows, and a :class:`ColumnDescription` of each column.

    Attributes
    ----------
    rows : int
    columns : tuple of ColumnDescription
    missing_patterns : MissingPatterns or None
        Which columns are missing together; this and what follows is part of a full description alone.
    correlations : Correlations or None
        Of columns of numbers and booleans.
    warnings : tuple of ColumnWarning
        What would hurt a model.
    label : str or None
        The column that `ColumnDescription.association` is about.

    Examples
    --------
    >>> column = ColumnDescription(name="x", type="int64", count=2, missing=1, distinct=2, min=1, max=3)
    >>> description = DataDescription(3, (column,))
    >>> description["x"].max, description.to_dict()["columns"]["x"]["missing"]
    (3, 1)
    """

    rows: int
    columns: tuple[ColumnDescription, ...]
    missing_patterns: MissingPatterns | None = None
    correlations: Correlations | None = None
    warnings: tuple[ColumnWarning, ...] = ()
    label: str | None = None
    _display = "penstock.report.notebook.descriptions:description_html"

    def __getitem__(self, name: str) -> ColumnDescription:
        """Return the description of one column; SchemaError for one that was not described."""
        for column in self.columns:
            if column.name == name:
                return column
        names = [column.name for column in self.columns]
        raise SchemaError(
            f"column {name!r} was not described, expected one of {len(names)}.{did_you_mean(name, names)}", column=name
        )

    def to_dict(self) -> dict[str, Any]:
        """Return ``rows``, and ``columns`` by name, each as `ColumnDescription.to_dict` has it: ready for JSON.

        A full description has ``missing_patterns``, ``correlations``, ``warnings`` and ``label``, too.
        """
        told: dict[str, Any] = {"rows": self.rows, "columns": {each.name: each.to_dict() for each in self.columns}}
        if self.missing_patterns is None:
            return told
        told["missing_patterns"] = self.missing_patterns.to_dict()
        told["correlations"] = None if self.correlations is None else self.correlations.to_dict()
        return {**told, "warnings": [each.to_dict() for each in self.warnings], "label": self.label}

    def to_html(self, *, title: str = "Description", details: Mapping[str, Any] | None = None) -> str:
        """Return a page: warnings, a figure for each column, missing patterns and correlations, of what is known.

        Parameters
        ----------
        title : str, default "Description"
        details : mapping of str to any, optional
            What stands under the title beside rows and columns.

        Returns
        -------
        str
            HTML that refers to nothing outside itself, as that of `penstock.report.render`.
        """
        return import_module("penstock.report.descriptions").render_description(self, title, details or {})

    def write_report(
        self, path: str | PathLike[str], *, title: str = "Description", details: Mapping[str, Any] | None = None
    ) -> Path | str:
        """Write the page of `to_html`, whole or not at all, and return its path; a page that is there is replaced.

        Raises
        ------
        OutputError, DiskFullError, CommitConflictError
            As of `penstock.report.write_report`.
        """
        page = self.to_html(title=title, details=details)
        return import_module("penstock.report.page").write_page(page, path)

    def compare(self, other: DataDescription, *, names: tuple[str, str] = ("left", "right")) -> DescriptionComparison:
        """Return this description and another side by side.

        Parameters
        ----------
        other : DataDescription
        names : tuple of (str, str), default=("left", "right")
            What the two are called.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> engine = ps.LocalEngine(device="cpu")
        >>> one, other = (engine.from_arrow(pa.table(table)) for table in ({"x": [1, 2]}, {"x": [1.5], "y": ["a"]}))
        >>> comparison = one.describe().compare(other.describe())
        >>> comparison.only_right, comparison.type_changes
        (('y',), {'x': ('int64', 'double')})
        """
        from penstock.dataset.description.description_comparison import DescriptionComparison  # it imports this

        return DescriptionComparison(self, other, names)

    def to_polars(self) -> pl.DataFrame:
        """Return one row a column; ``25%`` and the like are quantiles, ``first`` and ``last`` text, as values of `top`.

        ``min`` and ``max`` are float64, so that whole numbers beyond 2**53 are rounded; here they are not.
        """
        levels = {level: f"{100 * level:.12g}%" for column in self.columns for level in column.quantiles}
        schema = _schema(levels.values())
        rows = [_row(column, levels) for column in self.columns]
        return pl.DataFrame(rows, schema=schema, orient="row", strict=False) if rows else pl.DataFrame(schema=schema)

    def __repr__(self) -> str:
        """Return the table as text, and a line for each warning; characters that a terminal obeys are escaped."""
        told = self.to_dict()["columns"]
        lines = [f"{self.rows:,} rows, {len(self.columns):,} columns", aligned(*text_table(told))]
        return "\n".join([*lines, *map(str, self.warnings)])


def _schema(levels: Iterable[str]) -> dict[str, pl.DataType]:
    """Return the types of `DataDescription.to_polars`, in the order of its columns."""
    numbers = dict.fromkeys(("mean", "std", "min", *levels, "max"), pl.Float64())
    return {
        **dict.fromkeys(("column", "type"), pl.String()),
        **dict.fromkeys(("count", "missing", "distinct"), pl.Int64()),
        "distinct_error": pl.Float64(),
        "infinite": pl.Int64(),
        **numbers,
        **dict.fromkeys(("first", "last"), pl.String()),
        "length_min": pl.Int64(),
        "length_mean": pl.Float64(),
        "length_max": pl.Int64(),
        "top": pl.List(pl.Struct({"value": pl.String(), "count": pl.Int64()})),
        "top_error": pl.Int64(),
    }


def _row(column: ColumnDescription, levels: Mapping[float, str]) -> dict[str, Any]:
    told: dict[str, Any] = {name: getattr(column, name) for name in ("name", *_schema(())) if hasattr(column, name)}
    told |= {name: None if told[name] is None else float(told[name]) for name in ("min", "max")}
    told |= {name: None if told[name] is None else str(plain(told[name])) for name in ("first", "last")}
    told |= {levels[level]: value for level, value in column.quantiles.items()}
    told["top"] = [{"value": _text(value), "count": count} for value, count in column.top]
    told["distinct_error"] = None if column.distinct is None else column.distinct_error
    told["top_error"] = column.top_error if column.top else None
    return {"column": told.pop("name"), **told}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
