"""Lists of categories as columns of 0 and 1."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.frames import matrices, sparse
from penstock.frames.ragged import Ragged
from penstock.stages.base import Fitted, RowFunction, Tags, wrong_type
from penstock.stages.parameter_checks import one_of, wrong_parameter
from penstock.stages.preprocessing.categories._indicators import IndicatorStage
from penstock.stages.shapes import Fields, Shape, by_column, vocabulary
from penstock.statistics.base import Statistic
from penstock.statistics.distinct.elements import ElementCounts, Elements


@dataclass(frozen=True)
class MultiHot(IndicatorStage):
    """Adds columns of 0 and 1 (int8), one for each category, that say which ones the list of a row has.

    The columns are told by the parameters alone, as those of :class:`OneHotEncoder` are:

    - With `categories` they are named for the values, ``<column>_<value>``, and nothing is learned.
    - With `max_categories` = k they are ``<column>_0`` to ``<column>_<k - 1>``: column i is for the value at place i,
      those in most lists first, of those in equally many the smaller, and 0 throughout if there are fewer.

    ============================ =============================== =============
    in the list                  ``handle_invalid="keep"``       ``"ignore"``
    ============================ =============================== =============
    a category                   1 in its column                 the same
    others: unseen or infrequent 1 in ``<column>_other``         nothing
    no list, but null            1 in ``<column>_null``          0 everywhere
    ============================ =============================== =============

    How often a list has a category makes no difference. The columns encoded stay. For very many categories
    :class:`CountVectorizer` with ``binary=True`` makes a sparse vector.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of lists of strings or integers; the latter are matched by their text, see :class:`StringIndexer`.
    categories : sequence of sequences, optional
        The values of each column, in the order of its columns.
    max_categories : int, optional
        How many values have a column. Either this or `categories` is given.
    min_frequency : int or float, default=1
        Values in fewer lists have no column: an integer is a count, a float a share of all rows, nulls included. It
        goes with `max_categories`.
    handle_invalid : {"keep", "ignore"}, default="keep"
        What becomes of other values, and of null.

    Raises
    ------
    ConfigError
        A parameter is wrong, a category cannot be an element of its column, or two columns would have one name.
    SchemaError
        Before reading: a column is missing or not of lists of strings or integers.

    Notes
    -----
    An element that is null is passed over. Learned are ``categories``, an Arrow table by column of ``value`` and, where
    it was counted, ``lists``: the row at place i belongs to column i.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"tags": [["b", "a"], ["b", "b", "c"], [], None]}))
    >>> made = ps.Pipeline(st.MultiHot("tags", max_categories=2)).fit(data).transform(data).to_polars()
    >>> made.columns[1:], made.rows()[1][1:], made.rows()[3][1:]
    (['tags_0', 'tags_1', 'tags_other', 'tags_null'], (1, 0, 1, 0), (0, 0, 0, 1))
    """

    _: KW_ONLY
    handle_invalid: str = field(default="keep", metadata=one_of("keep", "ignore"))

    tags: ClassVar[Tags] = Tags(accepts="list")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_frequency != 1 and self.categories is not None:
            raise wrong_parameter(self, "min_frequency", "1 with categories")

    def _category_type(self, name: str, kind: pa.DataType) -> pa.DataType:
        if not (pa.types.is_string(kind.value_type) or pa.types.is_integer(kind.value_type)):
            raise wrong_type(self.title, name, kind, "lists of strings or integers", None)
        return kind.value_type

    def _counts(self) -> Statistic:
        return ElementCounts(self.inputs())

    def _most_frequent(self, name: str, found: Elements) -> pa.Table:
        share, rows = self.min_frequency, found.lists + found.nulls
        least = math.ceil(share * rows) if isinstance(share, float) else share
        table = found.table.select(["value", "lists"]).filter(pc.field("lists") >= least)
        ordered = table.sort_by([("lists", "descending"), ("value", "ascending")])
        return ordered.slice(0, self._width(name)).combine_chunks()

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        tables = by_column(
            self.inputs(), lambda name: vocabulary(schema.field(name).type.value_type, lists=pa.types.is_integer)
        )
        return Fields({"categories": tables})

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Encode column by column."""
        made: dict[str, np.ndarray] = {}
        for name in self.inputs():
            texts = fitted["categories"][name]["value"].combine_chunks().cast(pa.string())
            hits = self._hits(name, Ragged.of(frame, name), texts)
            made |= {out: hits[code] for out, code in self._made(name)}
        return frame.with_columns(*[matrices.column(frame, out, values) for out, values in made.items()])

    def _hits(self, name: str, lists: Ragged, texts: pa.Array) -> list[np.ndarray]:
        """Return 0 or 1 for each list: whether it has each category, whether it has others, whether it is null."""
        known, width = lists.known(), self._width(name)
        values, codes = known.coded()
        places = pc.index_in(values.cast(pa.string()), texts).fill_null(width).to_numpy()[codes]
        columns = sparse.counts(places, known.offsets, width + 1).tocsc()
        hits = np.zeros((width + 1, len(lists.missing)), np.int8)
        for place, rows in enumerate(np.split(columns.indices, columns.indptr[1:-1])):
            hits[place, rows] = 1
        return [*hits, lists.missing.astype(np.int8)]

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Encode one row."""
        keep = self.handle_invalid == "keep"
        coded = []
        for name, table in fitted["categories"].items():
            places = {value: place for place, value in enumerate(table["value"].to_pylist())}
            coded.append((name, [out for out, _ in self._made(name)], places))

        def call(row: dict[str, Any]) -> None:
            for name, made, places in coded:
                values = {value for value in row[name] or () if value is not None}
                hits = dict.fromkeys(made, 0)
                hits |= {made[places[value]]: 1 for value in values if value in places}
                if keep:
                    hits |= {made[-2]: int(not values <= places.keys()), made[-1]: int(row[name] is None)}
                row.update(hits)

        return call
