"""How much categorical columns tell of a label."""

from __future__ import annotations

import numpy as np

from penstock.core.selectors import Columns
from penstock.dataset.dataset import Dataset
from penstock.stat.gathering import contingencies


def mutual_information(dataset: Dataset, columns: Columns, label: str) -> dict[str, float]:
    """Return the mutual information of each of several columns and a label, in nats, from one scan.

    Parameters
    ----------
    dataset : Dataset
    columns : str, sequence of str, or Selector
        Columns of strings, integers or booleans, of at most 10,000 different values each.
    label : str
        Strings, booleans or whole numbers, of at most 10,000 different values.

    Returns
    -------
    dict of str to float
        The sum of ``p(x, y) * log(p(x, y) / p(x) / p(y))``: 0 where the two are independent, the entropy of the label
        where the column tells it. It is scikit-learn's ``mutual_info_score``, with its bias: many values of few rows
        seem to tell much.

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
    Null is a category like any other.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> table = pa.table({"c": ["a", "a", "b", "b"], "d": ["a", "b", "a", "b"], "label": [0, 0, 1, 1]})
    >>> found = ps.stat.mutual_information(ps.LocalEngine(device="cpu").from_arrow(table), ["c", "d"], "label")
    >>> round(found["c"], 4), found["d"]
    (0.6931, 0.0)
    """
    tables = contingencies(dataset, columns, label, "mutual_information")
    return {name: _information(table.counts) for name, table in tables.items()}


def _information(counts: np.ndarray) -> float:
    shares = counts / counts.sum()
    expected = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0)
    there = counts > 0
    told = float((shares[there] * np.log(shares[there] / expected[there])).sum())
    return max(told, 0.0)  # rounding can leave a little less
