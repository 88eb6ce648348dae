"""The metrics of MLlib's Summarizer, weighted or not."""

from __future__ import annotations

from penstock.core.selectors import Columns
from penstock.dataset.dataset import Dataset
from penstock.stat.gathering import gathered, numbers
from penstock.statistics.summaries import Summaries, Summary


def summarize(dataset: Dataset, columns: Columns, weight: str | None = None) -> dict[str, Summary]:
    """Return mean, variance, norms and more of columns, from one scan; MLlib's ``Summarizer``.

    Parameters
    ----------
    dataset : Dataset
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1); computed in float64.
    weight : str, optional
        A column of numbers, 0 or more; without it every row weighs 1. A row of weight 0 is as if absent.

    Returns
    -------
    dict of str to Summary
        ``count``, ``num_nonzeros``, ``weight``, ``mean``, ``variance``, ``std``, ``min``, ``max``, ``norm_l1``,
        ``norm_l2`` and ``sum`` of each column, by formulas that :class:`Summary` has.

    Raises
    ------
    SchemaError
        A column is not there, or has no numbers.
    ConfigError
        No column is selected, or one is named twice.
    DataValueError
        A value is infinite or beyond 1e150; a weight is null, infinite or negative. File and row are named.

    Notes
    -----
    Nulls are left out column by column, so that counts may differ; MLlib takes none.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [0.0, 3.0, 4.0], "w": [1.0, 1.0, 2.0]}))
    >>> found = ps.stat.summarize(data, "x", weight="w")["x"]
    >>> found.mean, found.num_nonzeros, found.norm_l1, found.sum
    (2.75, 2, 11.0, 11.0)
    """
    names = numbers(dataset, columns, "summarize")
    weights = () if weight is None else numbers(dataset, weight, "weight of summarize")
    statistic = Summaries((*names, *weights), weighted=weight is not None)
    return gathered(dataset, statistic, label="summarize")[0]
