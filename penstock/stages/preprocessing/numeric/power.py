"""Powers and roots."""

from __future__ import annotations

import functools
import math
import sys
from dataclasses import KW_ONLY, dataclass, field
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from penstock.stages.parameter_checks import in_range, wrong_parameter
from penstock.stages.preprocessing.elementwise import Elementwise


@dataclass(frozen=True)
class Sqrt(Elementwise):
    """Replaces x by its square root, in float64 and rounded correctly.

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
    DataValueError
        When it runs: values below 0, which have no square root; column, count, first file and row are named.

    Notes
    -----
    A null stays null, and infinity stays infinity. Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [9, 0, None]}))
    >>> ps.Pipeline(st.Sqrt("x")).fit(data).transform(data).to_arrow()["x"].to_pylist()
    [3.0, 0.0, None]
    """

    def compute(self, values: Any) -> Any:
        """Return square roots."""
        return np.sqrt(values)

    def outside(self, value: Any) -> Any:
        """Return whether it is below 0."""
        return value < 0

    def refused(self, name: str) -> tuple[str, str]:
        """Tell of values below 0."""
        hint = f"Put Clip({name!r}, lower=0) before this step, or filter these rows."
        return "below 0, which have no square root", hint


@dataclass(frozen=True)
class Power(Elementwise):
    """Replaces x by ``x ** exponent``, in float64.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    exponent : float
        Finite, and not 0.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        `exponent` is 0, or not a finite number.
    SchemaError
        Before reading: a column is missing or not numeric.
    DataValueError
        When it runs: values without such a power, which are negative ones where `exponent` is a fraction, zero where it
        is negative, and those whose power float64 cannot hold; column, count, first file and row are named.

    Notes
    -----
    A null stays null; of an infinity comes what C's ``pow`` makes of it, an infinity or zero. A power too close to zero
    for float64 is zero. Values within 1e-12, relative, of the first whose power overflows may be refused too. Nothing
    is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [4, 0.25, None]}))
    >>> ps.Pipeline(st.Power("x", exponent=-2)).fit(data).transform(data).to_arrow()["x"].to_pylist()
    [0.0625, 16.0, None]
    """

    _: KW_ONLY
    exponent: float = field(metadata=in_range())

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.exponent == 0 or not abs(self.exponent) <= sys.float_info.max:
            raise wrong_parameter(self, "exponent", "a finite number other than 0")

    def compute(self, values: Any) -> Any:
        """Return powers."""
        return np.power(values, float(self.exponent))

    def outside(self, value: Any) -> Any:
        """Return whether it has no such power, or one that float64 cannot hold."""
        least, most = _reach(float(self.exponent))
        too_large = ((value > most) & (value < math.inf)) | ((value < -most) & (value > -math.inf))
        too_small = (value < least) & (value > -least)
        fraction = not float(self.exponent).is_integer()
        return reduce(or_, [too_large, too_small, *([value < 0] if fraction else [])])

    def refused(self, name: str) -> tuple[str, str]:
        """Tell of values without such a power."""
        return (
            f"without a power of {self.exponent} in float64",
            "Filter these rows, or bring them in range with Clip: fractional powers take no negative numbers, negative"
            " powers no zero.",
        )


@functools.lru_cache
def _reach(exponent: float) -> tuple[float, float]:
    """Return the smallest and the largest size of numbers whose power is finite; 0 and infinity for no end.

    Examples
    --------
    >>> _reach(2.0), _reach(0.5)
    ((0.0, 1.3407807929942596e+154), (0.0, inf))
    """
    if 0 < exponent <= 1:
        return 0.0, math.inf
    size, inward = sys.float_info.max ** (1 / exponent), 0.0 if exponent > 0 else math.inf
    with np.errstate(over="ignore", divide="ignore"):
        while np.isinf(np.power(size, exponent)):
            size = math.nextafter(size, inward)
    return (0.0, size) if exponent > 0 else (size, math.inf)
