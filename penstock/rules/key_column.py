"""The values of several columns as one text, equal where all of them are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError, DataValueError, SchemaError
from penstock.core.names import column_names, hidden_name
from penstock.dataset.rowwise.hidden_columns import HiddenColumns
from penstock.dataset.rowwise.with_columns import ComputedColumn
from penstock.statistics.distinct import shards

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


MOST_KEYS = 100_000
"""Rows of so many different keys are set aside, at most: every task is told of all of them."""


def too_many_keys(rule: str, what: str, hint: str) -> DataValueError:
    """Return the error that more keys break a rule than can be set aside; `what` says how they do."""
    return DataValueError(f"more than {MOST_KEYS:,} keys of {rule} {what}, too many to set their rows aside", hint=hint)


def key_columns(columns: str | Sequence[str], rule: str) -> tuple[str, ...]:
    """Return the names of the columns of a key; ConfigError unless there are some, each once.

    Examples
    --------
    >>> key_columns("id", "Unique"), key_columns(["day", "shop"], "Unique")
    (('id',), ('day', 'shop'))
    """
    names = column_names(columns, f"columns of {rule}")
    if not names or len(set(names)) < len(names):
        problem = f"columns of {rule} are {list(names)}, expected one or more, each once"
        raise ConfigError(problem, hint=f'Write {rule}("id", ...) or {rule}(["day", "shop"], ...).')
    return names


def key_name(schema: pa.Schema, columns: Sequence[str]) -> str:
    """Return the column that is counted: the one of a key of one, if its values can be counted in parts as they are."""
    if len(columns) == 1 and shards.divisible(schema.field(columns[0]).type):
        return columns[0]
    return hidden_name(f"key of {', '.join(columns)}")


def with_key(dataset: Dataset, columns: Sequence[str], rule: str) -> Dataset:
    """Return the dataset with the column of `key_name`; SchemaError as of `key_of`."""
    schema = dataset.schema
    name = key_name(schema, columns)
    if name in schema.names:
        return dataset
    read = pa.schema([schema.field(each) for each in columns])
    return dataset.with_step(HiddenColumns((ComputedColumn(name, key_of(schema, columns, rule), read, pa.string()),)))


def key_of(schema: pa.Schema, columns: Sequence[str], rule: str) -> nw.Expr:
    """Return the text of a key, null where one of its values is.

    Raises
    ------
    SchemaError
        A column is of a type whose values have no such text, as lists and bytes; `rule` is named.

    Examples
    --------
    >>> from penstock import frames
    >>> table = pa.table({"a": ["x;1", "x"], "b": [2, None]})
    >>> key = key_of(table.schema, ["a", "b"], "Unique")
    >>> frames.from_arrow(table).select(key=key)["key"].to_list()
    ['3:x;1;2', None]
    """
    return nw.concat_str([_text(schema.field(name), rule) for name in columns], separator=";")


def _text(field: pa.Field, rule: str) -> nw.Expr:
    column, kind, types = nw.col(field.name), field.type, pa.types
    if types.is_string(kind):  # with its length, so that no separator within it can be taken for one
        return nw.concat_str([column.str.len_chars().cast(nw.String), column], separator=":")
    if types.is_floating(kind):  # 0.0 and -0.0 are one value, and two texts
        return nw.when(column == 0).then(nw.lit(0.0)).otherwise(column).cast(nw.String)
    if types.is_boolean(kind):
        return column.cast(nw.Int8).cast(nw.String)
    if types.is_temporal(kind) and not types.is_interval(kind):
        return column.cast(nw.Int64).cast(nw.String)
    if types.is_integer(kind) or types.is_decimal(kind):
        return column.cast(nw.String)
    problem = f"column {field.name!r} is {kind}, whose values {rule} cannot compare"
    raise SchemaError(problem, hint="Name columns of texts, numbers, booleans, dates or times.", column=field.name)
