"""Whether a condition on a row is about that row alone."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.errors import SchemaError

_ROWS = 12


def check_rowwise(predicate: nw.Expr, schema: pa.Schema) -> None:
    """Raise SchemaError for a condition that is another for a row when other rows are beside it.

    It is tried on a few rows, together and one by one. A condition that cannot take the values of these is let pass.

    Examples
    --------
    >>> check_rowwise(nw.col("a") > 1, pa.schema({"a": pa.int64()}))
    >>> check_rowwise(nw.col("a") > nw.col("a").mean(), pa.schema({"a": pa.int64()}))
    Traceback (most recent call last):
        ...
    penstock.errors.SchemaError: the condition on a row depends on the rows beside it
      Hint: It sees one partition at a time, ...
    """
    sample = [_column(field.type, place) for place, field in enumerate(schema)]
    rows = frames.from_arrow(pa.table(sample, schema=schema))
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


def _met(rows: nw.DataFrame[Any], predicate: nw.Expr) -> list[bool | None]:
    return rows.with_columns(predicate.alias("met"))["met"].to_list()


def _column(kind: pa.DataType, place: int) -> pa.Array:
    """Return a column of the sample: two values, and null last; nulls for a type that small integers do not become."""
    drawn = np.random.default_rng(place).integers(0, 2, _ROWS - 1).tolist()
    for integers in (pa.int64(), pa.int32()):
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return pa.array([*drawn, None], integers).cast(kind)
    return pa.nulls(_ROWS, kind)
