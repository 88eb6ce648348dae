"""The part of an engine that relates rows to each other: joins, group-bys and windows, by its own query engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
from pyarrow.parquet import write_table

from penstock.core.errors import ConfigError
from penstock.core.extras import importing, require_module
from penstock.core.names import column_names
from penstock.core.schemas import declared
from penstock.dataset.dataset import Dataset, check_callable
from penstock.dataset.relations.relation import Pending
from penstock.engines.base import Engine
from penstock.engines.querying import QueryEngine, read_staged, run
from penstock.engines.reading import owning
from penstock.engines.relating import relate
from penstock.io.fragments import row_bytes
from penstock.io.sinks.staging_place import StagingPlace
from penstock.io.sources.memory import MemorySource

TABLE_BYTES = 8 * 2**20
"""A table of this process up to this size travels with the tasks that read it."""


class RelationalEngine(Engine, ABC):
    """An engine with a query engine beside it, which relates the rows of datasets to each other.

    Attributes
    ----------
    staging_dir : path or URL, optional
        Where the rows that a query makes are kept, unless it is given with the query: a directory that this machine
        and all workers share, or a folder of a store. On one machine the temporary directory.
    storage_options : mapping, optional
        Passed to fsspec for a `staging_dir` in a store; never shown in a message.
    """

    staging_dir: str | Path | None = None
    storage_options: Mapping[str, Any] | None = None

    @abstractmethod
    def query_engine(self) -> QueryEngine:
        """Return the query engine behind `query`, for one query."""

    def staging(
        self, staging_dir: str | Path | None, label: str, storage_options: Mapping[str, Any] | None = None
    ) -> StagingPlace:
        """Return where rows go that all workers see.

        Raises
        ------
        ConfigError
            The workers are on other machines, and neither `staging_dir` nor that of the engine is given; or it is in
            the memory of this process, and they are others.
        """
        staging_dir = self.staging_dir if staging_dir is None else staging_dir
        if staging_dir is not None:
            options = self.storage_options if storage_options is None else storage_options
            place = StagingPlace.at(staging_dir, options)
            problem = "is in the memory of this process" if place.is_in_memory and not self.in_process else None
        else:
            place, problem = StagingPlace(), self.unshared()
        if problem is not None:
            shown = f"has staging_dir {place.location}, which" if place.location else "needs staging_dir:"
            raise ConfigError(
                f"{label} {shown} {problem}",
                hint="Name a directory that all machines mount, or a URL: on the command line --staging-dir, or"
                f" staging_dir in the file of --engine; in Python {type(self).__name__}(staging_dir=...), or"
                " staging_dir of query, from_dask and from_spark.",
            )
        return place

    def unshared(self) -> str | None:
        """Return why workers may not see the temporary directory of this process; None where they do."""
        return None

    def query(
        self,
        function: Callable[..., Any],
        *datasets: Dataset,
        order_by: str | Sequence[str] = (),
        schema: pa.Schema | dict[str, Any] | None = None,
        staging_dir: str | Path | None = None,
        storage_options: Mapping[str, Any] | None = None,
        fragment_bytes: int | None = None,
    ) -> Dataset:
        """Join, group or otherwise relate the rows of datasets, by the engine's own query engine.

        It is run once, now: by Polars (streaming, or its GPU engine) on the local engine, by Dask DataFrame on Dask,
        by Spark SQL on Spark. The rows that come out are staged as Parquet and read like any others, but for few,
        up to 32 MiB on the local engine and 8 MiB on Dask, which stay in memory; files are removed when no dataset
        refers to them any more.

        Parameters
        ----------
        function : callable
            Takes a Narwhals lazy frame for each dataset, and returns one, or a lazy frame of the query engine itself
            (``.to_native()`` gives that of a Narwhals frame). It runs in this process, and is called once.
        *datasets : Dataset
            At least one. What their steps drop, or would set aside, is left out; those of another engine are read by
            this one.
        order_by : str or sequence of str
            Columns of the result by which its rows are sorted, ascending, null first. A row's identity is its number,
            so splits and folds are the same on every engine only for rows in an order: name columns that are unique
            together, as rows that agree in all of them are in no defined order. Without it the order is that in
            which the query engine leaves them, and may differ from run to run.
        schema : pyarrow.Schema or dict of name to type, optional
            The columns and types that come out, in this order; the result is checked for the columns and cast.
            Without it types are the query engine's own: a sum of int32, say, is int64 in Spark alone.
        staging_dir : path or URL, optional
            A directory that this machine and all workers share, or a folder of a store; that of the engine unless
            given, or on one machine the temporary directory.
        storage_options : mapping, optional
            Passed to fsspec for a store; those of the engine unless given.
        fragment_bytes : int, optional
            Memory that the rows of one fragment of the result take, about; that of the engine unless given.

        Raises
        ------
        UserCodeError
            The function raised, or what it returned cannot be a query or is none.
        SchemaError
            A column of `order_by` or `schema` is not in the result; on Spark also: a dataset has a type that Spark
            lacks (nanoseconds, durations, times of day).
        InputError
            A file cannot be read, whichever engine reads it: the error of a plain read, with file and column.
        ConfigError
            The function is none, SQL text say; there is no dataset; or the workers are on other machines and
            `staging_dir` is not given.
        ExecutionError, DiskFullError
            The query failed while it ran. Whatever fails, no file is left behind.

        Notes
        -----
        Frames hold null for what is missing, and no NaN; a NaN that the query makes is null in the result. In a join
        a null key matches nothing, in a group-by null is a key. Query engines differ in this: sums of floats in their
        last bits; unsigned integers are wider signed ones on Spark, unless `schema` says otherwise, where also a name
        with a dot or a backquote cannot be used in an expression of the function; a sort within the function fails on
        Dask where there are nulls (use `order_by`), and so do windows in an order (use `window`).

        Polars reads datasets in the columns that the query needs, Dask in tasks of the graph. Spark reads Parquet files
        itself where it reads them as Penstock does; any other dataset is staged for it.

        Examples
        --------
        >>> import narwhals as nw, penstock as ps, pyarrow as pa
        >>> engine = ps.LocalEngine(device="cpu")
        >>> trips = engine.from_arrow(pa.table({"zone": [1, 2, 1], "fare": [5.0, 7.0, 9.0]}))
        >>> zones = engine.from_arrow(pa.table({"zone": [1, 2], "name": ["Alley", "Bay"]}))
        >>> def fares(trips, zones):
        ...     return trips.join(zones, on="zone").group_by("name").agg(nw.col("fare").mean())
        >>> engine.query(fares, trips, zones, order_by="name").to_arrow().to_pydict()
        {'name': ['Alley', 'Bay'], 'fare': [7.0, 7.0]}
        """
        check_callable(function, "query")
        return run(
            self,
            function,
            datasets,
            order_by=column_names(order_by, "order_by of query"),
            schema=None if schema is None else declared(schema),
            place=lambda label: self.staging(staging_dir, label, storage_options),
            fragment_bytes=fragment_bytes,
        )

    def sql(self, text: str, /, **tables: Dataset) -> Dataset:
        """Return the rows of a SELECT over datasets by name, in one dialect on every engine.

        Nothing is read: the text is translated into the verbs of a dataset (`join`, `group_by`, `sort`, `limit`, ...),
        and runs as they do, when rows are first needed, with the same rows, order and types on every engine.

        Parameters
        ----------
        text : str
            One query, in a subset of DuckDB's and PostgreSQL's SQL that docs/relational.md lists.
        **tables : Dataset
            The tables, by the names that the text has for them; no other names are reachable. Those of another engine
            are read by this one.

        Returns
        -------
        Dataset
            Its columns are those of the list of SELECT, called by their aliases, or as in the data. Rows without ORDER
            BY are in the order of the verbs.

        Raises
        ------
        ConfigError
            Before anything runs, with line and column: the text cannot be parsed, is no query, names a table that is
            not there, or has what the dialect has not, which is named, with what to do instead.
        SchemaError
            Likewise: a column is not there; the nearest name is shown.
        MissingExtraError
            sqlglot is not installed.

        Notes
        -----
        Integers are calculated with as BIGINT (int64), and one beyond 64 bits is an error; decimals exactly, quotients
        to 18 digits behind the point or more; ``/`` gives DOUBLE of all else, and NULL where it divides by zero. CAST
        and ``round`` take a half away from zero. Of nothing, a count is 0 and every other aggregate NULL. NULL goes
        last in ORDER BY unless the text says otherwise.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> engine = ps.LocalEngine(device="cpu")
        >>> trips = engine.from_arrow(pa.table({"zone": [1, 2, 1], "fare": [5.0, 7.0, 9.0]}))
        >>> zones = engine.from_arrow(pa.table({"zone": [1, 2], "name": ["Alley", "Bay"]}))
        >>> text = "SELECT name, sum(fare) AS fares FROM trips JOIN zones USING (zone) GROUP BY name ORDER BY 2 DESC"
        >>> engine.sql(text, trips=trips, zones=zones).to_arrow().to_pydict()
        {'name': ['Alley', 'Bay'], 'fares': [14.0, 7.0]}
        """
        with importing("sqlglot", "sql"):
            require_module("sqlglot")
            from penstock.dataset.sql.query import query
        return query(self, text, tables)

    def relate(self, pending: Pending) -> Dataset:
        """Run the query of a pending relation, as the verbs of a dataset make it; return its rows."""
        return relate(self, pending)

    def check_relation(self, schemas: Sequence[pa.Schema], label: str) -> None:
        """Raise ConfigError or SchemaError for a query over such columns that cannot be run; see `staging`."""
        self.staging(None, label)
        queries = self.query_engine()
        for schema in schemas:
            queries.check(schema, label)

    def keep(self, table: pa.Table, label: str, *, fragment_rows: int) -> Dataset:
        """Return a dataset of a table of this process, whose rows workers are given as those of a query.

        Up to 8 MiB stay in memory; a larger one is written as Parquet, see `staging`, to a file that is removed when no
        dataset refers to it any more.

        Parameters
        ----------
        table : pyarrow.Table
            In types as `from_arrow` makes them; nothing else changes it.
        label : str
            What errors call it.
        fragment_rows : int
            Rows of one fragment, about.

        Raises
        ------
        ConfigError, OutputError, DiskFullError
            As of a query.
        """
        fragment_bytes = max(1, fragment_rows) * row_bytes(table.schema)
        if table.nbytes <= TABLE_BYTES:
            return self._dataset(*MemorySource.plan(table, fragment_bytes))
        folder = self.staging(None, label).new_folder()
        parts, write = folder.parts("rows"), partial(write_table, table, row_group_size=max(1, fragment_rows))
        parts.put("rows.parquet", write, rows=table.num_rows, kind="parquet")
        return owning(read_staged(self, parts, table.schema, fragment_bytes), folder)

    def window(
        self,
        frame: nw.LazyFrame,
        columns: Mapping[str, nw.Expr],
        *,
        partition_by: str | Sequence[str],
        order_by: str | Sequence[str],
    ) -> nw.LazyFrame:
        """Return a frame with columns that are computed within each partition, in order; for the function of a query.

        The same as ``expression.over(*partition_by, order_by=order_by)``, and also on Dask, where Narwhals has none.

        Parameters
        ----------
        frame : narwhals.LazyFrame
            As passed to the function of a query of this engine, or made of those.
        columns : mapping of str to narwhals.Expr
            The new columns: ``{"before": nw.col("x").shift(1)}``.
        partition_by : str or sequence of str
            The columns of the key, which may be null: null is a key of its own. None at all: one partition.
        order_by : str or sequence of str
            Ascending, null first. Name columns that are unique together within a key: rows that agree in all of them
            are in no defined order.

        Notes
        -----
        On Dask all rows of a key have to fit into a worker's memory, on the local engine the columns of all rows.

        Examples
        --------
        >>> import narwhals as nw, penstock as ps, pyarrow as pa
        >>> engine = ps.LocalEngine(device="cpu")
        >>> visits = engine.from_arrow(pa.table({"who": ["a", "b", "a"], "day": [3, 1, 2]}))
        >>> def numbered(visits):
        ...     return engine.window(visits, {"n": nw.col("day").cum_count()}, partition_by="who", order_by="day")
        >>> engine.query(numbered, visits, order_by=("who", "day")).to_arrow()["n"].to_pylist()
        [1, 2, 1]
        """
        keys = column_names(partition_by, "partition_by of window")
        return self.query_engine().window(frame, columns, keys, column_names(order_by, "order_by of window"))
