"""One-way analysis of variance of columns of numbers by the classes of a label."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.selectors import Columns
from penstock.dataset.dataset import Dataset
from penstock.stat.association import analysis_of_variance
from penstock.stat.gathering import check_label, check_rows, gathered, numbers
from penstock.statistics.class_moments import ClassMoments


@dataclass(frozen=True)
class AnovaResult:
    """The F of a test, and how likely one as large is where all classes have one mean.

    ``degrees_of_freedom`` are those between the classes and within them; MLlib gives their sum.
    """

    statistic: float
    p_value: float
    degrees_of_freedom: tuple[int, int]


def anova_test(dataset: Dataset, columns: Columns, label: str) -> dict[str, AnovaResult]:
    """Test whether means of columns differ between classes; MLlib's ``ANOVATest``, scipy's ``f_oneway``, from one scan.

    Parameters
    ----------
    dataset : Dataset
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    label : str
        Strings, booleans or whole numbers, of at most 10,000 different values.

    Returns
    -------
    dict of str to AnovaResult
        F is 0 and the p-value 1 of a constant column, of a single class, and where each row is a class of its own. F is
        the largest float64, and the p-value 0, of a column that does not vary within classes.

    Raises
    ------
    SchemaError
        A column is not there, or of another type.
    ConfigError
        The label is among the columns, or these are none.
    DataValueError
        A value is null, infinite or beyond 1e150, or a label null, infinite or with a fraction; file and row are named.
        There are too many classes, or no rows.

    Notes
    -----
    Means and squares come from :class:`ClassMoments`: of data far from zero nothing cancels.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> table = pa.table({"x": [1.0, 2.0, 8.0, 9.0], "label": ["a", "a", "b", "b"]})
    >>> found = ps.stat.anova_test(ps.LocalEngine(device="cpu").from_arrow(table), "x", "label")["x"]
    >>> found.statistic, round(found.p_value, 4), found.degrees_of_freedom
    (98.0, 0.0101, (1, 2))
    """
    names = numbers(dataset, columns, "anova_test")
    check_label(dataset, label, names, "anova_test")
    (moments,) = gathered(dataset, ClassMoments((label, *names)), label="anova_test")
    rows, classes = int(moments.rows.sum()), len(moments.rows)
    check_rows(rows, "anova_test")
    tested = zip(names, *analysis_of_variance(moments), strict=True)
    return {name: AnovaResult(score, p_value, (classes - 1, rows - classes)) for name, score, p_value in tested}
