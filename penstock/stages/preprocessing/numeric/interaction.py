"""Products of columns of one group with those of others."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.core.selectors import Columns, Selector, resolve
from penstock.stages.base import check_types
from penstock.stages.parameter_checks import check_declared
from penstock.stages.preprocessing.numeric._products import Products


@dataclass(frozen=True)
class Interaction(Products):
    """Adds the product of one column of each group, in every combination, as float64 columns like ``a:b``.

    Groups stand for MLlib's vectors: the columns of an encoded category, say, so that a model can have a slope for each
    category. Of columns alone the one product is made.

    Parameters
    ----------
    columns : sequence of (str, sequence of str, or Selector)
        Two or more groups of columns of numbers or booleans (0 and 1); a name is a group of one. They stay.

    Raises
    ------
    ConfigError
        Before reading: there are fewer than two groups, more than 10,000 products, or a new column is there already.
    SchemaError
        Before reading: a column is missing or not numeric.
    DataValueError
        When it runs: an infinity, or a value beyond that root of the largest float64 (1.34e154 for two groups) of which
        a product overflows; column, count, first file and row are named.

    Notes
    -----
    The order is that of MLlib: the column of the last group changes first. Names are the factors with colons between
    them, as in MLlib's attributes and in R. A product is null where a factor is; MLlib fails there. Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [2, 3], "a": [True, False], "b": [False, True]}))
    >>> made = ps.Pipeline(st.Interaction(["x", ["a", "b"]])).fit(data).transform(data)
    >>> made.columns[3:], made.to_polars()["x:a", "x:b"].rows()
    (['x:a', 'x:b'], [(2.0, 0.0), (0.0, 3.0)])
    """

    columns: Sequence[Columns]  # type: ignore[assignment]

    def __post_init__(self) -> None:
        check_declared(self)
        named = tuple(each if isinstance(each, str | Selector) else tuple(each) for each in self.columns)
        if len(named) < 2:
            raise ConfigError(
                f"columns of Interaction are {self.columns!r}, expected two or more groups",
                hint="A group is a name, a list of names or a selector; each product takes one column of each.",
                stage=self.title,
            )
        object.__setattr__(self, "columns", named)

    def resolved(self, schema: pa.Schema) -> Self:
        """Return the stage with names for the columns of each group."""
        named = tuple(resolve(group, schema, self.title) for group in self.columns)
        bound = dataclasses.replace(self, columns=named)
        check_types(bound, schema, bound.inputs())
        return bound

    def inputs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(itertools.chain.from_iterable(self._groups)))

    @property
    def _groups(self) -> tuple[tuple[str, ...], ...]:
        return self.columns  # type: ignore[return-value]

    @property
    def factors(self) -> int:
        """The number of groups."""
        return len(self._groups)

    def check_count(self) -> None:
        """Raise ConfigError for more than 10,000 new columns."""
        self.check_terms(math.prod(map(len, self._groups)))

    def terms(self) -> dict[str, tuple[str, ...]]:
        """Return the factors of each product, by its name."""
        return {":".join(names): names for names in itertools.product(*self._groups)}
