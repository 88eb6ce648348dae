"""How columns vary together: Pearson's coefficients of values, and Spearman's of ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa

from penstock.core.errors import SchemaError, check_one_of, did_you_mean
from penstock.core.selectors import Columns
from penstock.dataset.dataset import Dataset
from penstock.stat.distributions import distributions
from penstock.stat.gathering import gathered, numbers
from penstock.statistics import CrossProducts, Distribution, Gram

METHODS = ("pearson", "spearman")


@dataclass(frozen=True, eq=False)
class CorrelationMatrix:
    """Correlations of each of several columns with each.

    Attributes
    ----------
    columns : tuple of str
    matrix : numpy.ndarray of shape (n_columns, n_columns)
        In the order of `columns`; NaN where one of two different columns is constant, as from NumPy and MLlib.
    rank_error : float
        Of Spearman's, by which share of the rows a rank may be wrong; 0.0 where ranks are exact.
    """

    columns: tuple[str, ...]
    matrix: np.ndarray
    rank_error: float = 0.0

    def __getitem__(self, pair: tuple[str, str]) -> float | None:
        """Return the correlation of two columns, None where it is undefined; SchemaError for others."""
        for name in pair:
            if name not in self.columns:
                problem = f"column {name!r} was not correlated.{did_you_mean(name, self.columns)}"
                raise SchemaError(problem, column=name)
        found = float(self.matrix[self.columns.index(pair[0]), self.columns.index(pair[1])])
        return None if np.isnan(found) else found

    def to_polars(self) -> pl.DataFrame:
        """Return one row a column, its name as ``column``, and its correlations by name; null where undefined."""
        by_name = {name: self.matrix[:, place] for place, name in enumerate(self.columns)}
        head = next(name for name in ("column", "column_name", "of") if name not in by_name)
        return pl.DataFrame({head: list(self.columns), **by_name}).with_columns(pl.selectors.float().fill_nan(None))


def correlation(dataset: Dataset, columns: Columns, method: str = "pearson") -> CorrelationMatrix:
    """Return how each of several columns correlates with each; MLlib's ``Correlation``.

    Parameters
    ----------
    dataset : Dataset
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1), at most 5,000; computed in float64.
    method : {"pearson", "spearman"}, default="pearson"
        Pearson's coefficients come from one scan, by :class:`~penstock.statistics.Gram`. Spearman's are those of the
        ranks, equal values sharing their mean rank, and take two: one for the distributions, one for the ranks.

    Raises
    ------
    SchemaError
        A column is not there, or has no numbers.
    ConfigError
        The method is not known, or columns are none, twice or too many.
    DataValueError
        A value is null; or, for Pearson's, infinite or beyond 1e150. File and row are named.

    Notes
    -----
    Ranks are exact for a column of up to 65,536 different values, and for up to 65,536 rows. Beyond, they are read off
    the sketch of :class:`~penstock.statistics.Quantiles`: no rank is wrong by more than ``rank_error``, a share of the
    rows, about 0.001 for a billion of them. Coefficients of columns without ties then differ by less than 14 times that
    (from the inequality of Cauchy and Schwarz, to first order), in practice by far less.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1.0, 2.0, 3.0], "y": [1.0, 10.0, 1000.0]}))
    >>> round(ps.stat.correlation(data, ["x", "y"])["x", "y"], 4)
    0.8699
    >>> round(ps.stat.correlation(data, ["x", "y"], method="spearman")["x", "y"], 12)
    1.0
    """
    check_one_of("method", method, METHODS)
    names, error = numbers(dataset, columns, "correlation"), 0.0
    if method == "spearman":
        known = distributions(dataset, names, "ranks", nulls=False)
        error = max(each.rank_error for each in known.values())
        schema = pa.schema([(name, pa.float64()) for name in names])
        dataset = dataset.select(list(names)).map_partitions(partial(_ranked, known), schema)
    (gram,) = gathered(dataset, Gram(names), label="correlation")
    return CorrelationMatrix(names, _coefficients(gram), error)


def _ranked(known: Mapping[str, Distribution], frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Return the mean rank of each value among those of all rows, from 1."""
    series = [nw.new_series(name, _ranks(each, frame[name]), backend="polars") for name, each in known.items()]
    return frame.select(*series)


def _ranks(known: Distribution, column: nw.Series[Any]) -> np.ndarray:
    values = column.cast(nw.Float64).to_numpy()
    ranks = np.concatenate([[0], np.cumsum(known.weights)])
    below, up_to = (ranks[np.searchsorted(known.values, values, side=side)] for side in ("left", "right"))
    return (below + up_to + 1) / 2


def _coefficients(gram: CrossProducts) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = np.sqrt(np.diag(gram.cross))
        matrix = np.clip(gram.cross / lengths[:, None] / lengths, -1.0, 1.0)
    np.fill_diagonal(matrix, 1.0)
    return matrix
