"""What has changed since the rows of a profile: column by column, each number beside what chance alone would give."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.core.displayed import Displayed
from penstock.core.errors import DriftError
from penstock.core.redaction import presentable
from penstock.pipeline.drift.column_drift import ColumnDrift, DriftMeasure

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class MetricDrift:
    """A metric of an evaluator, on the rows of the profile and on those of today.

    ``error`` is the standard error of the difference, as bootstraps say; None without them, and then there is no test.
    """

    name: str
    reference: float | None
    current: float | None
    error: float | None
    p_value: float | None
    adjusted: float | None = None
    limit: float | None = None
    drifted: bool = False

    @property
    def difference(self) -> float | None:
        """Today's less that of the profile."""
        return None if self.reference is None or self.current is None else self.current - self.reference

    def __str__(self) -> str:
        error = "" if self.error is None else f" (standard error {self.error:.4g})"
        return f"{self.name} was {_shown(self.reference)}, is {_shown(self.current)}{error}"


@dataclass(frozen=True, repr=False)
class DriftReport(Displayed):
    """What has changed since the rows of a profile.

    Attributes
    ----------
    columns : tuple of ColumnDrift
        Inputs, then scores, then labels.
    rows, reference_rows : int
    level : float
        How often there is an alarm where nothing has changed.
    slices : mapping of str to mapping of str to tuple of ColumnDrift
        By what was sliced by, and the values of a slice.
    metrics : tuple of MetricDrift

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> engine = ps.LocalEngine(device="cpu")
    >>> before, now = (engine.from_arrow(pa.table({"x": [*range(low, low + 500)]})) for low in (0, 300))
    >>> ps.Pipeline(st.MinMaxScaler("x")).fit(before, keep_profile=True).drift(now).drifted[0].name
    'x'
    """

    columns: tuple[ColumnDrift, ...]
    rows: int
    reference_rows: int
    level: float
    slices: Mapping[str, Mapping[str, tuple[ColumnDrift, ...]]] = field(default_factory=dict)
    metrics: tuple[MetricDrift, ...] = ()
    _display = "penstock.report.notebook.drifts:drift_html"

    def __getitem__(self, name: str) -> ColumnDrift:
        """Return a column by its name, an input before a score."""
        for each in self.columns:
            if each.name == name:
                return each
        raise KeyError(name)

    @property
    def passed(self) -> bool:
        """Whether there is no alarm."""
        return not self.alarms

    @property
    def drifted(self) -> tuple[ColumnDrift, ...]:
        """The columns of all rows in which something is an alarm, the surest first."""
        return tuple(sorted((each for each in self.columns if each.drifted), key=_certainty))

    @property
    def alarms(self) -> tuple[str, ...]:
        """What is an alarm, in words: columns, slices and metrics."""
        sliced = (
            presentable(f"{by} = {key}: {column}")
            for by, found in self.slices.items()
            for key, columns in found.items()
            for column in columns
            if column.drifted
        )
        return (*map(str, self.drifted), *sliced, *(str(each) for each in self.metrics if each.drifted))

    @property
    def summary(self) -> str:
        """How many columns drifted, in a line."""
        of_slices = sum(each.drifted for found in self.slices.values() for part in found.values() for each in part)
        told = [f"{len(self.drifted)} of {len(self.columns)} columns drifted"]
        told += [f"{of_slices} in slices"] if self.slices else []
        told += [f"{sum(each.drifted for each in self.metrics)} of {len(self.metrics)} metrics"] if self.metrics else []
        return f"{', '.join(told)}; {self.rows:,} rows against {self.reference_rows:,}, level {self.level:g}"

    def __repr__(self) -> str:
        return "\n".join([self.summary, *(f"drifted  {each}" for each in self.alarms)])

    def raise_if_drifted(self) -> DriftReport:
        """Return the report, unless something is an alarm.

        Raises
        ------
        DriftError
            All alarms are told.
        """
        if self.passed:
            return self
        raise DriftError(
            f"{self.summary}: {'; '.join(self.alarms)}",
            hint="Look at the page of the drift; fit again, or set limits for what the model can live with.",
            column=self.drifted[0].name if self.drifted else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, which JSON can hold."""
        slices = {
            by: {key: [_column(each) for each in columns] for key, columns in found.items()}
            for by, found in self.slices.items()
        }
        return {
            "passed": self.passed,
            "rows": self.rows,
            "reference_rows": self.reference_rows,
            "level": self.level,
            "alarms": list(self.alarms),
            "columns": [_column(each) for each in self.columns],
            "slices": slices,
            "metrics": [_plain(vars(each)) for each in self.metrics],
        }

    def to_html(self, *, title: str = "Drift", details: Mapping[str, Any] | None = None) -> str:
        """Return one HTML page: alarms, measures, what differs, and drawings of the columns, those with an alarm first.

        It needs nothing but itself, as that of an evaluation.
        """
        return import_module("penstock.report.drifts").render_drift(self, title, details or {})

    def write_report(
        self, path: str | os.PathLike[str], *, title: str = "Drift", details: Mapping[str, Any] | None = None
    ) -> Path | str:
        """Write the page, whole or not at all; a page that is there is replaced.

        Errors are those of :func:`penstock.report.write_report`.
        """
        page = self.to_html(title=title, details=details)
        return import_module("penstock.report.page").write_page(page, path)

    def to_polars(self) -> pl.DataFrame:
        """Return a row for each measure of each column; of slices too, whose values are in ``slice``."""
        import polars as pl

        rows = [
            {"column": column.name, "role": column.role, "slice": named, **vars(measure)}
            for named, column in self._all_columns()
            for measure in column.measures
        ]
        numbers = dict.fromkeys(("value", "expected", "chance", "p_value", "adjusted", "limit"), pl.Float64)
        texts: dict[str, Any] = dict.fromkeys(("column", "role", "slice", "measure"), pl.String)
        rows = [{**{key: value for key, value in row.items() if key != "name"}, "measure": row["name"]} for row in rows]
        return pl.DataFrame(rows, schema={**texts, **numbers, "drifted": pl.Boolean})

    def _all_columns(self) -> Iterator[tuple[str | None, ColumnDrift]]:
        yield from ((None, each) for each in self.columns)
        for by, found in self.slices.items():
            yield from ((f"{by} = {key}", each) for key, columns in found.items() for each in columns)


def _certainty(column: ColumnDrift) -> float:
    return min((each.adjusted for each in column.measures if each.drifted and each.adjusted is not None), default=1.0)


def _column(column: ColumnDrift) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "name": column.name,
        "role": column.role,
        "drifted": column.drifted,
        "reference": _plain(column.reference),
        "current": _plain(column.current),
        "measures": {each.name: _plain(_without_name(each)) for each in column.measures},
    }
    shares = [{"change": each.change, **_plain(vars(each))} for each in column.categories]
    return fields | ({"categories": shares} if shares else {})


def _without_name(measure: DriftMeasure) -> dict[str, Any]:
    return {name: value for name, value in vars(measure).items() if name != "name"}


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as JSON has them: what is not finite is text."""
    return {
        name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in values.items()
    }


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.6g}"
