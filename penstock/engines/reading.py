"""The part of an engine that plans datasets: of files in every format, and of tables in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pyarrow as pa

from penstock.core.errors import SchemaError
from penstock.core.names import check_names
from penstock.core.scheduler import check_shared
from penstock.dataset.dataset import Dataset
from penstock.engines.reading_formats import Paths, options_in
from penstock.engines.reading_tables import ReadingTables
from penstock.frames.interchange import as_arrow
from penstock.io.formats import TableOptions, find_format
from penstock.io.fragments import Fragment
from penstock.io.lineage import note_inputs
from penstock.io.sinks.staging_place import StagingFolder
from penstock.io.sources.bad_records import log_unparsed
from penstock.io.sources.base import Reader, Source, log_absent
from penstock.io.sources.files import Storage
from penstock.io.sources.memory import MemorySource

if TYPE_CHECKING:
    from penstock.engines.base import Engine

Item = TypeVar("Item")
Result = TypeVar("Result")


def owning(dataset: Dataset, folder: StagingFolder) -> Dataset:
    """Return a dataset of files in a temporary folder, which then lives as long as whatever reads them."""
    return replace(dataset, reader=replace(dataset.reader, folder=folder))


class Reading(ReadingTables, ABC):
    """Plans datasets; footers, headers and text are looked at by the workers."""

    @abstractmethod
    def map(self, task: Callable[[Item], Result], items: Sequence[Item], *, label: str = "map") -> Iterator[Result]:
        """Call `task` with each item on the workers; results in the order of the items.

        Work lost with a worker is done again; an error that a task raises is raised here and stops the rest.
        """

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
