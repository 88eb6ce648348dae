"""Whether a condition on a row is one, and about that row alone."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, SchemaError, class_name
from penstock.expressions.trees import UNNAMED, columns_in, walk

_ROWS = 12
_TEXTS = (("0", "1"), ("2024-01-01", "2023-12-31"), ("2024-01-01 00:00:00", "2023-12-31 23:59:59"), ("a b", "c"))


def named_columns(expression: Any, schema: pa.Schema) -> pa.Schema:
    """Return the columns that an expression names, of which it can be tried; the whole schema where it may read more.

    Examples
    --------
    >>> named_columns(nw.col("b") > 1, pa.schema({"a": pa.int64(), "b": pa.int64()})).names
    ['b']
    """
    if not isinstance(expression, nw.Expr) or any(node.kind in UNNAMED for node in walk(expression)):
        return schema
    places = sorted({schema.get_field_index(name) for name in columns_in(expression)})
    if not places or places[0] < 0:
        return schema
    return pa.schema([schema.field(place) for place in places])


def condition_columns(predicate: Any, schema: pa.Schema) -> pa.Schema:
    """Return the columns that a condition on a row reads, which is checked as by `check_rowwise`.

    Raises
    ------
    SchemaError
        It is none, or names a column that is not there, or does not fit the types.
    """
    named = named_columns(predicate, schema)
    if _plain_types(predicate, named) == [nw.Boolean()]:
        return named
    check_rowwise(predicate, named)
    return pa.schema([named.field(name) for name in read_columns(predicate, named)])


def read_columns(expression: nw.Expr, named: pa.Schema) -> list[str]:
    """Return the columns that an expression reads of those that it may read; see `named_columns` and `frames.roots`."""
    return frames.roots(expression, named) if _plain_types(expression, named) is None else list(named.names)


def _plain_types(expression: Any, named: pa.Schema) -> list[Any] | None:
    """Return what an expression that looks at one row makes of the columns that it names; None for any other."""
    plain = isinstance(expression, nw.Expr) and is_elementwise(expression)
    if plain and len(columns_in(expression)) == len(named):
        with suppress(*frames.ERRORS):  # they are told where it is tried again
            return list(frames.no_rows(named).select(expression).schema.values())
    return None


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
    if is_elementwise(predicate):
        _check_boolean(frames.no_rows(schema), predicate)
        return
    sample = [_column(field.type, place) for place, field in enumerate(schema)]
    rows = frames.from_arrow(pa.table(sample, schema=schema))
    _check_boolean(rows, predicate)
    try:
        depends = _depends_on_others(rows, predicate)
    except frames.ERRORS:
        return
    if depends:
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


def check_rowwise_value(value: nw.Expr, schema: pa.Schema, what: str) -> None:
    """Raise SchemaError where `what`, an expression, gives a row a value that depends on the rows beside it.

    It is tried on rows of several kinds of texts, together and one by one, and let pass where it takes none of them.

    Examples
    --------
    >>> check_rowwise_value(nw.col("a") - nw.col("a").min(), pa.schema({"a": pa.int64()}), "column 'b'")
    Traceback (most recent call last):
        ...
    penstock.errors.SchemaError: column 'b' depends on the rows beside it
      Hint: It sees one partition at a time, ...
    """
    if is_elementwise(value):
        return
    for texts in _TEXTS:
        sample = [_column(field.type, place, texts) for place, field in enumerate(schema)]
        rows = frames.from_arrow(pa.table(sample, schema=schema))
        try:
            depends = _depends_on_others(rows, value)
        except frames.ERRORS:
            continue
        if depends:
            raise SchemaError(
                f"{what} depends on the rows beside it",
                hint="It sees one partition at a time, so that it would depend on how the data is cut. Use lag, lead or"
                " diff, engine.query, or a stage that learns at fit what it needs of other rows.",
            )
        return


def is_elementwise(expression: nw.Expr) -> bool:
    """Return whether Narwhals knows of each function in an expression that it looks at one row; where not, it is tried.

    Examples
    --------
    >>> is_elementwise(nw.col("a") + 1), is_elementwise(nw.col("a").mean())
    (True, False)
    """
    return all(node.is_elementwise() for node in expression._nodes)


def _depends_on_others(rows: nw.DataFrame[Any], value: nw.Expr) -> bool:
    alone = [one for place in range(len(rows)) for one in _values(rows[place : place + 1], value)]
    return alone != _values(rows, value)


def _values(rows: nw.DataFrame[Any], value: nw.Expr) -> list[Any]:
    made = frames.nan_to_null(rows.with_columns(value.alias("value")).select("value"))["value"]
    # A vector of floats may be computed by other instructions than one of them.
    return [float(f"{each:.12g}") if isinstance(each, float) else each for each in made.to_list()]


def _column(kind: pa.DataType, place: int, texts: tuple[str, str] = ("0", "1")) -> pa.Array:
    """Return a column of the sample: two values, and null last; nulls for a type that small integers do not become."""
    drawn = np.random.default_rng(place).integers(0, 2, _ROWS - 1).tolist()
    if pa.types.is_list(kind):
        inner = _column(kind.value_type, place + 1, texts)
        return pa.array([[inner[row].as_py()] * (1 + one) for row, one in enumerate(drawn)] + [None], kind)
    if pa.types.is_struct(kind):
        inner = [_column(field.type, place + number, texts) for number, field in enumerate(kind)]
        return pa.StructArray.from_arrays(inner, fields=list(kind))
    if pa.types.is_string(kind):
        return pa.array([*(texts[one] for one in drawn), None], kind)
    for integers in (pa.int64(), pa.int32()):
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return pa.array([*drawn, None], integers).cast(kind)
    return pa.nulls(_ROWS, kind)
