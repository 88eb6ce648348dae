"""Whether a condition on a row is one, and about that row alone."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, SchemaError, class_name

_ROWS = 12


def check_rowwise(predicate: nw.Expr, schema: pa.Schema) -> None:
    """Raise SchemaError unless a condition is true or false of a row, whatever rows are beside it.

    It is tried on a few rows, together and one by one. A condition that cannot take the values of these is let pass.

    Raises
    ------
    ConfigError
        It is no expression of Narwhals.

    Examples
    --------
    >>> check_rowwise(nw.col("a") > 1, pa.schema({"a": pa.int64()}))
    >>> check_rowwise(nw.col("a") > nw.col("a").mean(), pa.schema({"a": pa.int64()}))
    Traceback (most recent call last):
        ...
    penstock.errors.SchemaError: the condition on a row depends on the rows beside it
      Hint: It sees one partition at a time, ...
    """
    if not isinstance(predicate, nw.Expr):
        raise ConfigError(
            f"the condition on a row is {class_name(predicate)}, expected an expression of Narwhals",
            hint='Write nw.col("x") > 0, after import narwhals as nw.',
        )
    sample = [_column(field.type, place) for place, field in enumerate(schema)]
    rows = frames.from_arrow(pa.table(sample, schema=schema))
    _check_boolean(rows, predicate)
    try:
        together = _met(rows, predicate)
        alone = [met for place in range(len(rows)) for met in _met(rows[place : place + 1], predicate)]
    except frames.ERRORS:
        return
    if together != alone:
        raise SchemaError(
            "the condition on a row depends on the rows beside it",
            hint="It sees one partition at a time, so that it would depend on how the data is cut. Compute what it"
            " compares with before, as a number, use a stage that learns it at fit, or lag and engine.query.",
        )


def _check_boolean(rows: nw.DataFrame[Any], predicate: nw.Expr) -> None:
    try:
        types = rows.select(predicate).schema
    except frames.ERRORS:
        return
    if list(types.values()) != [nw.Boolean()]:
        columns = ", ".join(f"{name} ({kind})" for name, kind in types.items())
        raise SchemaError(
            f"the condition on a row is {columns}, expected one Boolean",
            hint='Compare it with something: nw.col("x") != 0.',
        )


def _met(rows: nw.DataFrame[Any], predicate: nw.Expr) -> list[bool | None]:
    return rows.with_columns(predicate.alias("met"))["met"].to_list()


def _column(kind: pa.DataType, place: int) -> pa.Array:
    """Return a column of the sample: two values, and null last; nulls for a type that small integers do not become."""
    drawn = np.random.default_rng(place).integers(0, 2, _ROWS - 1).tolist()
    for integers in (pa.int64(), pa.int32()):
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return pa.array([*drawn, None], integers).cast(kind)
    return pa.nulls(_ROWS, kind)
