"""The part of an engine that plans datasets: of files in every format, and of tables in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pyarrow as pa

from penstock.dataset.dataset import Dataset
from penstock.engines.reading_formats import Paths, ReadingFormats, options_in
from penstock.frames.interchange import as_arrow
from penstock.io.sinks.staging_place import StagingFolder
from penstock.io.sources.memory import MemorySource

Item = TypeVar("Item")
Result = TypeVar("Result")


def owning(dataset: Dataset, folder: StagingFolder) -> Dataset:
    """Return a dataset of files in a temporary folder, which then lives as long as whatever reads them."""
    return replace(dataset, reader=replace(dataset.reader, folder=folder))


class Reading(ReadingFormats, ABC):
    """Plans datasets; footers, headers and text are looked at by the workers."""

    @abstractmethod
    def map(self, task: Callable[[Item], Result], items: Sequence[Item], *, label: str = "map") -> Iterator[Result]:
        """Call `task` with each item on the workers; results in the order of the items.

        Work lost with a worker is done again; an error that a task raises is raised here and stops the rest.
        """

    def read_parquet(
        self,
        paths: Paths,
        *,
        schema: pa.Schema | dict[str, Any] | None = None,
        missing_columns: str = "error",
        extra_columns: str = "warn",
        allow_unmanifested: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        fragment_bytes: int | None = None,
        page_checksum_verification: bool = False,
    ) -> Dataset:
        """Plan a dataset of Parquet files from all their footers.

        Times stored as INT96 (Hive, Impala, early Spark) are microseconds, of any year.

        Parameters
        ----------
        paths : path or list of paths
            Files, globs, directories (whole ones: a manifest or ``_SUCCESS``) or fsspec URLs, each file once.
            ``key=value`` folders of a directory become columns. What a directory holds and is not read, and a glob
            that selects a part of an output of Penstock, are warned of.
        schema : pyarrow.Schema or dict of name to type, optional
            What is expected; without it the first file leads.
        missing_columns : {"error", "null"}
            What to do with a file that lacks a column; rows that are null for it are logged.
        extra_columns : {"warn", "error"}
            What to do with a column that the first file lacks. The index that pandas stores (``__index_level_0__``) is
            left out with a warning, unless `schema` has it.
        allow_unmanifested : bool
            Read a directory that does not say it is whole.
        storage_options : mapping, optional
            Passed to fsspec; never shown in a message.
        fragment_bytes : int, optional
            Memory that the rows of one fragment take, about; that of the engine unless given.
        page_checksum_verification : bool
            Compare pages with the checksums in the file, where its writer put any; slower, pages are then decoded by
            pyarrow on the CPU. Files that lie beside a Penstock manifest are always compared with its hashes (not
            those of a store that are named one by one); in any other file a changed byte that still decodes is not
            noticed.

        Raises
        ------
        ConfigError, MissingInputError, CorruptFileError, IncompleteInputError, SchemaDriftError
            Before any row is read.
        """
        return self.read("parquet", **options_in(locals()))

    def read_orc(
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
        """Plan a dataset of ORC files from all their footers; parameters and errors are those of `read_parquet`.

        Times are nanoseconds, as pyarrow reads them; `schema` may give them another unit or zone, and whole numbers the
        type that they were written from, which is checked value by value. A time outside the years 1678 to 2261 is an
        error. pyarrow does not say how many rows a stripe has, so that a file of several is planned from a narrow
        column of it.

        Examples
        --------
        >>> import tempfile, pyarrow as pa, penstock as ps
        >>> engine = ps.LocalEngine(device="cpu")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = engine.from_arrow(pa.table({"x": [1, None]})).write(f"{folder}/out", format="orc")
        ...     engine.read_orc(f"{folder}/out").to_arrow().to_pydict()
        {'x': [1, None]}
        """
        return self.read("orc", **options_in(locals()))

    def read_csv(
        self,
        paths: Paths,
        *,
        schema: pa.Schema | dict[str, Any] | None = None,
        header: bool = True,
        column_names: str | Sequence[str] | None = None,
        delimiter: str = ",",
        quote: str | None = '"',
        null_values: str | Sequence[str] = ("",),
        missing_columns: str = "error",
        extra_columns: str = "warn",
        max_bad_records: int = 0,
        allow_unmanifested: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        fragment_bytes: int | None = None,
    ) -> Dataset:
        """Plan a dataset of CSV files; they are parsed once here, for row counts and for types that are not declared.

        Parameters
        ----------
        schema : pyarrow.Schema or dict of name to type, optional
            Types, which no value may break: a whole number that a floating type would round is refused too. Without it
            they are inferred from all rows, then frozen.
        header : bool
            Whether the first record of each file names its columns; columns are bound by name.
        column_names : str or sequence of str, optional
            Names where there is no header.
        null_values : str or sequence of str
            Fields that are null, in place of the default: ``"NA"`` alone makes an empty field of a text column an empty
            text, and one of numbers an error; ``["", "NA"]`` makes both null.
        max_bad_records : int
            How many records of the dataset may be set aside because they cannot be parsed: with another number of
            fields, with a value that is not of the type that `schema` gives, with bytes that are not UTF-8. They are no
            rows and have no row numbers. Each is counted with its reason wherever its part of the dataset is read, of a
            split in one part alone, and `write_parquet` writes it to the quarantine: see there. They are logged as a
            warning. A quote that never closes is an error all the same. To find one takes as long as to parse some
            thousand good ones: this is for a little dirt, not for files of another form.

        The other parameters are those of `read_parquet`.

        Raises
        ------
        MissingInputError, CorruptFileError, SchemaDriftError, BadRowsError
            Names file, line, column and value. BadRowsError: more records than `max_bad_records` cannot be parsed; with
            the reasons of the first ones. SchemaError: a column has no name, as the index that pandas' ``to_csv``
            writes, and is not left out by `schema`.
        """
        return self.read("csv", **options_in(locals()))

    def read_json_lines(
        self,
        paths: Paths,
        *,
        schema: pa.Schema | dict[str, Any] | None = None,
        missing_columns: str = "error",
        extra_columns: str = "warn",
        max_bad_records: int = 0,
        allow_unmanifested: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        fragment_bytes: int | None = None,
    ) -> Dataset:
        """Plan a dataset of files with one JSON object in a line; parameters and errors are those of `read_csv`.

        A line that is not one object is what a record with another number of fields is there. Where `schema` is not
        given, values of different kinds under one key are an error that `max_bad_records` does not set aside.
        """
        return self.read("json_lines", **options_in(locals()))

    def read_files(
        self,
        paths: Paths,
        *,
        extensions: str | Sequence[str] | None = None,
        storage_options: Mapping[str, Any] | None = None,
        fragment_bytes: int | None = None,
    ) -> Dataset:
        """Plan a dataset of whole files, images say, one a row; nothing but their listing is read.

        Columns are ``path`` (string, from the root, or a URL where it is not local), ``size`` (int64, bytes),
        ``modified`` (timestamp in UTC; null where the store does not know) and ``content`` (binary). Files are opened
        only where ``content`` is asked for. They are in the order of `paths`, those of a glob or a directory sorted by
        name; one that is named twice is one row.

        Parameters
        ----------
        paths : path or list of paths
            Files, globs, directories (all visible files below) or fsspec URLs.
        extensions : str or sequence of str, optional
            Only files whose names end so, in upper or lower case: ``["jpg", "jpeg", "png"]``.
        storage_options : mapping, optional
            Passed to fsspec; never shown in a message.
        fragment_bytes : int, optional
            Files that one fragment takes, in bytes, about; 32 MiB unless given.

        Raises
        ------
        MissingInputError, InputError
            When it is planned: nothing matches, or a folder cannot be listed.
        IncompleteInputError
            When it is read: a file changed since it was planned, or is gone.
        """
        return self.read("files", **options_in(locals()))

    def from_arrow(self, table: Any, *, fragment_bytes: int | None = None) -> Dataset:
        """Return a dataset of a table in memory; NaN becomes null when it is read.

        Parameters
        ----------
        table : pyarrow.Table, or any other table
            One of pandas, of Polars, or what has ``__arrow_c_stream__``; a `pyarrow.RecordBatchReader`, say, is read to
            its end.
        fragment_bytes : int, optional
            Memory that the rows of one fragment take, about; that of the engine unless given.

        Raises
        ------
        ConfigError
            It is no table, or a lazy one.
        SchemaError
            A column has values that Arrow does not have, or a name that it cannot have; a name stands twice.
        """
        size = self.fragment_bytes if fragment_bytes is None else fragment_bytes
        return self._dataset(*MemorySource.plan(as_arrow(table), size))

    def from_pandas(self, frame: Any, *, fragment_bytes: int | None = None) -> Dataset:
        """Return a dataset of a pandas frame; its index is left out, NaN and NA are null, and no value changes.

        Raises
        ------
        SchemaError
            A column has values of several kinds, or of one that Arrow does not have; a name stands twice.
        """
        return self.from_arrow(frame, fragment_bytes=fragment_bytes)

    def from_polars(self, frame: Any, *, fragment_bytes: int | None = None) -> Dataset:
        """Return a dataset of a Polars frame; raises as `from_arrow` does."""
        return self.from_arrow(frame, fragment_bytes=fragment_bytes)

    def from_cudf(self, frame: Any, *, fragment_bytes: int | None = None) -> Dataset:
        """Return a dataset of a cuDF frame; it is kept on the host, and cut to fragments that go back to GPUs."""
        return self.from_arrow(frame.to_arrow(preserve_index=False), fragment_bytes=fragment_bytes)
