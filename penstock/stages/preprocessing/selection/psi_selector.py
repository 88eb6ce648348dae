"""Columns whose values do not stay as they were, left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError, DataValueError
from penstock.core.schemas import require
from penstock.core.selectors import is_numeric
from penstock.stages.base import Fitted, Tags, wrong_type
from penstock.stages.parameter_checks import in_range
from penstock.stages.preprocessing.columns import check_finite
from penstock.stages.preprocessing.selection.feature_selector import FeatureSelector
from penstock.stages.shapes import Fields, Number, Shape, by_column
from penstock.statistics import Count, Counts, Distribution, Frequencies, Quantiles, Statistic, ValueCounts, Violations
from penstock.statistics.divergences import psi
from penstock.statistics.grouped.before_after import BEYOND, UP_TO, BeforeAfter


class _Side(NamedTuple):
    """How values are distributed on one side of the cut-off, by column."""

    counts: Mapping[str, Count]
    numbers: Mapping[str, Distribution]
    strings: Mapping[str, Frequencies]


@dataclass(frozen=True)
class PSISelector(FeatureSelector):
    """Leaves out the columns whose population stability index, from earlier rows to later ones, is above a threshold.

    The rows are parted at a value of a column, mostly one of time. With a the share of the earlier rows that are in a
    bin, and b that of the later ones, the index is the sum over the bins of ``(b - a) * log(b / a)``; 0.0001 stands for
    a share of 0. Numbers are cut into bins at quantiles of the earlier rows, and of strings each value is a bin. As a
    rule of thumb, 0.1 is a slight change and 0.25 a large one.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers, booleans or strings to choose from.
    split : str
        The column that parts the rows, of numbers, booleans, strings, dates or times; it is read at fit alone.
    cut_off : int, float, str or bool
        Rows where `split` is at most this are the earlier ones; of dates and times their text, ``"2024-12-31"`` say.
    threshold : float, default=0.25
        A column stays if its index is not larger; 0 or more.
    bins : int, default=10
        Into how many parts, each of about as many of the earlier rows, numbers are cut, at least 2. Where they have no
        more distinct numbers, each of these is a bin, and so is each gap between them.

    Raises
    ------
    ConfigError
        A parameter is wrong, `cut_off` is no value of `split`, or `split` is among the columns.
    SchemaError
        At fit, before reading: a column is missing or of another type; or a later stage names one that was left out.
    DataValueError
        At fit: no row is on one side of `cut_off`, `split` is null or infinite, or a number is infinite. Column, count,
        first file and row are named.

    Notes
    -----
    Null is a bin of its own where it occurs, so that a column that is filled less often than it was is not stable. Each
    bin has the numbers above a quantile, up to and with the next; of equal quantiles one is used. Up to 65,536 numbers
    on a side shares are exact; beyond, they are off by at most about a thousandth, see
    :class:`~penstock.statistics.Quantiles`. Both sides are looked at in one scan. Learned is ``psi``, a number by
    column.

    feature-engine's ``DropHighPSIFeatures`` passes over nulls, cuts few distinct numbers at quantiles as well, so that
    it does not see what happens to the rare ones, and can part rows by their order, which is nothing that lasts here.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> table = pa.table({"year": [2023] * 4 + [2024] * 4, "x": [1, 2, 3, 4, 1, 2, 3, 4], "s": [*"aabb", *"bbbc"]})
    >>> data = ps.LocalEngine().from_arrow(table)
    >>> model = ps.Pipeline(st.PSISelector(["x", "s"], "year", 2023)).fit(data)
    >>> model.transform(data).columns, round(model.fitted[0]["psi"]["s"], 3)
    (['year', 'x'], 6.314)
    """

    split: str
    cut_off: float | str | bool
    _: KW_ONLY
    threshold: float = field(default=0.25, metadata=in_range(least=0))
    bins: int = field(default=10, metadata=in_range(least=2, whole=True))

    tags: ClassVar[Tags] = Tags(lazy=True)

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns, and check them, and the value at which rows are parted."""
        require(schema, (self.split,), stage=self.title)
        bound = super().bind(schema)
        if self.split in bound.doubtful():
            raise ConfigError(f"split {self.split!r} is among the columns", column=self.split, stage=self.title)
        for name in bound.doubtful():
            kind = schema.field(name).type
            if not (is_numeric(kind) or pa.types.is_string(kind)):
                raise wrong_type(self.title, name, kind, "numbers, booleans and strings")
        self._edge(schema)
        return bound

    def _edge(self, schema: pa.Schema) -> Any:
        """Return the cut-off as a Python value that the column can be compared with."""
        kind = schema.field(self.split).type
        number = isinstance(self.cut_off, int | float) and self.cut_off == self.cut_off
        if is_numeric(kind) and number:
            return self.cut_off
        try:
            if isinstance(self.cut_off, str) and not is_numeric(kind):
                return pa.scalar(self.cut_off).cast(kind).as_py()
        except pa.ArrowException:
            pass
        raise ConfigError(
            f"cut_off of {self.title} is {self.cut_off!r}, expected a value for column {self.split!r} of type {kind}",
            column=self.split,
            stage=self.title,
        )

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for how values are distributed on both sides."""
        kinds = {name: schema.field(name).type for name in self.doubtful()}
        strings = tuple(name for name, kind in kinds.items() if pa.types.is_string(kind))
        numbers = tuple(name for name in kinds if name not in strings)
        floating = tuple(name for name, kind in kinds.items() if pa.types.is_floating(kind))
        wanted = [Counts(self.doubtful()), Quantiles(numbers), ValueCounts(strings)]
        return {
            "sides": BeforeAfter.of(self.split, self._edge(schema), wanted),
            "infinite": Violations(floating, "infinite"),
        }

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``psi``, the index of each column."""
        check_finite(results["infinite"])
        early, late = (_Side(*results["sides"][key]) for key in (UP_TO, BEYOND))
        self._check_rows(early, "at most")
        self._check_rows(late, "beyond")
        return {"psi": {name: psi(*self._binned(name, early, late)) for name in self.doubtful()}}

    def _check_rows(self, side: _Side, told: str) -> None:
        if not side.counts[self.doubtful()[0]].rows:
            raise DataValueError(
                f"column {self.split!r} is {told} {self.cut_off!r} in no row, so that there is nothing to compare",
                hint="Choose a cut_off with rows on both of its sides.",
                column=self.split,
            )

    def _binned(self, name: str, early: _Side, late: _Side) -> list[np.ndarray]:
        """Return how many values of a column are in each bin, on each side; the last bin is that of null."""
        if name in early.strings:
            binned = _by_value(early.strings[name], late.strings[name])
        else:
            edges = self._edges(early.numbers[name])
            binned = [_between(side.numbers[name], edges) for side in (early, late)]
        return [np.append(bins, side.counts[name].nulls) for bins, side in zip(binned, (early, late), strict=True)]

    def _edges(self, early: Distribution) -> np.ndarray:
        """Return the last numbers of all bins but the last, ascending."""
        distinct = np.unique(early.values)
        if len(distinct) <= self.bins:
            return np.column_stack([np.nextafter(distinct, -np.inf), distinct]).ravel()
        return np.unique([early.quantile(place / self.bins) for place in range(1, self.bins)])

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        return Fields({"psi": by_column(self.doubtful(), Number())})

    def left_out(self, fitted: Fitted) -> Mapping[str, str]:
        """Return the columns whose index is above the threshold."""
        high = {name: psi for name, psi in fitted["psi"].items() if psi > self.threshold}
        return {
            name: f"its population stability index is {psi:.6g}, above {self.threshold!r}" for name, psi in high.items()
        }


def _between(distribution: Distribution, edges: np.ndarray) -> np.ndarray:
    """Return how many values are up to the first edge, between it and the next, ..., and beyond the last."""
    ranks = np.concatenate([[0], np.cumsum(distribution.weights)])
    places = np.searchsorted(distribution.values, edges, side="right").astype(np.int64)
    return np.diff(ranks[places], prepend=0, append=ranks[-1])


def _by_value(*sides: Frequencies) -> list[np.ndarray]:
    """Return how often each string that occurs on any of the sides does on each."""
    tables = [(side.table["value"].to_pylist(), side.table["count"].to_pylist()) for side in sides]
    counts = [dict(zip(values, found, strict=True)) for values, found in tables]
    occurring = sorted(set().union(*counts))
    return [np.array([count.get(value, 0) for value in occurring], dtype=np.int64) for count in counts]
