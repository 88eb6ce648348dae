"""How far columns explain each other: variance inflation factors."""

from __future__ import annotations

import math

import numpy as np

from penstock.core.selectors import Columns
from penstock.dataset.dataset import Dataset
from penstock.stat.gathering import check_rows, gathered, numbers
from penstock.statistics.gram import CrossProducts, Gram
from penstock.statistics.sweep import SMALLEST_PIVOT

_ROUNDED = 1e-15
"""Eigenvalues of correlations below are rounding."""


def variance_inflation(dataset: Dataset, columns: Columns) -> dict[str, float | None]:
    """Return the variance inflation factor of each of several columns, from one scan.

    Parameters
    ----------
    dataset : Dataset
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1), at most 5,000; without the label.

    Returns
    -------
    dict of str to float or None
        ``1 / (1 - r2)``, where r2 is that of a regression, with an intercept, of the column on the others: the diagonal
        of the inverse of their correlations. By so much the variance of its coefficient in a linear model is larger
        than if it had nothing to do with them. Infinite where others explain it, up to 1e-12 of its variance; None for
        a constant column.

    Raises
    ------
    SchemaError
        A column is not there, or has no numbers.
    ConfigError
        No column is selected, one is named twice, or they are too many.
    DataValueError
        A value is null, infinite or beyond 1e150, with file and row; there are no rows.

    Notes
    -----
    Above 5 or 10 coefficients say little; :class:`~penstock.stages.VarianceInflationSelector` leaves such columns out.
    statsmodels' ``variance_inflation_factor`` is the same of a table with a column of ones.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> table = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 2.0, 3.0, 5.0], "z": [1.0, -1.0, -1.0, 1.0]})
    >>> found = ps.stat.variance_inflation(ps.LocalEngine(device="cpu").from_arrow(table), ["x", "y", "z"])
    >>> {name: round(each, 2) for name, each in found.items()}
    {'x': 170.0, 'y': 175.0, 'z': 6.0}
    """
    names = numbers(dataset, columns, "variance_inflation")
    (gram,) = gathered(dataset, Gram(names), label="variance_inflation")
    check_rows(gram.count, "variance_inflation")
    return dict(zip(names, _factors(gram), strict=True))


def _factors(gram: CrossProducts) -> list[float | None]:
    """Return the diagonal of the inverse correlations, by eigenvectors: one dependency spoils no other columns."""
    lengths = np.sqrt(np.diag(gram.cross))
    used = np.flatnonzero(lengths)
    factors: list[float | None] = [None] * len(lengths)
    correlations = gram.cross[np.ix_(used, used)] / lengths[used][:, None] / lengths[used]
    np.fill_diagonal(correlations, 1.0)
    values, vectors = np.linalg.eigh(correlations)
    for place, found in zip(used, (vectors**2 / np.maximum(values, _ROUNDED)).sum(axis=1), strict=True):
        factors[place] = math.inf if found > 1 / SMALLEST_PIVOT else max(float(found), 1.0)
    return factors
