"""Values of a row's neighbours under the same key, as a dataset offers them.

The window is the query engine's. What it sees is narrow: a row's number, its key, its place in the order and the values
to move. What it makes is read back by row number, so that a row keeps its number and its other columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaError, check_one_of
from penstock.core.names import check_names, column_names
from penstock.core.scheduler import relational
from penstock.core.selectors import resolve
from penstock.dataset.beside import NUMBER, RowsBeside
from penstock.dataset.lags.steps import ALONE, SECONDS, Beside, Lag, Narrow
from penstock.dataset.steps import check_numbered
from penstock.frames.transport_types import carrier
from penstock.io.fragments import row_bytes

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


class Lags:
    """The part of a dataset that looks from row to row."""

    def lag(
        self,
        columns: str | Sequence[str],
        *,
        by: str | Sequence[str],
        order_by: str | Sequence[str],
        periods: int | Sequence[int] = 1,
        output_columns: str | Sequence[str] | None = None,
        staging_dir: str | Path | None = None,
    ) -> Dataset:
        """Add the values that columns have some rows before, under the same key.

        Rows, their order, their numbers and all other columns stay as they are. The values are found now, by the
        engine's query engine, which is given these columns alone, and are kept in a temporary file: see
        `Engine.query`.

        Parameters
        ----------
        columns : str or sequence of str
            Columns of any type that is not nested.
        by : str or sequence of str
            The key: a customer, a device. Empty: all rows have the same one.
        order_by : str or sequence of str
            What orders the rows of a key, ascending: a time. Rows that agree in it are in the order of their row
            numbers, so that every engine finds the same. Empty: row numbers alone.
        periods : int or sequence of int
            How many rows before, at least 1; a column is made for each.
        output_columns : str or sequence of str, optional
            Names of the new columns, all periods of the first column first; ``<column>_lag_<periods>`` unless given.
        staging_dir : path, optional
            A directory that this machine and all workers share; on one machine the temporary directory, unless given.

        Returns
        -------
        Dataset
            With the new columns, of the types of the old ones. Null where there is no such row or its value is null.
            A row whose key or order is null (in any of their columns) has no neighbours: its new columns are null,
            and no other row finds it.

        Raises
        ------
        SchemaError
            A column is not there, or is nested.
        ConfigError
            `periods` is not positive; a new column is there already; rows have no numbers (after `map_partitions`);
            the workers are on other machines and `staging_dir` is not given.

        Notes
        -----
        A row needs its history to be given a lag, so this is no stage of a pipeline: do it before ``fit``, and again
        before ``transform``, on the new rows together with as many old ones of each key as `periods` reaches back.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> sales = pa.table({"shop": ["a", "b", "a", "a"], "day": [3, 1, 1, 2], "sold": [30, 5, 10, 20]})
        >>> data = ps.LocalEngine(device="cpu").from_arrow(sales).lag("sold", by="shop", order_by="day")
        >>> data.head()["sold_lag_1"].to_list()
        [20, None, None, 10]
        """
        data = cast("Dataset", self)
        return lagged(data, "lag", columns, by, order_by, periods, output_columns, staging_dir)

    def lead(
        self,
        columns: str | Sequence[str],
        *,
        by: str | Sequence[str],
        order_by: str | Sequence[str],
        periods: int | Sequence[int] = 1,
        output_columns: str | Sequence[str] | None = None,
        staging_dir: str | Path | None = None,
    ) -> Dataset:
        """Add the values that columns have some rows after, under the same key: labels, since it looks ahead.

        Everything else is as for `lag`; names are ``<column>_lead_<periods>``.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> sales = pa.table({"shop": ["a", "b", "a", "a"], "day": [3, 1, 1, 2], "sold": [30, 5, 10, 20]})
        >>> data = ps.LocalEngine(device="cpu").from_arrow(sales).lead("sold", by="shop", order_by="day")
        >>> data.head()["sold_lead_1"].to_list()
        [None, None, 20, 30]
        """
        data = cast("Dataset", self)
        return lagged(data, "lead", columns, by, order_by, periods, output_columns, staging_dir, ahead=True)

    def diff(
        self,
        columns: str | Sequence[str],
        *,
        by: str | Sequence[str],
        order_by: str | Sequence[str],
        periods: int | Sequence[int] = 1,
        unit: str = "days",
        output_columns: str | Sequence[str] | None = None,
        staging_dir: str | Path | None = None,
    ) -> Dataset:
        """Add what columns have changed by since some rows before, under the same key.

        Everything else is as for `lag`; names are ``<column>_diff_<periods>``.

        Parameters
        ----------
        columns : str or sequence of str
            Integers up to int64, floats, dates, timestamps, times of day or durations.
        unit : {"seconds", "minutes", "hours", "days"}, default "days"
            Of the differences of dates and times; a day is 24 hours.

        Returns
        -------
        Dataset
            Differences are int64 for integers, float64 in `unit` for dates and times, and of the same type for floats.
            Null where either value is.

        Raises
        ------
        SchemaError
            Also: a column has another type.
        DataValueError
            When it is read: a difference of integers does not fit into 64 bits.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> sales = pa.table({"shop": ["a", "b", "a", "a"], "day": [3, 1, 1, 2], "sold": [30, 5, 10, 25]})
        >>> data = ps.LocalEngine(device="cpu").from_arrow(sales).diff("sold", by="shop", order_by="day")
        >>> data.head()["sold_diff_1"].to_list()
        [5, None, None, 15]
        """
        data = cast("Dataset", self)
        return lagged(data, "diff", columns, by, order_by, periods, output_columns, staging_dir, unit=unit)


Names = str | Sequence[str]


def lagged(
    dataset: Dataset,
    title: str,
    columns: Names,
    by: Names,
    order_by: Names,
    periods: int | Sequence[int],
    output_columns: Names | None,
    staging_dir: str | Path | None,
    *,
    ahead: bool = False,
    unit: str | None = None,
) -> Dataset:
    """Return a dataset with more columns; `title` is the method of `Dataset` that is called, with its parameters.

    Parameters
    ----------
    ahead : bool
        Rows are counted forwards.
    unit : str, optional
        Differences are made, in time in this unit.
    """
    check_numbered(dataset.steps, title, "Write the rows to Parquet and read them again.", stage=title)
    values = resolve(columns, dataset.schema, title)
    narrow = Narrow(dataset.schema, _keys(dataset, title, by), _keys(dataset, title, order_by), values, title)
    lags = _lags(narrow, _counts(title, periods), ahead, unit, output_columns)
    for name in (*narrow.by, *narrow.order_by, *narrow.values):
        _check_carried(dataset.schema.field(name), title)
    window = _window(dataset, narrow, lags, staging_dir)
    return dataset.with_step(Beside(lags, RowsBeside.of(window, title), title))


def _window(dataset: Dataset, narrow: Narrow, lags: Sequence[Lag], staging_dir: str | Path | None) -> Dataset:
    """Return the row numbers, in order, and the values so many rows before."""
    keys = len(narrow.by)
    order = [f"c{keys + place}" for place in range(len(narrow.order_by))]
    value = {name: f"c{keys + len(order) + place}" for place, name in enumerate(narrow.values)}
    moved = {lag.stored: nw.col(value[lag.column]).shift(lag.periods) for lag in lags}
    engine = relational(dataset.engine, "lags")

    def window(frame: nw.LazyFrame) -> nw.LazyFrame:
        by = [ALONE, *(f"c{place}" for place in range(keys))]
        result: nw.LazyFrame = engine.window(frame, moved, partition_by=by, order_by=[*order, NUMBER])
        return result.select(NUMBER, *moved)

    window.__name__ = narrow.label
    rows = max((fragment.rows for fragment in dataset.fragments), default=1)
    width = row_bytes(narrow.output_schema(dataset.schema)) * (1 + len(moved))
    narrowed = dataset.with_step(narrow)
    return engine.query(window, narrowed, order_by=NUMBER, staging_dir=staging_dir, fragment_bytes=max(1, rows) * width)


def _lags(
    narrow: Narrow, periods: Sequence[int], ahead: bool, unit: str | None, output_columns: Names | None
) -> tuple[Lag, ...]:
    schema, title = narrow.schema, narrow.label
    pairs = [(column, count) for column in narrow.values for count in periods]
    names = _outputs(schema, title, [f"{column}_{title}_{count}" for column, count in pairs], output_columns)
    if unit is not None:
        _check_differences(schema, title, narrow.values, unit)
    return tuple(
        Lag(column, schema.field(column).type, -count if ahead else count, name, f"v{place}", unit)
        for place, ((column, count), name) in enumerate(zip(pairs, names, strict=True))
    )


def _outputs(schema: pa.Schema, title: str, names: list[str], given: Names | None) -> list[str]:
    """Return the names of the new columns: those given, or those they have by themselves."""
    outputs = names if given is None else list(column_names(given, f"output_columns of {title}", stage=title))
    if len(outputs) != len(names):
        raise ConfigError(
            f"output_columns of {title} has {len(outputs)} name(s), expected {len(names)}: {', '.join(names)}",
            hint="Give a name for each column and period, those of the first column first.",
            stage=title,
        )
    check_names(outputs, title, stage=title)
    for place, name in enumerate(outputs):
        if name in schema.names or name in outputs[:place]:
            raise ConfigError(
                f"{title} would make column {name!r}, which is there already",
                hint="Choose other names with output_columns.",
                column=name,
                stage=title,
            )
    return outputs


def _counts(title: str, periods: int | Sequence[int]) -> list[int]:
    counts = list(periods) if isinstance(periods, Sequence) else [periods]
    if not counts or any(not isinstance(count, int) or isinstance(count, bool) or count < 1 for count in counts):
        raise ConfigError(
            f"periods of {title} is {periods!r}, expected positive integers",
            hint="For rows that come after, use lead.",
            stage=title,
        )
    return counts


def _keys(dataset: Dataset, title: str, names: Names) -> tuple[str, ...]:
    names = column_names(names, f"columns of {title}", stage=title)
    return resolve(names, dataset.schema, title) if names else ()


def _check_carried(field: pa.Field, title: str) -> None:
    if carrier(field.type) is None:
        raise SchemaError(
            f"column {field.name!r} is {field.type}, which {title} cannot take",
            hint="It takes numbers, strings, binary values, booleans, dates and times.",
            column=field.name,
            stage=title,
        )


def _check_differences(schema: pa.Schema, title: str, columns: Sequence[str], unit: str) -> None:
    check_one_of(f"unit of {title}", unit, SECONDS, stage=title)
    for name in columns:
        kind = schema.field(name).type
        whole = pa.types.is_integer(kind) and not pa.types.is_uint64(kind)
        if not (whole or pa.types.is_floating(kind) or pa.types.is_temporal(kind)):
            raise SchemaError(
                f"column {name!r} is {kind}, of which there is no difference",
                hint="It takes integers up to int64, floats, dates and times; cast the column before.",
                column=name,
                stage=title,
            )
