"""The part of an engine that plans datasets of databases."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.io.fragments import FRAGMENT_BYTES
from penstock.io.sources.sql import plan_sql

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.dataset.dataset import Dataset
    from penstock.io.fragments import Fragment
    from penstock.io.sources.base import Source


class ReadingSql(ABC):
    """Plans queries as datasets."""

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
        fragment_bytes: int = FRAGMENT_BYTES,
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
            database can.
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
        fragment_bytes : int
            Memory that the rows of one partition take, about.

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
            column of SQLite. Times that are infinite.

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
                fragment_bytes=fragment_bytes,
            )
        )  # fmt: skip
