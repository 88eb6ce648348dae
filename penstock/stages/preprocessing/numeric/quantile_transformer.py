"""Columns spread evenly, or like a normal distribution, by their ranks."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from penstock import frames
from penstock.frames import matrices
from penstock.stages.base import ColumnStage, Fitted, Tags
from penstock.stages.constant_columns import constant_note
from penstock.stages.number_columns import values_of, with_results
from penstock.stages.parameter_checks import in_range, one_of
from penstock.stages.preprocessing.scaling.affine import check_quality, check_range, quality
from penstock.stages.shapes import Fields, Shape, TableOf, by_column
from penstock.statistics import Distribution, Quantiles, Statistic

_LEAST = 1e-7 - float(np.spacing(1.0))
_NORMAL_ENDS = float(ndtri(_LEAST)), float(ndtri(1.0 - _LEAST))


@dataclass(frozen=True)
class QuantileTransformer(ColumnStage):
    """Replaces a value by its place among those of the fit, a number between 0 and 1, or by the normal quantile there.

    The place is read off a line through `n_quantiles` quantiles, as in scikit-learn: it is 0 at the smallest value of
    the fit and below, 1 at the largest and above, and in the middle of its range for a value so frequent that several
    quantiles are equal to it. Any distribution becomes a uniform or a normal one; outliers lose their distance.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    n_quantiles : int, default=1000
        Through how many quantiles the line goes, at least 2; through as many as there are values if these are fewer.
    output_distribution : {"uniform", "normal"}, default="uniform"
        For ``normal`` places are kept 1e-7 away from 0 and 1, so that results lie between -5.2 and 5.2.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        A parameter is wrong.
    SchemaError
        At fit, before reading: a column is missing or not numeric.
    DataValueError
        At fit: a column has no value that is not null, or holds an infinity (column, file and row are named), or the
        range of its values overflows float64.

    Notes
    -----
    A null stays null and takes no part. A column that was constant at fit becomes 0.0 (for ``normal`` -5.2) where it is
    not larger than that constant. An infinity that comes after the fit is beyond the ends as other numbers are.

    Quantiles are exact up to 65,536 values. Beyond, their rank, and so a place, is wrong by at most about a thousandth
    of the rows for a billion of them, and by less for fewer, see :class:`~penstock.statistics.Quantiles`; all rows
    count, where scikit-learn draws 10,000 by default (``subsample``).

    Unlike in scikit-learn, ``normal`` has the ends where ``uniform`` has them: there every value that is nearer than
    1e-7 to an end is moved to it, whatever the scale of the column.
    Learned are ``quantiles``, an Arrow table by column of ``quantile`` (ascending) and its ``place``.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1, 2, 4, 11, None]}))
    >>> model = ps.Pipeline(st.QuantileTransformer("x", n_quantiles=3)).fit(data)
    >>> model.transform(data).to_arrow()["x"].to_pylist()
    [0.0, 0.25, 0.5625, 1.0, None]
    """

    _: KW_ONLY
    n_quantiles: int = field(default=1000, metadata=in_range(least=2, whole=True))
    output_distribution: str = field(default="uniform", metadata=one_of("uniform", "normal"))

    made_type: ClassVar[pa.DataType | None] = pa.float64()
    tags: ClassVar[Tags] = Tags(accepts="numeric")

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for quantiles, and for what would spoil them."""
        return {**quality(self.inputs(), schema), "quantiles": Quantiles(self.inputs())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``quantiles`` of each column."""
        check_quality(results)
        return {"quantiles": {name: self._table(name, found) for name, found in results["quantiles"].items()}}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        names = ("quantile", "place")
        line = TableOf(dict.fromkeys(names, pa.types.is_floating), least=2, ascending=names)
        return Fields({"quantiles": by_column(self.inputs(), line)})

    def _table(self, name: str, found: Distribution) -> pa.Table:
        n = max(min(self.n_quantiles, found.count), 2)
        quantiles, places = found.spaced(n), np.linspace(0.0, 1.0, n)
        check_range(name, float(quantiles[0]), float(quantiles[-1]))
        return pa.table({"quantile": quantiles, "place": places})

    def notes(self, fitted: Fitted) -> list[str]:
        ends = {name: table["quantile"].to_numpy()[[0, -1]] for name, table in fitted["quantiles"].items()}
        constant = (name for name, (low, high) in ends.items() if low == high)
        return constant_note(constant, "every value at fit becomes the same")

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Find the places column by column, then put all columns in at once."""
        return with_results(frame, {out: self._made(frame, name, fitted) for name, out in self.pairs()})

    def _made(self, frame: nw.DataFrame, name: str, fitted: Fitted) -> Any:
        kind = frames.kind_of(frame)
        quantiles, places = (matrices.to_device(each, kind) for each in _lines(fitted["quantiles"][name]))
        found = _places(values_of(frame, name), quantiles, places)
        if self.output_distribution == "uniform":
            return found
        return np.clip(matrices.special("ndtri", found), *_NORMAL_ENDS)

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Find the place of one value."""
        quantiles, places = _lines(fitted["quantiles"][name])
        known = quantiles.tolist(), places.tolist(), _middles(quantiles, places).tolist()
        low, high = _NORMAL_ENDS

        def made(value: Any) -> float | None:
            if value is None:
                return None
            place = _place(float(value), *known)
            return place if self.output_distribution == "uniform" else min(max(float(ndtri(place)), low), high)

        return made


def _lines(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    return table["quantile"].to_numpy(), table["place"].to_numpy()


def _places(values: Any, quantiles: Any, places: Any) -> Any:
    """Return the place of each value, NaN for NaN; on the device."""
    last = len(quantiles) - 1
    below = np.clip(np.searchsorted(quantiles, values, side="right") - 1, 0, last)  # the last quantile not above
    above = np.minimum(below + 1, last)
    start, place = quantiles[below], places[below]
    inside = (values > start) & (below < last)
    share = np.where(inside, values - start, 0.0) / np.where(inside, quantiles[above] - start, 1.0)
    found = np.where(inside, place + share * (places[above] - place), _middles(quantiles, places)[below])
    found = np.where(values >= quantiles[-1], 1.0, found)
    found = np.where(values <= quantiles[0], 0.0, found)
    return np.where(np.isnan(values), values, found)


def _middles(quantiles: Any, places: Any) -> Any:
    """Return, for each quantile, the middle of the places of the first that is equal to it and of itself."""
    first = np.searchsorted(quantiles, quantiles, side="left")
    return places + 0.5 * (places[first] - places)


def _place(value: float, quantiles: list[float], places: list[float], middles: list[float]) -> float:
    """Return the place of one value, to the bit that of :func:`_places`."""
    if value <= quantiles[0] or value >= quantiles[-1]:
        return 0.0 if value <= quantiles[0] else 1.0
    below = bisect.bisect_right(quantiles, value) - 1
    start, place = quantiles[below], places[below]
    if value == start:
        return middles[below]
    return place + (value - start) / (quantiles[below + 1] - start) * (places[below + 1] - place)
