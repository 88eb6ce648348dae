"""Readers of tables that keep a log, by name: thin ways into `Reading.read`."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.engines.reading_formats import ReadingFormats
from penstock.io.fragments import FRAGMENT_BYTES

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


class ReadingTables(ReadingFormats, ABC):
    """Ways into `read`, one for each kind of table."""

    def read_delta(
        self,
        path: str | Path,
        *,
        version: int | None = None,
        timestamp: datetime | str | None = None,
        storage_options: Mapping[str, Any] | None = None,
        fragment_bytes: int = FRAGMENT_BYTES,
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
        fragment_bytes : int
            Memory that the rows of one fragment take, about.

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
        fragment_bytes: int = FRAGMENT_BYTES,
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
        fragment_bytes : int
            Memory that the rows of one fragment take, about.

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
