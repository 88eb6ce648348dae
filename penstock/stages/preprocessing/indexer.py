"""Categories replaced by numbers, the most frequent first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.errors import ConfigError
from penstock.stages.base import ColumnStage, Fitted, Tags, check_choice, check_number
from penstock.stages.preprocessing.categories import check_frequency, coder, codes, frequent, values_of
from penstock.statistics import Frequencies, Statistic, ValueCounts


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
        check_frequency(self)
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
        kept = frequent(found, self.min_frequency)
        return kept if self.max_categories is None else kept.top(self.max_categories)

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Encode all columns in one call."""
        values = {name: values_of(fitted["categories"][name]) for name in self.inputs()}
        unseen = {name: len(known) for name, known in values.items()}
        found = codes(frame, values, unseen, refuse=self.handle_invalid == "error")
        return frame.with_columns(*[found[name].fill_null(unseen[name] + 1).alias(out) for name, out in self.pairs()])

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Encode one value."""
        known = values_of(fitted["categories"][name])
        missing = len(known) + 1
        code = coder(name, known, len(known), refuse=self.handle_invalid == "error")
        return lambda value: missing if value is None else code(value)

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
        values = {name: values_of(fitted["categories"][name]) for name in self.inputs()}
        return frame.with_columns(*[frames.decode(frame[out], values[name]).alias(name) for name, out in self.pairs()])
