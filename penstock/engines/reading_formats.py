"""Readers of datasets: one method for each format, kind of table and database."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from penstock.core.errors import SchemaError
from penstock.core.names import check_names
from penstock.core.scheduler import check_shared
from penstock.dataset.dataset import Dataset
from penstock.devices import Device
from penstock.io.formats import TableOptions, find_format
from penstock.io.fragments import Fragment, fragment_bytes_on
from penstock.io.lineage import note_inputs
from penstock.io.sources.bad_records import log_unparsed
from penstock.io.sources.base import Reader, Source, log_absent
from penstock.io.sources.files import Storage
from penstock.io.sources.sql import plan_sql

if TYPE_CHECKING:
    from penstock.engines.base import Engine

Paths = str | Path | list[str] | list[Path]


def options_in(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a reader was called with, defaults too, as `read` takes it: `arguments` are its ``locals()``."""
    return {name: value for name, value in arguments.items() if name != "self"}


class ReadingFormats(ABC):
    """Ways into `read`, one for each format and kind of table, and to what a database is asked."""

    device: Device

    @property
    def fragment_bytes(self) -> int:
        """Memory that the rows of one fragment take, about, unless a reader says otherwise; see `fragment_bytes_on`."""
        return fragment_bytes_on(self.device)

    def read(
        self,
        format: str,
        paths: Paths,
        *,
        allow_unmanifested: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Dataset:
        r"""Plan a dataset of files of any format: the general door, behind `read_parquet`, `read_csv` and the others.

        Parameters
        ----------
        format : str
            ``"parquet"``, ``"csv"``, ``"json_lines"``, ``"orc"``, ``"avro"``, ``"arrow"``, ``"libsvm"``, ``"files"``,
            ``"delta"``, ``"iceberg"``, or the name of one that `register_format` knows.
        paths : path or list of paths
            Files, globs, directories or fsspec URLs, see `read_parquet`; or the one table, see `read_delta`.
        allow_unmanifested : bool
            Read a directory that does not say it is whole.
        storage_options : mapping, optional
            Passed to fsspec; never shown in a message.
        **options
            Those of the format: the other parameters of `read_csv` for ``"csv"``, and so on.

        Raises
        ------
        ConfigError
            The format, or an option of it, is not known; says the nearest name.
        InputError
            As the format says, before any row is read.

        Examples
        --------
        >>> import tempfile, penstock as ps
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.csv").write_text("x;y\n1;a\n")
        ...     ps.LocalEngine().read("csv", f"{folder}/a.csv", delimiter=";").to_arrow().to_pydict()
        {'x': [1], 'y': ['a']}
        """
        kind = find_format(format)
        if options.get("fragment_bytes") is None:
            options["fragment_bytes"] = kind.fragment_bytes(self.device)
        chosen = kind.read_options(options)
        storage = Storage(dict(storage_options or {}))
        check_shared(cast("Engine", self), paths if isinstance(paths, list | tuple) else [paths])
        source, fragments = kind.open(
            paths, cast("Engine", self), storage, chosen, allow_unmanifested=allow_unmanifested
        )
        dataset = self._dataset(source, fragments)
        if isinstance(chosen, TableOptions) and chosen.missing_columns == "null":
            log_absent(source.schema, fragments)
        return dataset

    def read_avro(
        self,
        paths: Paths,
        *,
        schema: pa.Schema | dict[str, Any] | None = None,
        missing_columns: str = "error",
        extra_columns: str = "warn",
        allow_unmanifested: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        fragment_bytes: int | None = None,
    ) -> Dataset:
        """Plan a dataset of Avro files from the heads of all their blocks, with the extra ``avro``.

        Parameters and errors are those of `read_parquet`, and SchemaError, which names the column, for a map, a
        duration, or a union of anything but null and one type. Enums are strings. Days, times, decimals and times of a
        day are of their types in Arrow; an unknown logical type is the type under it, as Avro has it. A file that was
        cut off between two blocks is a whole one to Avro: only a manifest tells.
        """
        return self.read("avro", **options_in(locals()))

    def read_arrow(
        self,
        paths: Paths,
        *,
        schema: pa.Schema | dict[str, Any] | None = None,
        missing_columns: str = "error",
        extra_columns: str = "warn",
        allow_unmanifested: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        fragment_bytes: int | None = None,
    ) -> Dataset:
        """Plan a dataset of files of Arrow IPC, Feather (version 2) or streams, from all their record batches.

        Parameters and errors are those of `read_parquet`. A stream is read once as a whole when it is planned, and has
        to end with the mark of its end.
        """
        return self.read("arrow", **options_in(locals()))

    def read_libsvm(
        self,
        paths: Paths,
        *,
        num_features: int | None = None,
        zero_based: bool = False,
        max_bad_records: int = 0,
        allow_unmanifested: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        fragment_bytes: int | None = None,
    ) -> Dataset:
        r"""Plan a dataset of libsvm (svmlight) files, lines of ``label index:value ...``; they are parsed once here.

        Columns are ``label`` (float64), ``qid`` (int64, where the first line has it), ``features_indices`` (list of
        int32, from 0) and ``features_values`` (list of float64): a sparse vector, as trainers take it. What follows
        ``#`` is a comment.

        Parameters
        ----------
        num_features : int, optional
            How many features there are: an index beyond is refused. A vector does not say how long it is.
        zero_based : bool
            Whether the first feature is written as 0, not 1; nothing is guessed.
        max_bad_records : int
            How many lines may be set aside because they are not of this form; see `read_csv`.

        Raises
        ------
        MissingInputError, CorruptFileError, SchemaDriftError
            Also where only some of the files have queries.
        BadRowsError
            Names file and line: a label or value that is no number, NaN among the values, indices that do not ascend.

        Examples
        --------
        >>> import tempfile, penstock as ps
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.libsvm").write_text("1 1:0.5 3:2\n0 2:1\n")
        ...     ps.LocalEngine(device="cpu").read_libsvm(f"{folder}/a.libsvm").to_arrow().to_pydict()
        {'label': [1.0, 0.0], 'features_indices': [[0, 2], [1]], 'features_values': [[0.5, 2.0], [1.0]]}
        """
        return self.read("libsvm", **options_in(locals()))

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

    def _dataset(self, source: Source, fragments: Sequence[Fragment]) -> Dataset:
        _check_names(source.schema, fragments)
        log_unparsed(fragments)
        note_inputs(fragments)
        return Dataset(cast("Engine", self), Reader(source), tuple(fragments))


def _check_names(schema: pa.Schema, fragments: Sequence[Fragment]) -> None:
    """Raise SchemaError for a column that cannot go by its name, with the first file that has it, or for no column."""
    rows = sum(fragment.rows for fragment in fragments)
    if rows and not schema.names:
        raise SchemaError(f"the data has {rows} row(s) and no column", hint="A row without a value cannot be read.")
    try:
        check_names(schema.names, "the data")
    except SchemaError as error:
        pieces = (piece for fragment in fragments for piece in fragment.pieces if piece.table is None)
        paths = (piece.path for piece in pieces if error.column in {*piece.names, *dict(piece.keys)})
        raise error.at(path=next(paths, None)) from None
