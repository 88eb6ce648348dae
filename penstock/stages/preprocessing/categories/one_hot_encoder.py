"""Categories as columns of 0 and 1."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import DataValueError
from penstock.stages.base import Fitted, RowFunction, Tags
from penstock.stages.onnx_graph import OnnxGraph, not_in_onnx
from penstock.stages.parameter_checks import one_of, wrong_parameter
from penstock.stages.preprocessing.categories._indicators import IndicatorStage
from penstock.stages.preprocessing.categories.vocabulary import coder, codes, frequent, keep_frequent, values_of
from penstock.stages.shapes import Fields, Shape, by_column, vocabulary
from penstock.statistics import Frequencies, Statistic, ValueCounts


@dataclass(frozen=True)
class OneHotEncoder(IndicatorStage):
    """Adds columns of 0 and 1 (int8), one for each category, that say which one a row has.

    Stages to come are bound to columns before any data is read, so the columns are told by the parameters alone:

    - With `categories` they are named for the values, ``<column>_<value>``, and nothing is learned.
    - With `max_categories` = k they are ``<column>_0`` to ``<column>_<k - 1>``: column i is for the value at place i of
      the order that :class:`StringIndexer` gives, most frequent first, and 0 throughout if there are fewer.

    ============================ =============================== ============= ==============
    value                        ``handle_invalid="keep"``       ``"ignore"``  ``"error"``
    ============================ =============================== ============= ==============
    a category                   1 in its column                 the same      the same
    none: unseen, or infrequent  1 in ``<column>_other``         0 everywhere  DataValueError
    null                         1 in ``<column>_null``          0 everywhere  null everywhere
    ============================ =============================== ============= ==============

    Each trainer of the library takes such columns, as none takes the vectors of MLlib. The columns encoded stay.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of strings, integers or booleans. The last two are matched by their text, see :class:`StringIndexer`.
    categories : sequence of sequences, optional
        The values of each column, in the order of its columns; scikit-learn's parameter.
    max_categories : int, optional
        How many values have a column; without the one for others, which scikit-learn counts. Either this or
        `categories` is given.
    min_frequency : int or float, default=1
        Values that occur less often have no column: an integer is a count, a float a share of all rows, nulls included.
        It goes with `max_categories`.
    handle_invalid : {"keep", "error", "ignore"}, default="keep"
        What becomes of other values; MLlib and scikit-learn say ``error`` by default. With ``error`` every value at fit
        needs a column of its own.
    drop : {"first", "last"}, optional
        Leave out the column of the first category, or the last column, so that columns do not add up to one: for linear
        models without a penalty. MLlib leaves out the last one unless told otherwise (``dropLast``); with ``keep`` that
        is the one of null, which then has 0 everywhere.

    Raises
    ------
    ConfigError
        A parameter is wrong, a category cannot be a value of its column, or two columns would have one name.
    SchemaError
        At fit, before reading: a column is missing or of another type.
    DataValueError
        With ``handle_invalid="error"``: at fit, there are more than `max_categories` values; when it runs, there are
        values unseen at fit. It names the column and the count, of unseen ones also the values, file and row.

    Notes
    -----
    A column of nulls has no categories. Learned are ``categories``, an Arrow table by column of ``value`` and, where it
    was counted, ``count``: the row at place i belongs to column i.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"c": ["b", "a", "b", None]}))
    >>> model = ps.Pipeline(st.OneHotEncoder("c", max_categories=2)).fit(data)
    >>> model.transform(data).to_polars().rows()
    [('b', 1, 0, 0, 0), ('a', 0, 1, 0, 0), ('b', 1, 0, 0, 0), (None, 0, 0, 0, 1)]
    >>> st.OneHotEncoder("c", categories=[["a", "b"]], drop="first").bind(data.schema).outputs()
    ('c_b', 'c_other', 'c_null')
    """

    _: KW_ONLY
    handle_invalid: str = field(default="keep", metadata=one_of("keep", "error", "ignore"))
    drop: str | None = field(default=None, metadata=one_of("first", "last"))

    tags: ClassVar[Tags] = Tags(accepts="categorical")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_frequency != 1 and (self.categories is not None or self.handle_invalid == "error"):
            expected = "1 with categories and with handle_invalid='error': each value has a column then"
            raise wrong_parameter(self, "min_frequency", expected)

    def _category_type(self, name: str, kind: pa.DataType) -> pa.DataType:
        return kind

    def _made(self, name: str) -> list[tuple[str, int]]:
        """Return the columns made of one, each with the code it is for; without the one that is dropped."""
        made = super()._made(name)
        return made[self.drop == "first" : len(made) - (self.drop == "last")]

    def _counts(self) -> Statistic:
        return ValueCounts(self.inputs(), keep_frequent(self.min_frequency, self.max_categories))

    def _most_frequent(self, name: str, found: Frequencies) -> pa.Table:
        if self.handle_invalid == "error" and found.distinct > self._width(name):
            raise DataValueError(
                f"column {name!r} has {found.distinct} different values, but max_categories is {self._width(name)}",
                hint='Raise max_categories, or pass handle_invalid="keep" to join the rarest in one column.',
                column=name,
            )
        return frequent(found, self.min_frequency).top(self._width(name)).table

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        tables = by_column(self.inputs(), lambda name: vocabulary(schema.field(name).type, count=pa.types.is_integer))
        return Fields({"categories": tables})

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Encode all columns in one call, and compare the codes in another."""
        values = {name: values_of(fitted["categories"][name]) for name in self.inputs()}
        widths = {name: self._width(name) for name in self.inputs()}
        found = codes(frame, values, widths, refuse=self.handle_invalid == "error")
        columns = [self._is(name, code).alias(out) for name in self.inputs() for out, code in self._made(name)]
        made = found.select(*columns)
        return frame.with_columns(*[made[out] for out in made.columns])

    def _is(self, name: str, code: int) -> nw.Expr:
        value = nw.col(name)
        if self.handle_invalid == "keep":
            value = value.fill_null(self._width(name) + 1)
        hit = value == code
        return (hit.fill_null(False) if self.handle_invalid == "ignore" else hit).cast(nw.Int8)

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        if self.handle_invalid == "error":
            raise not_in_onnx(self, "handle_invalid 'error'", 'Pass handle_invalid="keep" or "ignore".')
        for name in self.inputs():
            values, width = values_of(fitted["categories"][name]).to_pylist(), self._width(name)
            found = graph.codes(name, values, first=0, unseen=width, missing=width + 1)
            columns = {
                out: graph.add("Equal", found, graph.constant(code, "int64"), dtype="bool")
                for out, code in self._made(name)
            }
            graph.assign({out: graph.cast(each, "int8") for out, each in columns.items()})

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Encode one row."""
        refuse, missing = self.handle_invalid == "error", {"keep": 1, "ignore": 2, "error": None}[self.handle_invalid]
        coders = [
            (name, coder(name, values_of(fitted["categories"][name]), self._width(name), refuse=refuse),
             None if missing is None else self._width(name) + missing, self._made(name))
            for name in self.inputs()
        ]  # fmt: skip

        def call(row: dict[str, Any]) -> None:
            for name, code, of_null, made in coders:
                found = of_null if row[name] is None else code(row[name])
                row.update({out: None if found is None else int(found == wanted) for out, wanted in made})

        return call
