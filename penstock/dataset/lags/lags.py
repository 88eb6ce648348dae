"""Values of a row's neighbours under the same key, as a dataset offers them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from penstock.dataset.lags.window import lagged

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
