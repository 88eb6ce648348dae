"""Readers of tables, of those that keep a log by their names and of databases: thin ways to a dataset."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.dataset.dataset import Dataset
from penstock.engines.reading_formats import ReadingFormats
from penstock.io.fragments import Fragment
from penstock.io.sources.base import Source
from penstock.io.sources.sql import plan_sql


class ReadingTables(ReadingFormats, ABC):
    """Ways into `read`, one for each kind of table, and to what a database is asked."""

    def read_delta(
        self,
        path: str | Path,
        *,
        version: int | None = None,
        timestamp: datetime | str | None = None,
        storage_options: Mapping[str, Any] | None = None,
        fragment_bytes: int | None = None,
    ) -> Dataset:
        """Plan a dataset of a version of a Delta Lake table from its log; needs the extra ``delta``.

        Files, row counts, partition values and types come from the log: footers are read while planning only of files
        whose row count it lacks. Rows that deletion vectors delete are not read; columns are known by the table's
        column mapping, null in files that were written before there was the column, and have the types of the table.
        Files come in the order in which they were added, then by name.

        Parameters
        ----------
        path : path
            The folder of the table, or its URL.
        version : int, optional
            The newest unless one is given.
        timestamp : datetime or str, optional
            Read the version that was the newest then; without a zone it is UTC.
        storage_options : mapping, optional
            fsspec's, of the store; keys, endpoint and region of S3 and the keys of Azure are passed to deltalake in its
            words, and what has another name as it is. Never shown in a message.
        fragment_bytes : int, optional
            Memory that the rows of one fragment take, about; that of the engine unless given.

        Raises
        ------
        ConfigError
            Both a version and a time are given.
        MissingInputError
            There is no table, or it had no such version.
        InputError, SchemaError
            The log cannot be read, or needs a reader with more features.
        MissingExtraError
            deltalake is not installed.
        IncompleteInputError
            When it is read: a file is gone, by a vacuum, or is not the one that the log lists.
        """
        return self.read(
            "delta", path, version=version, timestamp=timestamp, storage_options=storage_options,
            fragment_bytes=fragment_bytes,
        )  # fmt: skip

    def read_iceberg(
        self,
        table: Any,
        *,
        catalog: Any = None,
        snapshot_id: int | None = None,
        timestamp: datetime | str | None = None,
        storage_options: Mapping[str, Any] | None = None,
        fragment_bytes: int | None = None,
    ) -> Dataset:
        """Plan a dataset of a snapshot of an Iceberg table from its manifests; needs the extra ``iceberg``.

        Files, row counts, partition values and types come from the manifests: no footer is read. Rows of position
        delete files and deletion vectors are not read, a table with equality deletes is refused. Columns are known by
        their field ids, or by the table's name mapping in files without; those that a file lacks are null, or the
        initial default. Files come in the order of their paths.

        Parameters
        ----------
        table : str, path or pyiceberg Table
            With a catalog an identifier such as ``"sales.orders"``. Without one a metadata file
            (``metadata/00002-....metadata.json``), or the folder of a table that has ``metadata/version-hint.text``.
        catalog : str, mapping or pyiceberg Catalog, optional
            Its name in pyiceberg's configuration, its properties, or itself.
        snapshot_id : int, optional
            The current one unless one is given; with the schema that the table had then.
        timestamp : datetime or str, optional
            Read the snapshot that was the current one then; without a zone it is UTC.
        storage_options : mapping, optional
            fsspec's, of the store; those of S3 and Azure are passed to pyiceberg in its words. Never shown in a
            message.
        fragment_bytes : int, optional
            Memory that the rows of one fragment take, about; that of the engine unless given.

        Raises
        ------
        ConfigError
            Both a snapshot and a time are given, or the catalog is none.
        MissingInputError
            There is no table, or it has no such snapshot.
        InputError, SchemaError
            The table has equality deletes, files that are not Parquet, or types that cannot be read.
        MissingExtraError
            pyiceberg is not installed.
        IncompleteInputError
            When it is read: a file is gone, or is not the one that the manifest lists.
        """
        return self.read(
            "iceberg", table, catalog=catalog, snapshot_id=snapshot_id, timestamp=timestamp,
            storage_options=storage_options, fragment_bytes=fragment_bytes,
        )  # fmt: skip

    @abstractmethod
    def _dataset(self, source: Source, fragments: Sequence[Fragment]) -> Dataset:
        """Return the dataset of a source."""

    def read_sql(
        self,
        query: str,
        uri: str,
        *,
        partition_on: str | None = None,
        partitions: int | None = None,
        schema: pa.Schema | dict[str, Any] | None = None,
        fragment_bytes: int | None = None,
    ) -> Dataset:
        """Plan a dataset of a table or a query of PostgreSQL, SQLite or DuckDB, with the extra ``sql``.

        The database is asked here for types, bounds and rows, all of one moment in PostgreSQL and DuckDB. Each
        partition is read by its worker's own connection, ordered by all columns, so that two reads give the same rows
        in the same order; a partition that has another number of rows by then is an error. An index on `partition_on`
        spares the sort.

        Parameters
        ----------
        query : str
            ``"trips"``, ``"sales.trips"``, or ``"SELECT ..."``. Whoever can write it can do what the user of the
            database can; in DuckDB, read any file of the workers.
        uri : str
            ``postgresql://user:password@host/database``, ``sqlite:///relative.db`` or ``sqlite:////absolute.db``, and
            ``duckdb:///file.db`` likewise. The password is in no message. Workers have to reach it; a file of DuckDB
            that another process writes cannot be read.
        partition_on : str, optional
            A column of whole numbers, dates or timestamps (of SQLite, of whole numbers), by whose bounds rows are cut
            to partitions of the same width; its nulls are one more. Without it one worker reads all rows.
        partitions : int, optional
            How many, but for those that are empty; about as many as `fragment_bytes` asks for unless given.
        schema : pyarrow.Schema or dict of name to type, optional
            Which columns are read, in which types; without it all of them. In SQLite a column is read as what its
            values are, and days, times and decimals are texts, unless they are declared.
        fragment_bytes : int, optional
            Memory that the rows of one partition take, about; that of the engine unless given.

        Raises
        ------
        ConfigError
            The URI, or `partition_on`, is not what is expected.
        MissingExtraError
            The driver is not installed.
        MissingInputError, InputError
            There is no such table; the database does not answer, or refuses the query.
        SchemaError
            A type is not read: money, an interval, a numeric of more than 38 digits, values of several types in a
            column of SQLite. Times that are infinite. A name stands twice in the query.

        Notes
        -----
        ``numeric(p, s)`` is a decimal, and so is ``numeric`` without a scale, of as many digits as its values have;
        ``uuid`` and ``json`` are strings; NaN is null.

        Examples
        --------
        >>> import tempfile, pyarrow as pa, penstock as ps
        >>> engine = ps.LocalEngine(device="cpu")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     uri = f"sqlite:///{folder}/shop.db"
        ...     _ = engine.from_arrow(pa.table({"id": [1, 2, 3], "x": [0.5, None, 2.0]})).write_sql("trips", uri)
        ...     engine.read_sql("SELECT id, x FROM trips WHERE id < 3", uri, partition_on="id").to_arrow().to_pydict()
        {'id': [1, 2], 'x': [0.5, None]}
        """
        return self._dataset(
            *plan_sql(
                query, uri, partition_on=partition_on, partitions=partitions, schema=schema,
                fragment_bytes=self.fragment_bytes if fragment_bytes is None else fragment_bytes,
            )
        )  # fmt: skip
