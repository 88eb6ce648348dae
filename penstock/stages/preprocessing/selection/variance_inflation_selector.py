"""Columns that others explain, left out one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import pyarrow as pa

from penstock.stages.base import Fitted
from penstock.stages.parameter_checks import in_range
from penstock.stages.preprocessing.selection.feature_selector import FeatureSelector
from penstock.stages.shapes import Fields, Maybe, Number, Shape, by_column
from penstock.statistics import Gram, Statistic
from penstock.statistics.sweep import Sweep

_NEARLY = 1 - 1e-9
"""Factors are equal up to rounding: of two columns alone always."""


@dataclass(frozen=True)
class VarianceInflationSelector(FeatureSelector):
    """Leaves out columns that others explain, until no variance inflation factor is above a threshold.

    The factor of a column is ``1 / (1 - r2)`` of a regression on the others; see
    :func:`~penstock.stat.variance_inflation`. The column of the largest factor goes first, and those of the others
    are then known anew. Of several that are equal, up to 1e-9, as two columns that explain each other always are, the
    last goes: put first what is cheaper or better to have.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1) to choose from, at most 5,000; not the label.
    threshold : float, default=10.0
        1 or more.

    Raises
    ------
    ConfigError
        The threshold is below 1, or there are too many columns.
    SchemaError
        At fit, before reading: a column is missing or not numeric; or a later stage names one that was left out.
    DataValueError
        At fit: a value is null, infinite or beyond 1e150; column, count, file and row are named.

    Notes
    -----
    A constant column is explained by nothing, and stays; see :class:`VarianceThresholdSelector`. Columns that earlier
    ones explain, up to 1e-12 of their variance, go before all others. All factors come from one
    :class:`~penstock.statistics.Gram` statistic.

    Learned are, by column, ``left_out``, the factors that columns had when they were left out (None for an infinite
    one), and ``factors``, those of the columns that stay, among each other (None for a constant one).

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> table = pa.table({"net": [1.0, 2.0, 4.0, 3.0], "tax": [0.0, 1.0, 1.0, 0.0], "gross": [1.0, 3.0, 5.0, 3.0]})
    >>> data = ps.LocalEngine().from_arrow(table)
    >>> model = ps.Pipeline(st.VarianceInflationSelector(["net", "tax", "gross"])).fit(data)
    >>> model.transform(data).columns, model.stages[0].left_out(model.fitted[0])
    (['net', 'tax'], {'gross': 'others explain it: its variance inflation factor is infinite, above 10.0'})
    """

    _: KW_ONLY
    threshold: float = field(default=10.0, metadata=in_range(least=1))

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for the products of all columns with each other."""
        return {"gram": Gram(self.doubtful())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return the factors of the columns left out, and of those that stay."""
        names, sweep = self.doubtful(), Sweep(results["gram"])
        vary = [place for place in range(len(names)) if not sweep.constant[place]]
        left: dict[str, float | None] = {names[place]: None for place in sweep.add_all(vary)}
        while sweep.swept:
            factors = {place: sweep.inflation(place) for place in sorted(sweep.swept)}
            largest = max(factors.values())
            if largest <= self.threshold:
                break
            last = max(place for place, factor in factors.items() if factor >= largest * _NEARLY)
            left[names[last]] = factors[last]
            sweep.remove(last)
        stay = [place for place in range(len(names)) if names[place] not in left]
        known = {names[place]: sweep.inflation(place) if place in sweep.swept else None for place in stay}
        return {"left_out": left, "factors": known}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        factors = by_column(self.doubtful(), Maybe(Number(least=1)), some=True)
        return Fields({"left_out": factors, "factors": factors})

    def left_out(self, fitted: Fitted) -> Mapping[str, str]:
        """Return the columns that others explain."""
        shown = {name: "infinite" if each is None else f"{each:.6g}" for name, each in fitted["left_out"].items()}
        reason = "others explain it: its variance inflation factor is"
        return {name: f"{reason} {each}, above {self.threshold!r}" for name, each in shown.items()}
