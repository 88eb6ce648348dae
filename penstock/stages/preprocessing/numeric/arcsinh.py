"""Amounts of both signs compressed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.stages.preprocessing.elementwise import Elementwise


@dataclass(frozen=True)
class Arcsinh(Elementwise):
    """Replaces x by its inverse hyperbolic sine, ``log(x + sqrt(x**2 + 1))``, in float64.

    For large x it is about ``sign(x) * log(2 * abs(x))``, for small x about x: a logarithm that takes amounts of both
    signs, and zero.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    SchemaError
        Before reading: a column is missing or not numeric.

    Notes
    -----
    A null stays null, and an infinity stays infinite. It is exact to rounding also for small and for large numbers.
    Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 1e-20, -1e-20, None]}))
    >>> ps.Pipeline(st.Arcsinh("x")).fit(data).transform(data).to_arrow()["x"].to_pylist()
    [0.0, 1e-20, -1e-20, None]
    """

    def compute(self, values: Any) -> Any:
        """Return inverse hyperbolic sines."""
        return np.arcsinh(values)
