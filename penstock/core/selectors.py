"""Columns chosen by what they are: `numeric() - "id"` instead of a list that goes stale.

A selector is resolved against the schema at the place of its stage, when the pipeline is fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.core.names import column_names
from penstock.core.schemas import require


@dataclass(frozen=True)
class Selector:
    """A test of a field; combine with ``|``, ``&``, ``-`` (each with a selector or names) and ``~``.

    Examples
    --------
    >>> schema = pa.schema({"id": pa.int64(), "x": pa.float64(), "city": pa.string()})
    >>> (numeric() - "id").resolve(schema), (~numeric()).resolve(schema)
    (['x'], ['city'])
    """

    test: Callable[[pa.Field], bool]

    def resolve(self, schema: pa.Schema) -> list[str]:
        """Return the names of the fields that pass, in the order of the schema."""
        return [field.name for field in schema if self.test(field)]

    def __or__(self, other: Columns) -> Selector:
        return Selector(partial(_either, self.test, as_selector(other).test))

    def __and__(self, other: Columns) -> Selector:
        return Selector(partial(_both, self.test, as_selector(other).test))

    def __sub__(self, other: Columns) -> Selector:
        return self & ~as_selector(other)

    def __invert__(self) -> Selector:
        return Selector(partial(_not, self.test))


Test = Callable[[pa.Field], bool]
Columns = str | Sequence[str] | Selector


# Tests of functions with names, for a lambda cannot be pickled, nor be equal to another.
def _either(first: Test, second: Test, field: pa.Field) -> bool:
    return first(field) or second(field)


def _both(first: Test, second: Test, field: pa.Field) -> bool:
    return first(field) and second(field)


def _not(test: Test, field: pa.Field) -> bool:
    return not test(field)


def _is_of(test: Callable[[pa.DataType], bool], field: pa.Field) -> bool:
    return test(field.type)


def _is_named(names: tuple[str, ...], field: pa.Field) -> bool:
    return field.name in names


def is_numeric(kind: pa.DataType) -> bool:
    """Return whether a type is an integer, floating or boolean one."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def is_vector(kind: pa.DataType) -> bool:
    """Return whether columns of a type can be dense vectors: it is a list of numbers or booleans.

    Examples
    --------
    >>> is_vector(pa.list_(pa.float32())), is_vector(pa.list_(pa.string())), is_vector(pa.float32())
    (True, False, False)
    """
    return bool(pa.types.is_list(kind) and is_numeric(kind.value_type))


def numeric() -> Selector:
    """Select integer, floating and boolean columns."""
    return Selector(partial(_is_of, is_numeric))


def string() -> Selector:
    """Select string columns."""
    return Selector(partial(_is_of, pa.types.is_string))


def all() -> Selector:
    """Select every column."""
    return ~named()


def named(*names: str) -> Selector:
    """Select columns by name; those that are not there are not an error."""
    return Selector(partial(_is_named, names))


def as_selector(columns: Columns) -> Selector:
    """Return a selector for names, or the selector itself."""
    if isinstance(columns, Selector):
        return columns
    return named(*column_names(columns, "columns of a selector"))


def resolve(columns: Columns, schema: pa.Schema, stage: str) -> tuple[str, ...]:
    """Return the names that `columns` stands for in `schema`.

    Raises
    ------
    SchemaError
        A name is not in the schema.
    ConfigError
        Nothing is selected, or a name is given twice.
    """
    selected = columns.resolve(schema) if isinstance(columns, Selector) else columns
    names = require(schema, selected, stage=stage)
    if not names:
        raise ConfigError(f"{stage} selects no column", hint=f"Columns are: {', '.join(schema.names)}.", stage=stage)
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ConfigError(f"{stage} names column {sorted(twice)[0]!r} twice", stage=stage)
    return names
