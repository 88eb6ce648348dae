"""A column computed from others by an expression in text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.core.names import check_names
from penstock.dataset.steps import conform_exactly
from penstock.expressions.row_values import row_value
from penstock.expressions.values import ValueExpression, parse_value
from penstock.frames.columns import arrow_schema
from penstock.stages.base import Fitted, RowFunction, Stage, with_fields


@dataclass(frozen=True)
class Derive(Stage):
    """Adds or replaces a column that an expression computes from others of the same row.

    Parameters
    ----------
    expression : str
        In Python's syntax, though never run as Python: ``"x / y"``, ``"lower(strip(city))"``,
        ``"coalesce(fare, 0) if year(day) > 2020 else None"``. See :func:`penstock.expressions.parse_value`.
    as_ : str
        The name of the column; one that is there is replaced in its place.

    Raises
    ------
    ConfigError
        The expression is none: what is not allowed is named with its position.
    SchemaError
        Before reading: a column of the expression is missing, or not of a type that suits it.

    Notes
    -----
    Arithmetic is in float64. Null makes null, but in ``is None``, ``coalesce``, ``min`` and ``max``; what has no value
    (0 / 0) is null, and 1 / 0 infinite. Nothing is learned, and the text is all that is stored.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"fare": [12.0, 9.0, None], "miles": [4.0, 0.0, 2.0]}))
    >>> rate = st.Derive("fare / miles if miles > 0 else None", as_="rate")
    >>> ps.Pipeline(rate).fit(data).transform(data).to_arrow()["rate"].to_pylist()
    [3.0, None, None]
    """

    expression: str
    as_: str

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names([self.as_], f"as_ of {self.title}", stage=self.title)
        self._parsed()

    def _parsed(self) -> ValueExpression:
        try:
            return parse_value(self.expression)
        except ConfigError as error:
            raise error.at(stage=self.title) from error

    def bind(self, schema: pa.Schema) -> Self:
        """Check that the expression suits the columns."""
        self._parsed().check(schema, stage=self.title)
        return self

    def inputs(self) -> tuple[str, ...]:
        """Return the columns of the expression."""
        return self._parsed().columns

    def outputs(self) -> tuple[str, ...]:
        """Return the column that is made."""
        return (self.as_,)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema with the column, in the type that the expression gives."""
        return with_fields(schema, {self.as_: self._parsed().check(schema, stage=self.title)})

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Compute the column."""
        given = arrow_schema(frame, self.inputs())
        declared = pa.schema([(self.as_, _type(self.expression, given))])
        made = conform_exactly(self._parsed().values(frame, self.as_), declared, self.title)
        return frame.with_columns(made[self.as_])

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Compute the value of one row; None where an expression has what another library computes otherwise."""
        value = row_value(self.expression, schema)
        return None if value is None else lambda row: row.update({self.as_: value(row)})


@lru_cache(maxsize=256)
def _type(expression: str, schema: pa.Schema) -> pa.DataType:
    """Return the type that an expression gives; asked for every partition, and for every row that is scored."""
    return parse_value(expression).check(schema)
