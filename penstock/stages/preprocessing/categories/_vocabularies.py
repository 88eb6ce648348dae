"""Vocabularies that are given, and such that several columns share."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaError
from penstock.core.schemas import widen
from penstock.stages.base import ColumnStage
from penstock.stages.preprocessing.categories.vocabulary import holds, spelt
from penstock.statistics import Frequencies, ValueCounts


def hashable(stage: Any) -> tuple[Any, ...] | None:
    """Return the vocabulary a stage was made with as a tuple of values, or as pairs of a column and such a tuple.

    Raises
    ------
    ConfigError
        It is no sequence of values, and no mapping of columns to such.
    """
    vocabulary = stage.vocabulary
    given = vocabulary.values() if isinstance(vocabulary, Mapping) else [vocabulary]
    if any(isinstance(each, str) or not isinstance(each, Sequence | None) for each in given):
        raise ConfigError(
            f"vocabulary of {stage.title} is {vocabulary!r:.200}, expected a sequence of values, for all columns or for"
            " each",
            hint='Write vocabulary=["a", "b"] for all columns, or vocabulary={"c": ["a", "b"]}.',
            stage=stage.title,
        )
    if isinstance(vocabulary, Mapping):
        return tuple(sorted((name, tuple(values)) for name, values in vocabulary.items()))
    return None if vocabulary is None else tuple(vocabulary)


def given(stage: Any) -> dict[str, tuple[Any, ...]]:
    """Return the vocabulary of each column of a bound stage that was given one.

    Raises
    ------
    ConfigError
        There are vocabularies by column, but not one for each.
    """
    vocabulary: tuple[Any, ...] = stage.vocabulary
    if not vocabulary or not isinstance(vocabulary[0], tuple):
        return dict.fromkeys(stage.inputs(), vocabulary)
    found = dict(vocabulary)
    if set(found) != set(stage.inputs()):
        raise ConfigError(
            f"vocabulary of {stage.title} is for columns {', '.join(found)}, expected one for each of its columns:"
            f" {', '.join(stage.inputs())}",
            stage=stage.title,
        )
    return found


def check_given(stage: ColumnStage, schema: pa.Schema) -> None:
    """Raise ConfigError unless each column can hold the values it was given, and none is there twice."""
    for name, values in given(stage).items():
        kind = schema.field(name).type
        fit = all(value is not None and (pa.types.is_null(kind) or holds(kind, value)) for value in values)
        if not values or len(set(map(spelt, values))) < len(values) or not fit:
            raise ConfigError(
                f"vocabulary of column {name!r} is {values!r:.200}, expected different values of type {kind}",
                column=name, stage=stage.title,
            )  # fmt: skip


def check_joint(stage: ColumnStage, schema: pa.Schema) -> None:
    """Raise SchemaError unless the columns have a type in common."""
    kinds = {name: schema.field(name).type for name in stage.inputs()}
    if functools.reduce(_wider, kinds.values()) is None:
        shown = ", ".join(f"{name!r} ({kind})" for name, kind in kinds.items())
        raise SchemaError(
            f"columns {shown} of {stage.title} cannot have one vocabulary, expected all of one type",
            hint="Convert them before, or leave out joint=True.",
            stage=stage.title,
        )


def _wider(left: pa.DataType | None, right: pa.DataType) -> pa.DataType | None:
    return None if left is None else widen(left, right)


def joined(found: Sequence[Frequencies]) -> Frequencies:
    """Return how often each value occurs in all columns together, in the order of a vocabulary.

    Examples
    --------
    >>> left = Frequencies(pa.table({"value": ["a", "b"], "count": [2, 1]}), nulls=0)
    >>> right = Frequencies(pa.table({"value": ["b"], "count": [5]}), nulls=3)
    >>> joined([left, right]).table.to_pylist(), joined([left, right]).nulls
    ([{'value': 'b', 'count': 6}, {'value': 'a', 'count': 2}], 3)
    """
    kind = functools.reduce(_wider, [each.table.schema.field("value").type for each in found])
    assert kind is not None, "columns of several types are refused before any is read"
    schema = pa.schema({"value": kind, "count": pa.int64()})
    states = [{"table": each.table.cast(schema), "nulls": each.nulls} for each in found]
    counts = ValueCounts(())
    return counts.finish_column("", counts.merge_column(states))
