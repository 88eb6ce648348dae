"""Logarithms of amounts above zero."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from penstock.stages.parameter_checks import one_of
from penstock.stages.preprocessing.elementwise import Elementwise

_LOGARITHMS = {"e": np.log, "2": np.log2, "10": np.log10}


@dataclass(frozen=True)
class Log(Elementwise):
    """Replaces x by its logarithm, in float64; those of whole powers of 2 and 10 to that base are whole.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    base : {"e", "2", "10"}, default="e"
        Base of the logarithm.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        `base` is not known.
    SchemaError
        Before reading: a column is missing or not numeric.
    DataValueError
        When it runs: values of 0 or less, which have no logarithm; column, count, first file and row are named.

    Notes
    -----
    A null stays null, and infinity stays infinity. Nothing is learned. :class:`~penstock.stages.Log1p` is for counts
    and amounts that may be zero.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1000, 1, None]}))
    >>> ps.Pipeline(st.Log("x", base="10")).fit(data).transform(data).to_arrow()["x"].to_pylist()
    [3.0, 0.0, None]
    """

    _: KW_ONLY
    base: str = field(default="e", metadata=one_of(*_LOGARITHMS))

    def compute(self, values: Any) -> Any:
        """Return logarithms."""
        return _LOGARITHMS[self.base](values)

    def outside(self, value: Any) -> Any:
        """Return whether it is 0 or less."""
        return value <= 0

    def refused(self, name: str) -> tuple[str, str]:
        """Tell of values of 0 or less."""
        return "of 0 or less, which have no logarithm", "Use Log1p where zero means none, or filter these rows."
