"""Pearson's chi-squared test of independence of categorical columns and a label."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.selectors import Columns
from penstock.dataset.dataset import Dataset
from penstock.stat.association import chi_squared
from penstock.stat.gathering import contingencies


@dataclass(frozen=True)
class ChiSquareResult:
    """The statistic of a test, how likely one as large is of columns that are independent, its degrees of freedom."""

    statistic: float
    p_value: float
    degrees_of_freedom: int


def chi_square_test(dataset: Dataset, columns: Columns, label: str) -> dict[str, ChiSquareResult]:
    """Test each of several columns for being independent of a label; MLlib's ``ChiSquareTest``, from one scan.

    Parameters
    ----------
    dataset : Dataset
    columns : str, sequence of str, or Selector
        Columns of strings, integers or booleans, of at most 10,000 different values each.
    label : str
        Strings, booleans or whole numbers, of at most 10,000 different values.

    Returns
    -------
    dict of str to ChiSquareResult
        Without a correction for continuity. Of a column with a single value the statistic is 0 and the p-value 1.

    Raises
    ------
    SchemaError
        A column is not there, or of another type.
    ConfigError
        The label is among the columns, or these are none.
    DataValueError
        A label is null, infinite or has a fraction, with file and row; values are too many; there are no rows.

    Notes
    -----
    Null is a category like any other. The test is the one of ``UnivariateFeatureSelector``.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> table = pa.table({"c": ["a"] * 4 + ["b"] * 4, "label": [0, 0, 0, 1, 1, 1, 1, 0]})
    >>> found = ps.stat.chi_square_test(ps.LocalEngine(device="cpu").from_arrow(table), "c", "label")["c"]
    >>> found.statistic, round(found.p_value, 4), found.degrees_of_freedom
    (2.0, 0.1573, 1)
    """
    tables = contingencies(dataset, columns, label, "chi_square_test")
    freedoms = [(len(table.values) - 1) * (len(table.classes) - 1) for table in tables.values()]
    tested = zip(tables, *chi_squared(list(tables.values())), freedoms, strict=True)
    return {name: ChiSquareResult(score, p_value, freedom) for name, score, p_value, freedom in tested}
