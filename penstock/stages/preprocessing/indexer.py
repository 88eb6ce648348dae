"""Categories replaced by numbers, the most frequent first."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.errors import ConfigError, DataValueError
from penstock.stages.base import ColumnStage, Fitted, Tags, check_choice, check_number
from penstock.statistics import Frequencies, Statistic, ValueCounts

_SHOWN = 5


@dataclass(frozen=True)
class StringIndexer(ColumnStage):
    """Replaces each value by its place in the vocabulary of its column, as int32.

    The vocabulary is ordered by count, largest first, and values of one count ascending: strings by their UTF-8 bytes,
    numbers by size, false before true. With n values in it:

    ======================================= =========================== =======================
    value                                   ``handle_invalid="keep"``   ``"error"``
    ======================================= =========================== =======================
    at place i of the vocabulary            i                           i
    not in it: unseen at fit, or infrequent n                           DataValueError
    null                                    n + 1                       n + 1
    ======================================= =========================== =======================

    MLlib's ``keep`` gives null and unseen values the same code; here they are told apart.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of strings, integers or booleans. The last two are matched by their text (``"-7"``, ``"true"``), so that
        a column may be widened between fit and use.
    min_frequency : int or float, default=1
        Values that occur less often have no code of their own: an integer is a count, a float a share of all rows,
        nulls included, as in scikit-learn's ``OneHotEncoder``.
    max_categories : int, optional
        At most so many values have a code of their own, the first of the order.
    handle_invalid : {"keep", "error"}, default="keep"
        What to do with a value that is not in the vocabulary; ``error`` does not go with the two parameters above.
    output_columns : sequence of str, optional
        Names for the codes, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        A parameter is wrong.
    SchemaError
        At fit, before reading: a column is missing or of another type.
    DataValueError
        When it runs, with ``handle_invalid="error"``: values unseen at fit; names column, count, the five most
        frequent, and the first file and row.

    Notes
    -----
    A column of nulls has an empty vocabulary: unseen is 0 and null is 1. Learned are ``categories``, an Arrow table by
    column of ``value`` (in the type of the column) and ``count``.

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
    min_frequency: int | float = 1
    max_categories: int | None = None
    handle_invalid: str = "keep"

    tags: ClassVar[Tags] = Tags(accepts="categorical")

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.min_frequency, float):
            check_number(self, "min_frequency", above=0, most=1)
        else:
            check_number(self, "min_frequency", least=1, whole=True)
        check_number(self, "max_categories", least=1, whole=True)
        check_choice(self, "handle_invalid", ("keep", "error"))
        if self.handle_invalid == "error" and (self.min_frequency != 1 or self.max_categories is not None):
            raise ConfigError(
                "handle_invalid of StringIndexer is 'error' with min_frequency or max_categories, which leave values"
                " of the training data without a code",
                hint='Pass handle_invalid="keep", or neither of the other two.',
                stage=self.title,
            )

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return instances for the conformance suite."""
        return (
            cls(("s1", "s2", "n1", "b")),
            cls(("s1", "s2"), min_frequency=0.05, max_categories=4),
            cls(("s1", "n1"), handle_invalid="error", output_columns=("s_code", "n_code")),
        )

    def output_type(self, kind: pa.DataType) -> pa.DataType:
        """Return int32."""
        return pa.int32()

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask how often each value occurs."""
        return {"values": ValueCounts(self.inputs())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``categories``, the vocabulary of each column."""
        return {"categories": {name: self._kept(results["values"][name]).table for name in self.inputs()}}

    def _kept(self, found: Frequencies) -> Frequencies:
        if isinstance(self.min_frequency, float):
            share = self.min_frequency * (found.total + found.nulls)
            frequent = found.at_least(math.ceil(share))
        else:
            frequent = found.at_least(self.min_frequency)
        return frequent if self.max_categories is None else frequent.top(self.max_categories)

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Encode all columns in one call."""
        values = {name: _values(fitted["categories"][name]) for name in self.inputs()}
        texts = frame.select([_text(name, frame.schema[name]) for name in self.inputs()])
        unseen = {name: len(known) for name, known in values.items()}
        codes = frames.encode(texts, {name: known.cast(pa.string()) for name, known in values.items()}, unseen)
        if self.handle_invalid == "error":
            for name in self.inputs():
                _refuse(name, texts.filter(codes[name] == unseen[name]), frame.schema[name])
        return frame.with_columns(*[codes[name].fill_null(unseen[name] + 1).alias(out) for name, out in self.pairs()])

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Encode one value."""
        codes = {value: code for code, value in enumerate(_values(fitted["categories"][name]).to_pylist())}
        unseen = len(codes)

        def encode(value: Any) -> int:
            if value is None:
                return unseen + 1
            code = codes.get(value, unseen)
            if code == unseen and self.handle_invalid == "error":
                raise _unseen(name, 1, _shorten(_spelt(value)))
            return code

        return encode

    def inverse(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Return a frame of codes with the values they stand for, under the names that the columns had before.

        The values are in the type they had at fit. Codes of unseen values and of null, and any other number, become
        null. This is MLlib's ``IndexToString``.

        Examples
        --------
        >>> stage = StringIndexer("c")
        >>> fitted = {"categories": {"c": pa.table({"value": ["b", "a"], "count": [2, 1]})}}
        >>> stage.inverse(frames.from_arrow(pa.table({"c": [1, 0, 2]})), fitted)["c"].to_list()
        ['a', 'b', None]
        """
        values = {name: _values(fitted["categories"][name]) for name in self.inputs()}
        return frame.with_columns(*[frames.decode(frame[out], values[name]).alias(name) for name, out in self.pairs()])


def _values(table: pa.Table) -> pa.Array:
    """Return the values as one array; without a copy of what is one already, so that encoders can tell it again."""
    values = table["value"]
    return values.chunk(0) if values.num_chunks == 1 else pa.concat_arrays([pa.array([], values.type), *values.chunks])


def _text(name: str, dtype: nw.dtypes.DType) -> nw.Expr:
    """Return a column as strings; booleans are spelt out, since libraries write them differently."""
    value = nw.col(name)
    if dtype != nw.Boolean:
        return value if dtype == nw.String else value.cast(nw.String)
    return nw.when(value).then(nw.lit("true")).otherwise(nw.when(~value).then(nw.lit("false"))).alias(name)


def _refuse(name: str, unseen: nw.DataFrame, dtype: nw.dtypes.DType) -> None:
    if not len(unseen):
        return
    counted = frames.value_counts(unseen, [name])[name].sort_by([("count", "descending"), ("value", "ascending")])
    shown = [f"{_shorten(row['value'])} ({row['count']})" for row in counted.slice(0, _SHOWN).to_pylist()]
    more = ", ..." if counted.num_rows > _SHOWN else ""
    error = _unseen(name, len(unseen), f"{counted.num_rows} different ones: {', '.join(shown)}{more}")
    error.predicate = _text(name, dtype).is_in(counted["value"].to_pylist())
    raise error


def _unseen(name: str, count: int, which: str) -> DataValueError:
    return DataValueError(
        f"column {name!r} has {count} values that were not there at fit, {which}",
        hint='Fit again with them, or pass handle_invalid="keep" to give them a code of their own.',
        column=name,
    )


def _spelt(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shorten(value: str, most: int = 60) -> str:
    return repr(value if len(value) <= most else value[:most] + "...")
