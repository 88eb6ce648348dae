"""Lists of categories as columns of 0 and 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import arrays, sparse
from penstock.errors import ConfigError, SchemaError
from penstock.ragged import Ragged
from penstock.selectors import Columns, resolve
from penstock.stages.base import (
    Fitted,
    RowFunction,
    Stage,
    Tags,
    check_choice,
    check_number,
    check_types,
    normalise_columns,
    with_fields,
)
from penstock.stages.preprocessing.categories import check_frequency, check_new, holds, spelt
from penstock.statistics.base import Statistic
from penstock.statistics.elements import ElementCounts, Elements


@dataclass(frozen=True)
class MultiHot(Stage):
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

    columns: Columns
    _: KW_ONLY
    categories: tuple[tuple[Any, ...], ...] | None = None
    max_categories: int | None = None
    min_frequency: int | float = 1
    handle_invalid: str = "keep"

    tags: ClassVar[Tags] = Tags(accepts="list")

    def __post_init__(self) -> None:
        normalise_columns(self, "columns")
        check_frequency(self)
        check_number(self, "max_categories", least=1, whole=True)
        check_choice(self, "handle_invalid", ("keep", "ignore"))
        if (self.categories is None) == (self.max_categories is None):
            raise ConfigError(
                f"categories of {self.title} are {self.categories!r} and max_categories is {self.max_categories!r},"
                " expected one of them",
                hint="They tell how many columns there will be, before any data is read.",
                stage=self.title,
            )
        if self.categories is not None:
            self._nest(self.categories)

    def _nest(self, categories: Sequence[Any]) -> None:
        if self.min_frequency != 1:
            problem = f"min_frequency of {self.title} is {self.min_frequency!r}, expected 1 with categories"
            raise ConfigError(problem, stage=self.title)
        for values in categories:
            if not isinstance(values, Sequence) or isinstance(values, str):
                raise ConfigError(
                    f"categories of {self.title} hold {values!r:.200}, expected a list of values for each column",
                    hint='Write categories=[["a", "b"]] for one column.',
                    stage=self.title,
                )
        object.__setattr__(self, "categories", tuple(map(tuple, categories)))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return instances for the conformance suite."""
        return (
            cls(("words", "v_indices"), max_categories=3, min_frequency=0.1),
            cls("words", categories=(("a", "größe"),), handle_invalid="ignore"),
        )

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns, and check the categories and the names of what is made."""
        bound = replace(self, columns=resolve(self.columns, schema, self.title))
        check_types(bound, schema, bound.inputs())
        for name in bound.inputs():
            kind = schema.field(name).type
            if not (pa.types.is_string(kind.value_type) or pa.types.is_integer(kind.value_type)):
                raise SchemaError(
                    f"column {name!r} is {kind}, but {self.title} takes lists of strings or integers",
                    column=name, stage=self.title,
                )  # fmt: skip
        if bound.categories is not None:
            bound._check_categories(schema, bound.categories)
        check_new(bound, schema)
        return bound

    def _check_categories(self, schema: pa.Schema, categories: Sequence[Sequence[Any]]) -> None:
        if len(categories) != len(self.inputs()):
            raise ConfigError(
                f"{self.title} has {len(self.inputs())} columns but categories of {len(categories)}", stage=self.title
            )
        for name, values in zip(self.inputs(), categories, strict=True):
            kind = schema.field(name).type.value_type
            if not values or len(set(values)) < len(values) or not all(holds(kind, value) for value in values):
                raise ConfigError(
                    f"categories of column {name!r} are {values!r:.200}, expected different values of type {kind}",
                    column=name, stage=self.title,
                )  # fmt: skip

    def inputs(self) -> tuple[str, ...]:
        """Return the columns encoded."""
        return self.columns  # type: ignore[return-value]

    def outputs(self) -> tuple[str, ...]:
        """Return the columns made, those of the first column first."""
        return tuple(out for name in self.inputs() for out in self._made(name))

    def _made(self, name: str) -> list[str]:
        """Return the columns made of one: a column for each category, and those for others and for null."""
        given = self._given(name)
        texts = [spelt(value) for value in given] or [str(place) for place in range(self._width(name))]
        return [f"{name}_{text}" for text in [*texts, *(["other", "null"] if self.handle_invalid == "keep" else [])]]

    def _given(self, name: str) -> tuple[Any, ...]:
        return () if self.categories is None else self.categories[self.inputs().index(name)]

    def _width(self, name: str) -> int:
        return self.max_categories or len(self._given(name))

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema with the columns made, int8, at the end."""
        return with_fields(schema, dict.fromkeys(self.outputs(), pa.int8()))

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask how many lists have each value, unless categories are given."""
        return {} if self.categories is not None else {"elements": ElementCounts(self.inputs())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``categories`` of each column."""
        if self.categories is not None:
            return {"categories": {name: pa.table({"value": list(self._given(name))}) for name in self.inputs()}}
        return {"categories": {name: self._kept(name, results["elements"][name]) for name in self.inputs()}}

    def _kept(self, name: str, found: Elements) -> pa.Table:
        share, rows = self.min_frequency, found.lists + found.nulls
        least = math.ceil(share * rows) if isinstance(share, float) else share
        table = found.table.select(["value", "lists"]).filter(pc.field("lists") >= least)
        ordered = table.sort_by([("lists", "descending"), ("value", "ascending")])
        return ordered.slice(0, self._width(name)).combine_chunks()

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Encode column by column."""
        made: dict[str, np.ndarray] = {}
        for name in self.inputs():
            texts = fitted["categories"][name]["value"].combine_chunks().cast(pa.string())
            hits = self._hits(name, Ragged.of(frame, name), texts)
            made |= dict(zip(self._made(name), hits, strict=False))
        return frame.with_columns(*[arrays.column(frame, out, values) for out, values in made.items()])

    def _hits(self, name: str, lists: Ragged, texts: pa.Array) -> list[np.ndarray]:
        """Return 0 or 1 for each list: whether it has each category, whether it has others, whether it is null."""
        known, width = lists.known(), self._width(name)
        values, codes = known.coded()
        places = pc.index_in(values.cast(pa.string()), texts).fill_null(width).to_numpy()[codes]
        columns = sparse.counts(places, known.offsets, width + 1).tocsc()
        hits = np.zeros((width + 1, len(lists.missing)), np.int8)
        for place, rows in enumerate(np.split(columns.indices, columns.indptr[1:-1])):
            hits[place, rows] = 1
        return [*hits, lists.missing.astype(np.int8)] if self.handle_invalid == "keep" else list(hits[:width])

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Encode one row."""
        keep = self.handle_invalid == "keep"
        coded = [
            (name, self._made(name), {value: place for place, value in enumerate(table["value"].to_pylist())})
            for name, table in fitted["categories"].items()
        ]

        def call(row: dict[str, Any]) -> None:
            for name, made, places in coded:
                values = {value for value in row[name] or () if value is not None}
                hits = dict.fromkeys(made, 0)
                hits |= {made[places[value]]: 1 for value in values if value in places}
                if keep:
                    hits |= {made[-2]: int(not values <= places.keys()), made[-1]: int(row[name] is None)}
                row.update(hits)

        return call
