"""Categories replaced by numbers, the most frequent first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Self

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.frames.hashing import bucket, murmur3_text
from penstock.stages.base import ColumnStage, Fitted, Tags, normalise_columns
from penstock.stages.onnx_graph import OnnxGraph, not_in_onnx
from penstock.stages.parameter_checks import added_later, checked_by, in_range, one_of
from penstock.stages.preprocessing.categories._hashed import buckets
from penstock.stages.preprocessing.categories._vocabularies import (
    CodeLayout,
    check_given,
    check_joint,
    check_reserved,
    given,
    hashable,
    joined,
)
from penstock.stages.preprocessing.categories.vocabulary import (
    check_frequency,
    coder,
    codes,
    frequent,
    keep_frequent,
    spelt,
    text,
    values_of,
    with_codes,
)
from penstock.stages.shapes import Fields, Shape, by_column, vocabulary
from penstock.statistics import Frequencies, Statistic, ValueCounts
from penstock.statistics.distinct.frequent_items import FrequentItems
from penstock.statistics.distinct.top_k import ALL

_ORDERS = {
    "frequencyDesc": [("count", "descending"), ("value", "ascending")],
    "frequencyAsc": [("count", "ascending"), ("value", "ascending")],
    "alphabetDesc": [("value", "descending")],
    "alphabetAsc": [("value", "ascending")],
}


@dataclass(frozen=True)
class StringIndexer(ColumnStage):
    """Replaces each value by its place in the vocabulary of its column, as int32.

    The vocabulary is ordered by count, largest first unless `string_order_type` says otherwise, and values of one count
    ascending: strings by their UTF-8 bytes, numbers by size, false before true. With n values in it:

    ======================================= =========================== =======================
    value                                   ``handle_invalid="keep"``   ``"error"``
    ======================================= =========================== =======================
    at place i of the vocabulary            i                           i
    not in it: unseen at fit, or infrequent n                           DataValueError
    null                                    n + 1                       n + 1
    ======================================= =========================== =======================

    MLlib's ``keep`` gives null and unseen values the same code; here they are told apart. Other codes come of
    `num_oov_buckets`, `reserved` and ``order="append"``.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of strings, integers or booleans. The last two are matched by their text (``"-7"``, ``"true"``), so that
        a column may be widened between fit and use.
    min_frequency : int or float, default=1
        Values that occur less often have no code of their own: an integer is a count, a float a share of all rows,
        nulls included, as in scikit-learn's ``OneHotEncoder``.
    max_categories : int, optional
        At most so many values have a code of their own, the most frequent.
    string_order_type : {"frequencyDesc", "frequencyAsc", "alphabetDesc", "alphabetAsc"}, default="frequencyDesc"
        The order of the vocabulary, as in MLlib: by count or by value, descending or ascending. Which values are in it
        is decided before, by count.
    order : {"sorted", "append"}, default="sorted"
        What `PipelineModel.refit` and `merge` do with the vocabulary: put all of it in order anew, as a fit on all rows
        does, or append. Then codes never change: a value that has one keeps it, however rare it becomes, and those that
        have become frequent enough come after, in their own order, `max_categories` in all. So that they need not move,
        the codes of null and of unseen values, in this order, come before the vocabulary, after what is `reserved`.
    handle_invalid : {"keep", "error"}, default="keep"
        What to do with a value that is not in the vocabulary; ``error`` does not go with the two parameters above.
    num_oov_buckets : int, default=1
        Values that are not in the vocabulary share so many codes, up to 2**30: n to n + `num_oov_buckets` - 1, by their
        hash (that of :class:`HashBucket`). The code of null comes after them. It goes with ``keep``.
    reserved : sequence of {"pad", "null", "unseen"}, default=()
        What has its codes before those of the vocabulary, in this order: null, unseen values, and a code that no value
        gets, with which to fill sequences up. ``("pad", "null", "unseen")`` is NVTabular's way.
    vocabulary : sequence, or mapping of column to sequence, optional
        The vocabulary in order, of all columns or of each; nothing is learned then, and no data is read. It goes
        neither with `joint` nor with a choice of values by frequency.
    joint : bool, default=False
        The columns, all of one type, have one vocabulary: a value has one code wherever it occurs. Counts and shares
        are those of all columns together.
    sketch_size : int, optional
        Find the most frequent values by a sketch of so many, at least `max_categories`, in place of counting all: of n
        rows, counts may be too low by ``n / (sketch_size + 1)``, and the order of values so close to each other, or to
        `min_frequency`, may be another. Memory does not grow with the values then. See :class:`FrequentItems` of
        `penstock.statistics.distinct.frequent_items`; what is learned hangs on the size of fragments.
    output_columns : sequence of str, optional
        Names for the codes, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        A parameter is wrong, or a vocabulary has values twice, or such that are not of the type of the column.
    SchemaError
        At fit, before reading: a column is missing or of another type.
    DataValueError
        When it runs, with ``handle_invalid="error"``: values unseen at fit; names column, count, the five most
        frequent, and the first file and row.

    Notes
    -----
    A column of nulls has an empty vocabulary: unseen is 0 and null is 1. Learned are ``categories``, an Arrow table by
    column of ``value`` (in the type of the column, or that of the vocabulary given) and, where it was counted,
    ``count``.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"c": ["b", "a", "b", None]}))
    >>> model = ps.Pipeline(st.StringIndexer("c")).fit(data)
    >>> new = ps.LocalEngine().from_arrow(pa.table({"c": ["a", "b", "z", None]}))
    >>> model.transform(new).to_arrow()["c"].to_pylist()
    [1, 0, 2, 3]
    """

    _: KW_ONLY
    min_frequency: int | float = field(default=1, metadata=checked_by(check_frequency))
    max_categories: int | None = field(default=None, metadata=in_range(least=1, whole=True))
    handle_invalid: str = field(default="keep", metadata=one_of("keep", "error"))
    num_oov_buckets: int = field(default=1, metadata=in_range(least=1, most=2**30, whole=True))
    reserved: str | tuple[str, ...] = ()
    vocabulary: Any = None
    joint: bool = False
    sketch_size: int | None = field(default=None, metadata=in_range(least=1, whole=True))
    string_order_type: str = field(default="frequencyDesc", metadata=one_of(*_ORDERS))
    order: str = field(default="sorted", metadata=added_later(one_of("sorted", "append")))

    made_type: ClassVar[pa.DataType | None] = pa.int32()
    tags: ClassVar[Tags] = Tags(accepts="categorical")

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise_columns(self, "reserved")
        check_reserved(self)
        plain = self.handle_invalid == "keep" and self.num_oov_buckets == 1 and not self._first_codes
        object.__setattr__(self, "tags", replace(self.tags, lazy=plain))
        object.__setattr__(self, "vocabulary", hashable(self))
        self._check_together()

    def _check_together(self) -> None:
        """Raise ConfigError for parameters that do not go together."""
        chosen = self.min_frequency != 1 or self.max_categories is not None
        if self.vocabulary is not None and self.string_order_type != "frequencyDesc":
            raise ConfigError(
                f"StringIndexer has a vocabulary, whose order counts, and string_order_type {self.string_order_type!r}",
                hint="Leave out one of them.",
                stage=self.title,
            )
        if self.appends and (self.vocabulary is not None or self.sketch_size is not None):
            raise ConfigError(
                "order of StringIndexer is 'append' with a vocabulary, to which nothing is added, or with sketch_size,"
                " which loses count of values",
                hint="Leave out one of them.",
                stage=self.title,
            )
        if self.handle_invalid == "error" and (chosen or self.num_oov_buckets > 1):
            raise ConfigError(
                "handle_invalid of StringIndexer is 'error' with min_frequency or max_categories, which leave values"
                " of the training data without a code, or with num_oov_buckets, which gives them one",
                hint='Pass handle_invalid="keep", or none of the others.',
                stage=self.title,
            )
        if self.vocabulary is not None and (chosen or self.joint):
            raise ConfigError(
                "StringIndexer has a vocabulary with min_frequency, max_categories or joint, which are for one that is"
                " learned",
                hint="Leave out the vocabulary, or the others.",
                stage=self.title,
            )

        if self.sketch_size is not None and (self.joint or not 1 <= (self.max_categories or 0) <= self.sketch_size):
            raise ConfigError(
                f"sketch_size of StringIndexer is {self.sketch_size}, with joint={self.joint} and max_categories="
                f"{self.max_categories}; expected no joint vocabulary, and at most so many categories",
                hint="A sketch of a hundred times max_categories, say, is small and rarely wrong.",
                stage=self.title,
            )

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns, and check their types and vocabularies."""
        bound = super().bind(schema)
        if bound.vocabulary is not None:
            check_given(bound, schema)
        if bound.joint:
            check_joint(bound, schema)
        return bound

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask how often each value occurs, unless a vocabulary is given."""
        if self.vocabulary is not None:
            return {}
        if self.sketch_size is not None:
            return {"values": FrequentItems(self.inputs(), self.sketch_size)}
        # Of columns that have one vocabulary together, a value may be rare in each.
        keep = ALL if self.joint else keep_frequent(self.min_frequency, self.max_categories)
        return {"values": ValueCounts(self.inputs(), keep)}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``categories``, the vocabulary of each column."""
        if self.vocabulary is not None:
            return {"categories": {name: pa.table({"value": list(values)}) for name, values in given(self).items()}}
        return self._learned(results, lambda name, found: self._ordered(found))

    def _learned(self, results: Mapping[str, Any], make: Callable[[str, Frequencies], pa.Table]) -> Fitted:
        """Return what `make` makes of how often values occur in each column; in all where they have one vocabulary."""
        found: Mapping[str, Frequencies] = results["values"]
        if self.joint:
            whole = make(self.inputs()[0], joined([found[name] for name in self.inputs()]))
            return {"categories": dict.fromkeys(self.inputs(), whole)}
        return {"categories": {name: make(name, found[name]) for name in self.inputs()}}

    @property
    def appends(self) -> bool:
        """Whether a refit adds to the vocabulary, and leaves the codes that there are."""
        return self.order == "append"

    def extend(self, before: Fitted, results: Mapping[str, Any]) -> Fitted:
        """Return the vocabularies of before with what has become frequent after them, and counts of all rows."""
        return self._learned(results, lambda name, found: self._extended(before["categories"][name], found))

    def _extended(self, known: pa.Table, found: Frequencies) -> pa.Table:
        room = None if self.max_categories is None else max(self.max_categories - known.num_rows, 0)
        new = without(frequent(found, self.min_frequency), values_of(known))
        return appended(known, found, self._sorted(new if room is None else new.top(room)))

    def _ordered(self, found: Frequencies) -> pa.Table:
        """Return the values that have a code, in the order of their codes."""
        often = frequent(found, self.min_frequency)
        return self._sorted(often if self.max_categories is None else often.top(self.max_categories))

    def _sorted(self, found: Frequencies) -> pa.Table:
        if self.string_order_type == "frequencyDesc":
            return found.table
        return found.table.sort_by(_ORDERS[self.string_order_type]).combine_chunks()

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        tables = by_column(self.inputs(), lambda name: vocabulary(schema.field(name).type, count=pa.types.is_integer))
        return Fields({"categories": tables})

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Encode all columns in one call."""
        values = {name: values_of(fitted["categories"][name]) for name in self.inputs()}
        unseen = {name: len(known) for name, known in values.items()}
        missing = {name: place + 1 for name, place in unseen.items()}
        if self.tags.lazy:
            return with_codes(frame, dict(self.pairs()), values, unseen, missing)
        places = codes(frame, values, unseen, missing, refuse=self.handle_invalid == "error")
        made = [self._codes(frame, places[name], unseen[name]).alias(out) for name, out in self.pairs()]
        return frame.with_columns(*made)

    def _codes(self, frame: nw.DataFrame, places: nw.Series, size: int) -> nw.Series:
        shared = self._buckets(frame, places.name, places == size) if self.num_oov_buckets > 1 else None
        return self._layout(size).codes(places, shared)

    def _layout(self, size: int) -> CodeLayout:
        return CodeLayout(size, self._first_codes, self.num_oov_buckets)

    @property
    def _first_codes(self) -> tuple[str, ...]:
        """What has codes before the vocabulary: all that would have them after it, where that may grow."""
        fixed = ("null", "unseen") if self.appends else ()
        return (*self.reserved, *(each for each in fixed if each not in self.reserved))

    def _buckets(self, frame: nw.DataFrame, name: str, unseen: nw.Series) -> nw.Series | None:
        """Return the bucket of each value; None where there is no value to be put into one."""
        if not unseen.any():
            return None
        return buckets(frame.select(text(name, frame.schema[name]))[name], self.num_oov_buckets)

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Encode one value."""
        known = values_of(fitted["categories"][name])
        size, count = len(known), self.num_oov_buckets
        layout = self._layout(size)
        first, unseen, missing = layout.first, layout.unseen, layout.missing
        place_of = coder(name, known, size, refuse=self.handle_invalid == "error")

        def code(value: Any) -> int:
            place = place_of(value)
            if place is None:
                return missing
            if place < size:
                return first + place
            return unseen if count == 1 else unseen + int(bucket(murmur3_text(spelt(value)), count))

        return code

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        if self.handle_invalid != "keep" or self.num_oov_buckets > 1:
            what = "num_oov_buckets above 1" if self.num_oov_buckets > 1 else f"handle_invalid {self.handle_invalid!r}"
            raise not_in_onnx(self, what, 'Pass handle_invalid="keep", and one bucket for unseen values.')
        made = {}
        for name, out in self.pairs():
            values = values_of(fitted["categories"][name]).to_pylist()
            layout = self._layout(len(values))
            found = graph.codes(name, values, first=layout.first, unseen=layout.unseen, missing=layout.missing)
            made[out] = graph.cast(found, "int32")
        graph.assign(made)

    def inverse(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Return a frame of codes with the values they stand for, under the names that the columns had before.

        The values are in the type they had at fit. Codes of unseen values and of null, reserved ones, and any other
        number, become null. This is MLlib's ``IndexToString``.

        Examples
        --------
        >>> stage = StringIndexer("c")
        >>> fitted = {"categories": {"c": pa.table({"value": ["b", "a"], "count": [2, 1]})}}
        >>> stage.inverse(frames.from_arrow(pa.table({"c": [1, 0, 2]})), fitted)["c"].to_list()
        ['a', 'b', None]
        """
        made = []
        for name, out in self.pairs():
            values = values_of(fitted["categories"][name])
            made.append(frames.decode(frame[out] - self._layout(len(values)).first, values).alias(name))
        return frame.with_columns(*made)


def without(found: Frequencies, known: pa.Array) -> Frequencies:
    """Return the values that are not among those that are known.

    Examples
    --------
    >>> found = Frequencies(pa.table({"value": ["b", "a"], "count": [2, 1]}), nulls=0)
    >>> without(found, pa.array(["b", "z"])).table["value"].to_pylist()
    ['a']
    """
    table = found.table
    return Frequencies(table.filter(pc.invert(pc.is_in(table["value"], known.cast(table["value"].type)))), found.nulls)


def appended(known: pa.Table, found: Frequencies, new: pa.Table) -> pa.Table:
    """Return a vocabulary with new values after those that it has, and the counts that were found of all.

    Examples
    --------
    >>> known = pa.table({"value": ["b", "gone"], "count": [2, 1]})
    >>> found = Frequencies(pa.table({"value": ["a", "b"], "count": [7, 5]}), nulls=0)
    >>> appended(known, found, found.table.slice(0, 1)).to_pylist()
    [{'value': 'b', 'count': 5}, {'value': 'gone', 'count': 0}, {'value': 'a', 'count': 7}]
    """
    values, counts = values_of(found.table), values_of(found.table, "count")
    before = values_of(known).cast(values.type)
    again = counts.take(pc.index_in(before, value_set=values)).fill_null(0)
    value = pa.concat_arrays([before, values_of(new)])
    return pa.table({"value": value, "count": pa.concat_arrays([again, values_of(new, "count")])})
