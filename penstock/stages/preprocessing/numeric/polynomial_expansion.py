"""Powers and products of columns, for models that are linear in what they are given."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from itertools import groupby

from penstock.stages.parameter_checks import in_range
from penstock.stages.preprocessing.numeric._products import Products


@dataclass(frozen=True)
class PolynomialExpansion(Products):
    """Adds all products of two and more columns, up to `degree` factors, each column as often as it may be; float64.

    Of x and y to degree 2 these are ``x^2``, ``x y`` and ``y^2``. The columns themselves, which MLlib copies into its
    vector as terms of one factor, stay where they are.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    degree : int, default=2
        The most factors of a product, from 2; the factors of x^2 are two.
    interaction_only : bool, default=False
        Only products of different columns, no powers, as scikit-learn's parameter of that name; MLlib has none.

    Raises
    ------
    ConfigError
        Before reading: `degree` is below 2, there would be more than 10,000 new columns, or one is there.
    SchemaError
        Before reading: a column is missing or not numeric.
    DataValueError
        When it runs: an infinity, or a value beyond the `degree`-th root of the largest float64 (1.34e154 for 2), whose
        power overflows; column, count, first file and row are named.

    Notes
    -----
    Names are those of scikit-learn's ``PolynomialFeatures``, and the order is that of MLlib: the expansion of all but
    the last column, then that of one degree less times the last column, and so on to its highest power. A product is
    null where a factor is. Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [2, 3], "y": [5.0, None]}))
    >>> made = ps.Pipeline(st.PolynomialExpansion(["x", "y"])).fit(data).transform(data)
    >>> made.columns, made.to_polars().rows()
    (['x', 'y', 'x^2', 'x y', 'y^2'], [(2, 5.0, 4.0, 10.0, 25.0), (3, None, 9.0, None, None)])
    """

    degree: int = field(default=2, metadata=in_range(least=2, whole=True))
    _: KW_ONLY
    interaction_only: bool = False

    @property
    def factors(self) -> int:
        """The degree."""
        return self.degree

    def check_count(self) -> None:
        """Raise ConfigError for more than 10,000 new columns."""
        width = len(self.inputs())
        if self.interaction_only:
            self.check_terms(sum(math.comb(width, factors) for factors in range(2, min(self.degree, width) + 1)))
        else:
            self.check_terms(math.comb(width + self.degree, self.degree) - 1 - width)

    def terms(self) -> dict[str, tuple[str, ...]]:
        """Return the factors of each product, by its name."""
        most = 1 if self.interaction_only else self.degree
        monomials = _monomials(self.inputs(), self.degree, most)
        return {_name(names): names for names in monomials if len(names) > 1}


def _monomials(names: tuple[str, ...], degree: int, most: int) -> list[tuple[str, ...]]:
    """Return all products of up to `degree` factors, none more often than `most` times, in MLlib's order."""
    if not names:
        return [()]
    *before, last = names
    return [
        (*rest, *(last,) * power)
        for power in range(min(degree, most) + 1)
        for rest in _monomials(tuple(before), degree - power, most)
    ]


def _name(names: tuple[str, ...]) -> str:
    powers = [(name, len(list(same))) for name, same in groupby(names)]
    return " ".join(name if power == 1 else f"{name}^{power}" for name, power in powers)
