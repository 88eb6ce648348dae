"""Relational verbs, as a dataset offers them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaError, check_one_of
from penstock.core.names import column_names
from penstock.core.schemas import require
from penstock.core.selectors import Columns, resolve
from penstock.core.several import several
from penstock.dataset.relations.asof import joined_asof
from penstock.dataset.relations.grouping import GroupedDataset
from penstock.dataset.relations.join import KeyNames, joined
from penstock.dataset.relations.rolling import RollingDataset, rolling
from penstock.dataset.relations.sorting import limit, sort
from penstock.dataset.relations.unique import unique

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


class Relations:
    """The part of a dataset that relates rows to each other, in queries that run when their rows are needed."""

    def join(
        self,
        other: Dataset,
        on: str | Sequence[str] | None = None,
        *,
        left_on: str | Sequence[str] | None = None,
        right_on: str | Sequence[str] | None = None,
        how: str = "inner",
        suffix: str = "_right",
        null_equal: bool = False,
        maintain_order: bool = True,
    ) -> Dataset:
        """Put rows beside those of another dataset that have the same key.

        Nothing is read: the engine's query engine runs it, in one query with what was asked for before and is asked for
        after, when rows are first needed.

        Parameters
        ----------
        other : Dataset
        on : str or sequence of str, optional
            The columns of the key on both sides; or `left_on` and `right_on`, where they are called differently.
        how : {"inner", "left", "right", "full", "semi", "anti", "cross"}
            ``"semi"`` keeps the rows that have a match, ``"anti"`` those that have none, both without columns of
            `other`; ``"cross"`` takes no key, and puts each row beside each.
        suffix : str
            Put to the names of columns of `other` that are there already.
        null_equal : bool
            Whether a key that is null matches one that is; else it matches nothing.
        maintain_order : bool
            Have the rows in the order of this dataset, then of `other`; rows that are of `other` alone come last, and
            with ``"right"`` the order of `other` goes first. False saves the sort, and leaves the order undefined: row
            numbers, splits and folds of the result may then differ from run to run.

        Returns
        -------
        Dataset
            The columns of this dataset, then those of `other` but for its key, which is that of the left; in a right or
            full join it has the values of both. Keys of different integers, or floats, have the type that holds both.

        Raises
        ------
        SchemaError
            A key is not there, or its types cannot be compared.
        ConfigError
            `how` is not known, the key is given twice or on one side; a column would be there twice; the engine has no
            query engine; or its workers are on other machines and it was given no `staging_dir`.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> engine = ps.LocalEngine(device="cpu")
        >>> trips = engine.from_arrow(pa.table({"zone": [2, 1, 3], "fare": [7.0, 5.0, 9.0]}))
        >>> zones = engine.from_arrow(pa.table({"zone": [1, 2], "name": ["Alley", "Bay"]}))
        >>> trips.join(zones, "zone", how="left").to_arrow().to_pydict()
        {'zone': [2, 1, 3], 'fare': [7.0, 5.0, 9.0], 'name': ['Bay', 'Alley', None]}
        """
        data = cast("Dataset", self)
        names = KeyNames(on, left_on, right_on)
        return joined(data, other, names, how, suffix, null_equal=null_equal, maintain_order=maintain_order)

    def unique(self, subset: Columns | None = None, *, keep: str = "any", maintain_order: bool = True) -> Dataset:
        """Keep one row of those that agree in columns; null agrees with null. Nothing is read; see `join`.

        Parameters
        ----------
        subset : columns, optional
            All unless given.
        keep : {"any", "first", "last"}
            Which one, by row number; ``"any"`` is the first too, and says that another would do.
        maintain_order : bool
            Have the rows in the order that they have; False leaves it undefined.

        Raises
        ------
        SchemaError
            A column is not there, or is nested.
        ConfigError
            `keep` is not known; or as in `join`.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> visits = ps.LocalEngine(device="cpu").from_arrow(pa.table({"who": ["b", "a", "b"], "page": [1, 2, 3]}))
        >>> visits.unique("who", keep="last").to_arrow().to_pydict()
        {'who': ['a', 'b'], 'page': [2, 3]}
        """
        return unique(cast("Dataset", self), subset, keep, maintain_order=maintain_order)  # type: ignore[arg-type]

    def sort(self, *by: Columns, descending: bool | Sequence[bool] = False, nulls: str = "first") -> Dataset:
        """Sort rows by columns; those that agree stay in the order of their row numbers. Nothing is read; see `join`.

        Parameters
        ----------
        *by : columns
            Text is ordered by its bytes in UTF-8.
        descending : bool or sequence of bool
            For all columns, or for each.
        nulls : {"first", "last"}
            Where null goes, in both directions.

        Raises
        ------
        SchemaError
            A column is not there, or is nested.
        ConfigError
            `nulls` is not known; `descending` has another number; or as in `join`.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [2, None, 3], "y": [0, 1, 2]}))
        >>> data.sort("x", descending=True, nulls="last").to_arrow()["y"].to_pylist()
        [2, 0, 1]
        """
        return sort(cast("Dataset", self), by, descending, nulls)  # type: ignore[arg-type]

    def limit(self, rows: int, *, offset: int = 0) -> Dataset:
        """Keep the first rows, in their order, after an offset. Nothing is read; see `join`.

        Raises
        ------
        ConfigError
            A number is negative or no whole one; the rows are in no defined order; or as in `join`.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [2, 5, 3]}))
        >>> data.sort("x", descending=True).limit(2).to_arrow()["x"].to_pylist()
        [5, 3]
        """
        return limit(cast("Dataset", self), rows, offset)

    def group_by(self, *keys: Columns, maintain_order: bool = True) -> GroupedDataset:
        """Return the rows by a key, for ``agg``: one row for each key. Null is a key like any other.

        Parameters
        ----------
        *keys : columns
            None at all: all rows have the same one, and one row comes out, also of no rows.
        maintain_order : bool
            Sort what comes out by the key, null first; False leaves its order undefined.

        Raises
        ------
        SchemaError
            A column is not there.

        Examples
        --------
        >>> import narwhals as nw, penstock as ps, pyarrow as pa
        >>> trips = ps.LocalEngine(device="cpu").from_arrow(pa.table({"zone": [2, 1, 2], "fare": [7.0, 5.0, 8.0]}))
        >>> trips.group_by("zone").agg(trips="len", fare="mean", most=nw.col("fare").max() + 1).to_arrow().to_pylist()
        [{'zone': 1, 'trips': 1, 'fare': 5.0, 'most': 6.0}, {'zone': 2, 'trips': 2, 'fare': 7.5, 'most': 9.0}]
        """
        data = cast("Dataset", self)
        names: Any = keys[0] if len(keys) == 1 else column_names(keys, "keys of group_by", stage="group_by")  # type: ignore[arg-type]
        columns = resolve(names, data.schema, "group_by") if keys else ()
        return GroupedDataset(data, columns, maintain_order)

    def pivot(
        self,
        on: str,
        *,
        index: str | Sequence[str],
        values: str | Sequence[str],
        aggregate_function: str,
        on_values: Sequence[Any] | None = None,
    ) -> Dataset:
        """Return a row for each key, and a column for each value of a column.

        Parameters
        ----------
        on : str
            The column whose values become names of columns; rows where it is null are in none of them.
        index : str or sequence of str
            The key, by which rows come out in order, null first.
        values : str or sequence of str
            What is aggregated. Of several, columns are called ``<column>_<value>``.
        aggregate_function : {"sum", "mean", "min", "max", "std", "var", "median", "count", "len"}
            Types are those of `group_by`. Where a key has no row with the value, counts are 0, and others null.
        on_values : sequence, optional
            The values of `on` to make columns of, in this order. Unless given they are found by a query of that column,
            which runs now: the columns of a dataset are known before its rows.

        Raises
        ------
        SchemaError
            A column is not there, or `on` is of floats or nested.
        ConfigError
            `aggregate_function` is not known; there is no value, or one twice; or as in `join`.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> sold = pa.table({"shop": ["a", "b", "a"], "kind": ["tea", "tea", "milk"], "n": [1, 2, 3]})
        >>> data = ps.LocalEngine(device="cpu").from_arrow(sold)
        >>> data.pivot("kind", index="shop", values="n", aggregate_function="sum").to_arrow().to_pydict()
        {'shop': ['a', 'b'], 'milk': [3, None], 'tea': [1, 2]}
        """
        return pivot(cast("Dataset", self), on, index, values, aggregate_function, on_values)

    def rolling(
        self, window: int | datetime.timedelta, *, order_by: str | Sequence[str], by: str | Sequence[str] = ()
    ) -> RollingDataset:
        """Return the rows with the windows before them, for ``agg``, which adds columns. Nothing is read; see `join`.

        Parameters
        ----------
        window : int or timedelta
            How many rows a window has, the row itself the last of them; or how far it reaches back in time, up to and
            with all rows at the row's own time, its beginning left out.
        order_by : str or sequence of str
            What orders the rows of a key, ascending; rows that agree go by their row numbers. One column of dates or
            timestamps for a window of time.
        by : str or sequence of str
            The key. A row whose key or order is null has no window: its new columns are null.

        Raises
        ------
        SchemaError
            A column is not there, or of no type for it.
        ConfigError
            `window` is not positive; or as in `join`.

        Notes
        -----
        All rows of a key are held by one worker.

        Examples
        --------
        >>> import datetime, narwhals as nw, penstock as ps, pyarrow as pa
        >>> days = [datetime.date(2024, 3, day) for day in (1, 2, 9)]
        >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"day": days, "sold": [1, 2, 4]}))
        >>> data.rolling(2, order_by="day").agg(two=nw.col("sold").sum()).to_arrow()["two"].to_pylist()
        [1, 3, 6]
        >>> week = data.rolling(datetime.timedelta(days=7), order_by="day").agg(week=nw.col("sold").sum())
        >>> week.to_arrow()["week"].to_pylist()
        [1, 3, 4]
        """
        return rolling(cast("Dataset", self), window, by, order_by)

    def join_asof(
        self,
        other: Dataset,
        on: str | None = None,
        *,
        left_on: str | None = None,
        right_on: str | None = None,
        by: str | Sequence[str] = (),
        strategy: str = "backward",
        tolerance: float | datetime.timedelta | None = None,
        suffix: str = "_right",
    ) -> Dataset:
        """Put beside each row the row of another dataset with the same key that is nearest in an order, such as time.

        Nothing is read; see `join`. All rows come out, in their order, each once.

        Parameters
        ----------
        other : Dataset
        on : str, optional
            The place in the order, dates, timestamps or numbers; or `left_on` and `right_on`.
        by : str or sequence of str
            The key, on both sides. A row whose key or place is null finds nothing, and is not found.
        strategy : {"backward", "forward", "nearest"}
            The last row at the place or before, the first at it or after, or the nearer of them. Of rows of `other` at
            one place the last is taken, and with ``"forward"`` the first.
        tolerance : number or timedelta, optional
            How far a row may be away, at most.
        suffix : str
            Put to the names of columns of `other` that are there already, as that of its place.

        Raises
        ------
        SchemaError
            A column is not there, or of no type for it.
        ConfigError
            `strategy` is not known; `tolerance` does not suit the place; or as in `join`.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> engine = ps.LocalEngine(device="cpu")
        >>> trades = engine.from_arrow(pa.table({"time": [5, 1, 9], "amount": [10, 20, 30]}))
        >>> prices = engine.from_arrow(pa.table({"time": [2, 8], "price": [1.5, 2.5]}))
        >>> trades.join_asof(prices, "time").to_arrow().to_pydict()
        {'time': [5, 1, 9], 'amount': [10, 20, 30], 'time_right': [2, None, 8], 'price': [1.5, None, 2.5]}
        """
        names = KeyNames(on, left_on, right_on)
        return joined_asof(cast("Dataset", self), other, names, by, strategy, tolerance, suffix)


FUNCTIONS = ("sum", "mean", "min", "max", "std", "var", "median", "count", "len")
Names = str | Sequence[str]


def pivot(
    dataset: Dataset, on: str, index: Names, values: Names, aggregate_function: str, on_values: Sequence[Any] | None
) -> Dataset:
    """Return a row for each key, and a column for each value of another column; see `Dataset.pivot`."""
    check_one_of("aggregate_function of pivot", aggregate_function, FUNCTIONS, stage="pivot")
    schema = dataset.schema
    (on,) = require(schema, [on], stage="pivot")
    index = resolve(column_names(index, "index of pivot", stage="pivot"), schema, "pivot")
    columns = resolve(column_names(values, "values of pivot", stage="pivot"), schema, "pivot")
    if pa.types.is_nested(schema.field(on).type) or pa.types.is_floating(schema.field(on).type):
        raise SchemaError(
            f"column {on!r} is {schema.field(on).type}, whose values are no names of columns",
            hint="Name a column of strings, integers, booleans or dates.",
            column=on,
            stage="pivot",
        )
    on_values = several(on_values, "on_values", "Sequence[Any] | None")
    found = values_of(dataset, on) if on_values is None else list(on_values)
    made = {
        _name(column, value, len(columns)): _cell(on, column, value, aggregate_function)
        for value in found
        for column in columns
    }
    if len(made) != len(found) * len(columns) or not found:
        raise ConfigError(
            f"pivot has {len(found)} value(s) of {on!r}, which make {len(made)} name(s) of columns: {', '.join(made)}",
            hint="Give each value once, as on_values.",
            column=on,
            stage="pivot",
        )
    return dataset.group_by(*index).agg(**made)


def values_of(dataset: Dataset, column: str) -> list[Any]:
    """Return the values of a column, in order, by a query that runs now; null is none."""
    rows = dataset.select(column).unique(maintain_order=False).sort(column).to_arrow()
    return [value for value in rows[column].to_pylist() if value is not None]


def _name(column: str, value: Any, columns: int) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if columns == 1 else f"{column}_{text}"


def _cell(on: str, column: str, value: Any, function: str) -> nw.Expr:
    """Return the aggregate over the rows that have a value; null where there is none."""
    has = nw.col(on) == nw.lit(value)
    if function == "len":
        return nw.when(has).then(nw.lit(1)).count()
    made: nw.Expr = getattr(nw.when(has).then(nw.col(column)), function)()
    return nw.when(nw.when(has).then(nw.lit(1)).count() > 0).then(made) if function == "sum" else made
