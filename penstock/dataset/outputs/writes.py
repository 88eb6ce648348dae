"""Writing the rows of a dataset, as a dataset offers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from penstock.dataset.outputs.destination import Destination, checked

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset
    from penstock.dataset.writing import WriteResult


class Writes:
    """The part of a dataset that writes its rows, as files and to tables of databases."""

    def write(
        self,
        path: str | Path,
        *,
        format: str = "parquet",
        mode: str = "error",
        overwrite: bool = False,
        partition_by: str | Sequence[str] = (),
        keys: str | Sequence[str] = (),
        sort_by: str | Sequence[str] = (),
        max_rows_per_file: int | None = None,
        compression: str | None = None,
        run_id: str | None = None,
        quarantine: str | Path | None = None,
        storage_options: Mapping[str, Any] | None = None,
        rules: str | Path | Sequence[Any] = (),
        **options: Any,
    ) -> WriteResult:
        r"""Write one part a fragment into a directory, or add to the one that is there: whole, or not at all.

        Parts are staged beside `path` and swapped in with a manifest: a reader sees the old directory or the new one.
        In a store parts lie where they stay, and are rows once a manifest, which is put last, lists them. What is read
        again, with the schema of this dataset, is the same to the bit; NaN is null by then.

        Parameters
        ----------
        path : path or URL
            A directory, on a disk that the workers share or in a store.
        format : str, default "parquet"
            ``"orc"``, ``"avro"``, ``"arrow"``, ``"csv"``, ``"json_lines"``, or the name of one that `register_format`
            knows. ``"delta"`` and ``"iceberg"`` are tables that keep a log: parts are put into the table's folder, and
            one transaction names them; of Iceberg `path` is the identifier, such as ``"sales.orders"``.
        mode : {"error", "overwrite", "append", "overwrite_partitions", "merge"}
            What becomes of the output that is there; where there is none, all do the same.

            * ``"error"``: nothing, it is an error that there is one.
            * ``"overwrite"``: it is replaced; it stays readable until the new one is complete.
            * ``"append"``: its rows stay, and those of this dataset come after them.
            * ``"overwrite_partitions"``: of `partition_by`, exactly the partitions that rows of this dataset are in
              are replaced; the others stay.
            * ``"merge"``: a row of this dataset takes the place of each row there that has the same `keys`, null being
              the same as null; rows there without a like stay, in their order, and new ones come after them.
        overwrite : bool, default False
            The same as ``mode="overwrite"``.
        partition_by : str or sequence of str
            Columns by whose values rows lie in folders, as Hive has them: ``day=2024-01-01/part-00000.parquet``. The
            columns are not in the files; their types and places are in the manifest, so that what is read again has
            them as they were. Integers, text, dates, times and booleans; null is a value. Partitions are read in the
            order of their values, null first; within one, rows keep their order.
        keys : str or sequence of str
            Of ``"merge"``: the columns that tell rows apart.
        sort_by : str or sequence of str
            Sort the rows within each file, ascending, null first; not over files.
        max_rows_per_file : int, optional
            Cut parts into files of so many rows.
        compression : str, optional
            Of Parquet ``"zstd"`` (the default), ``"snappy"``, ``"gzip"`` or ``"none"``; of CSV and JSON lines
            ``"gzip"`` or ``"zstd"``, none unless given; ORC, Avro and Arrow IPC have theirs.
        run_id : str, optional
            What a scheduler calls this run, such as ``scheduled__2024-01-01T00:00:00+00:00``, up to 256 characters.
            With ``"append"``, what an earlier run of this id has written is replaced: done twice, rows are there once.
        quarantine : path, optional
            Where rows that an ``Expect`` stage sets aside go, and records of text files that could not be parsed (see
            `max_bad_records` of `Engine.read_csv`), in Parquet; ``<path>.quarantine`` unless given. Both appear
            together. When there are none, what an earlier run put there is removed, and nothing is written; in a mode
            that adds rows, those set aside are added, too.
        storage_options : mapping, optional
            Passed to fsspec; never shown in a message.
        rules : sequence of rule of `penstock.rules`, or path of a file of rules, optional
            What the rows are checked by in the pass that writes them. Where one of severity ``"error"`` is broken,
            nothing is put in place. Rows that break one of severity ``"quarantine"`` are set aside, with the rule as
            their reason; other rules are judged by the rows that are left. The result has the report as ``check``.
        **options
            Of ``"delta"``: ``schema_mode="merge"`` to add columns. Of ``"iceberg"``: `catalog`, as of `read_iceberg`.
            Of ``"parquet"``: `compression_level`. Of ``"csv"``: `delimiter`, and `null_value`, what null is written as.
            No text may be spelled so: with empty strings, pass ``null_value="\\N"`` and read with
            ``null_values=["\\N"]``.

        Returns
        -------
        WriteResult
            The path, the rows read, written, dropped and quarantined with reasons, the run id, and of what the output
            is made.

        Notes
        -----
        CSV holds no lists and no bytes; JSON lines hold lists, but no objects, bytes or times of a day.
        Of a record that could not be parsed the quarantine has ``reason``, ``_corrupt_file``, ``_corrupt_line`` (from
        1) and ``_corrupt_record``, its text up to 4,000 characters; ``row`` is null.

        Files that stay are not copied: they are in the new directory under a second name (a hard link), and copied only
        where the file system has none. Two runs that append at once both come through, one after the other; so do two
        that overwrite different partitions. Any other two are told apart: one gets CommitConflictError.

        A merge reads the rows of this dataset once, and their keys once in each process, where they fit into 256 MiB,
        else for each file there: it is made for new rows that are fewer than those there. Files without a row to
        replace stay as they are, and where the columns of `partition_by` are among the keys, only the partitions of
        new rows are read.

        Raises
        ------
        ConfigError
            The format, the mode or an option is not known, the format cannot hold a column, a column makes no folders,
            or the output there is of another format or partitioning; before anything is read. More than 100,000 files.
        SchemaError
            A column is not there.
        SchemaDriftError
            The output that is to be added to has other columns; before anything is read.
        DataValueError
            A value that the text cannot say, an infinity in JSON, say; or a key that is twice among the rows to merge.
        BrokenRulesError
            The rows break a rule; what was there is as it was.
        OutputExistsError, DiskFullError, CommitConflictError, RowCountError
            What was there is as it was, whatever is raised.
        OutputError
            A store refused, or failed three times.

        Examples
        --------
        >>> import tempfile, penstock as ps, pyarrow as pa
        >>> engine, table = ps.LocalEngine(), pa.table({"x": [0.1, None], "s": ['a "b"', "c"]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = engine.from_arrow(table).write(f"{folder}/out", format="csv")
        ...     engine.read_csv(f"{folder}/out", schema=table.schema).to_arrow() == table
        True
        >>> days = engine.from_arrow(pa.table({"day": ["mon", "tue"], "n": [1, 2]}))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = days.write(f"{folder}/out", partition_by="day", mode="append", run_id="run 1")
        ...     again = days.write(f"{folder}/out", partition_by="day", mode="append", run_id="run 1")
        ...     engine.read_parquet(f"{folder}/out").to_arrow().to_pydict(), again.rows_replaced
        ({'day': ['mon', 'tue'], 'n': [1, 2]}, 2)
        """
        from penstock.dataset.writing import write

        destination = Destination.of(
            path, format=format, mode=mode, overwrite=overwrite, partition_by=partition_by, keys=keys, sort_by=sort_by,
            max_rows_per_file=max_rows_per_file, compression=compression, run_id=run_id, quarantine=quarantine,
            storage_options=storage_options, rules=rules, **options,
        )  # fmt: skip
        return write(cast("Dataset", self), destination)

    def write_parquet(
        self,
        path: str | Path,
        *,
        mode: str = "error",
        overwrite: bool = False,
        partition_by: str | Sequence[str] = (),
        keys: str | Sequence[str] = (),
        sort_by: str | Sequence[str] = (),
        max_rows_per_file: int | None = None,
        compression: str | None = None,
        run_id: str | None = None,
        quarantine: str | Path | None = None,
        storage_options: Mapping[str, Any] | None = None,
        rules: str | Path | Sequence[Any] = (),
    ) -> WriteResult:
        """Write one Parquet part a fragment into a directory, whole or not at all; see `write`."""
        return self.write(
            path, mode=mode, overwrite=overwrite, partition_by=partition_by, keys=keys, sort_by=sort_by,
            max_rows_per_file=max_rows_per_file, compression=compression, run_id=run_id, quarantine=quarantine,
            storage_options=storage_options, rules=rules,
        )  # fmt: skip

    def write_sql(
        self,
        table: str,
        uri: str,
        *,
        mode: str = "error",
        keys: str | Sequence[str] = (),
        quarantine: str | Path | None = None,
        run_id: str | None = None,
        rules: str | Path | Sequence[Any] = (),
    ) -> WriteResult:
        """Write the rows to a table of PostgreSQL, SQLite or DuckDB, all of them or none, with the extra ``sql``.

        Workers load a staging table beside it (``_penstock_...``), and one transaction moves the rows: who reads the
        table sees it as it was, or as it is then. What a run that died has left there, the next one drops.

        Parameters
        ----------
        table : str
            ``"trips"`` or ``"sales.trips"``; made with the types of the rows where it is not there.
        uri : str
            As for `Engine.read_sql`.
        mode : {"error", "append", "overwrite", "merge"}
            What to do with a table that is there: refuse it; add rows; put them in place of all rows; put them in place
            of those with the same `keys`, a null being a key like others. The table itself stays, with its indexes and
            grants.
        keys : str or sequence of str
            Of ``"merge"``; no two rows of the dataset have the same.
        quarantine : path or URL, optional
            A folder for the rows that are set aside, in Parquet; they are counted only, with a warning, without it.
            They are there before the transaction; with ``"append"`` and ``"merge"``, beside those of earlier runs.
        run_id : str, optional
            What a scheduler calls this run, up to 256 characters. With ``"append"`` a run whose rows are in the table
            is not done again, and the result counts no rows. A table beside it, ``_penstock_runs (table_name,
            run_id)``, names such runs, by the same transaction; a run that replaces all rows removes the names.
        rules : sequence of rule, or path, optional
            As of `write`.

        Returns
        -------
        WriteResult

        Notes
        -----
        PostgreSQL has no unsigned numbers, times of a day and others in microseconds, and no structs: what fits is
        stored wider, what does not is refused before anything is read. SQLite has whole and other numbers, texts and
        bytes: times, days and decimals are texts, which `Engine.read_sql` reads again when they are declared. DuckDB
        has all of these types, also lists and structs; one process at a time writes its file, so that an engine with
        workers of its own is refused. Each fragment is loaded in a transaction of its own; SQLite takes one after the
        other, and has to be on a disk that all workers mount.

        Raises
        ------
        ConfigError, MissingExtraError
            The mode, a key or the URI is not known, a type cannot be held, or the driver is not installed.
        OutputExistsError, SchemaDriftError
            The table is there; or it lacks a column, or has one that does not hold all values.
        DataValueError, BrokenRulesError
            A value cannot be stored, two rows have the same key, or the rows break a rule.
        CommitConflictError
            Another run writes the table.
        OutputError, RowCountError
            The database refused; rows are not all there. The table is as it was.
        """
        from penstock.dataset.outputs.sql import write_sql

        dataset = checked(cast("Dataset", self), rules)
        return write_sql(dataset, table, uri, mode, keys, quarantine, run_id)
