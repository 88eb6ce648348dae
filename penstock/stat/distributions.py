"""How the values of columns are distributed: exactly where they are few, by a sketch with a proven error beyond."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.dataset.dataset import Dataset
from penstock.stat.gathering import gathered, locating
from penstock.statistics import Checks, Distribution, Quantiles
from penstock.statistics.distinct.distinct_values import DistinctValues, ValueSummary
from penstock.statistics.rules import rules_for

EXACT = 2**16
"""Up to so many different values, or rows, a distribution is exact."""


def distributions(dataset: Dataset, columns: tuple[str, ...], label: str, *, nulls: bool) -> dict[str, Distribution]:
    """Return the distribution of each column of numbers, in float64, from one scan.

    Parameters
    ----------
    dataset : Dataset
    columns : tuple of str
    label : str
        What the scan is for, in words.
    nulls : bool
        Whether nulls are left out; otherwise DataValueError is raised for one, with file and row.
    """
    checks = Checks(() if nulls else rules_for(columns, "null"))
    checked, values, sketched = gathered(
        dataset, checks, DistinctValues(columns, EXACT), Quantiles(columns), label=label
    )
    with locating(dataset):
        checked.refuse()
    return {name: _exact(values[name]) or sketched[name] for name in columns}


def _exact(values: ValueSummary) -> Distribution | None:
    """Return the distribution of values that were all counted."""
    if values.distinct_error:
        return None
    numbers = values.table["value"].cast(pa.float64(), safe=False).to_numpy()
    order = np.argsort(numbers)
    return Distribution(numbers[order], values.table["count"].to_numpy()[order], 0)
