"""Writing the rows of a dataset to databases, as a dataset offers it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset
    from penstock.dataset.writing import WriteResult


class SqlWrites:
    """The part of a dataset that writes its rows to tables."""

    def write_sql(
        self,
        table: str,
        uri: str,
        *,
        mode: str = "error",
        keys: str | Sequence[str] = (),
        quarantine: str | Path | None = None,
        run_id: str | None = None,
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
        DataValueError
            A value cannot be stored, or two rows have the same key.
        CommitConflictError
            Another run writes the table.
        OutputError, RowCountError
            The database refused; rows are not all there. The table is as it was.
        """
        from penstock.dataset.outputs.sql import write_sql

        return write_sql(cast("Dataset", self), table, uri, mode=mode, keys=keys, quarantine=quarantine, run_id=run_id)
