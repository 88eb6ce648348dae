"""Vocabularies given or shared by columns, and their codes."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaError
from penstock.core.schemas import widen
from penstock.stages.base import ColumnStage
from penstock.stages.preprocessing.categories.vocabulary import holds, spelt
from penstock.statistics import Frequencies, ValueCounts

_RESERVED = ("pad", "null", "unseen")


@dataclass(frozen=True)
class CodeLayout:
    """Codes from 0 on without a gap: those reserved in their order, the vocabulary, and what was not reserved.

    Parameters
    ----------
    size : int
        Number of values in the vocabulary.
    reserved : sequence of {"pad", "null", "unseen"}
        What has codes before the vocabulary; unseen values and null come after it otherwise, in this order.
    num_oov_buckets : int
        How many codes unseen values have.

    Examples
    --------
    >>> CodeLayout(10, (), 1).first, CodeLayout(10, (), 1).unseen, CodeLayout(10, (), 1).missing
    (0, 10, 11)
    >>> layout = CodeLayout(10, ("pad", "null", "unseen"), 5)
    >>> layout.missing, layout.unseen, layout.first
    (1, 2, 7)
    """

    size: int
    reserved: Sequence[str]
    num_oov_buckets: int

    def _begin(self, what: str) -> int:
        widths = {"pad": 1, "null": 1, "unseen": self.num_oov_buckets, "vocabulary": self.size}
        rest = [each for each in ("unseen", "null") if each not in self.reserved]
        order = [*self.reserved, "vocabulary", *rest]
        return sum(widths[each] for each in itertools.takewhile(lambda each: each != what, order))

    @property
    def first(self) -> int:
        """Code of the first value of the vocabulary."""
        return self._begin("vocabulary")

    @property
    def unseen(self) -> int:
        """First code of values that are not in the vocabulary."""
        return self._begin("unseen")

    @property
    def missing(self) -> int:
        """Code of null."""
        return self._begin("null")

    def codes(self, places: nw.Series, buckets: nw.Series | None) -> nw.Series:
        """Return the codes, int32.

        Parameters
        ----------
        places : narwhals.Series
            int32: the place in the vocabulary, `size` for a value that is not in it, `size` + 1 for null.
        buckets : narwhals.Series, optional
            int32: which of the codes of unseen values is a value's, where they have several.

        Examples
        --------
        >>> import polars as pl
        >>> places = nw.from_native(pl.Series([0, 2, 3], dtype=pl.Int32), series_only=True)
        >>> CodeLayout(2, ("pad",), 1).codes(places, None).to_list()
        [1, 3, 4]
        """
        frame = places.alias("place").to_frame()
        bucket = nw.lit(0)
        if buckets is not None:
            frame, bucket = frame.with_columns(buckets.alias("bucket")), nw.col("bucket")
        place = nw.col("place")
        beyond = nw.when(place == self.size).then(bucket + self.unseen).otherwise(nw.lit(self.missing))
        code = nw.when(place < self.size).then(place + self.first).otherwise(beyond)
        return frame.select(code.cast(nw.Int32).alias(places.name))[places.name]


def check_reserved(stage: Any) -> None:
    """Raise ConfigError unless ``reserved`` names what codes can be reserved for, each at most once."""
    reserved = stage.reserved
    if len(set(reserved)) < len(reserved) or not set(reserved) <= set(_RESERVED):
        raise ConfigError(
            f"reserved of {stage.title} is {reserved!r}, expected some of {', '.join(_RESERVED)}, each once",
            hint='For codes as NVTabular gives them: reserved=("pad", "null", "unseen").',
            stage=stage.title,
        )


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
