"""Rows into a table of a database: workers load a staging table of the run, one transaction moves what they loaded.

Each attempt at a fragment loads its rows under a number of its own. The driver moves those of the attempts that it was
told of, so that an attempt that died, or one that was made twice, leaves no row in the table.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.core.errors import (
    ConfigError,
    DataValueError,
    OutputError,
    OutputExistsError,
    PenstockError,
    RowCountError,
    SchemaDriftError,
    check_one_of,
)
from penstock.core.schemas import check_unique, require
from penstock.io.databases import Database, Session
from penstock.io.databases.base import TableName, text_literal
from penstock.io.sinks.failpoints import failpoint
from penstock.io.sinks.part_writer import cast_to_stored, check_types
from penstock.io.sinks.texts import plain_text

ATTEMPT = "_penstock_attempt"
MODES = ("error", "append", "overwrite", "merge")
_TEXTS = (pa.types.is_date, pa.types.is_timestamp, pa.types.is_time, pa.types.is_decimal)


@dataclass(frozen=True)
class SqlLoader:
    """Loads the rows of one fragment; run by the workers."""

    database: Database
    staging: TableName
    schema: pa.Schema

    def __call__(self, frame: nw.DataFrame) -> int:
        """Load a frame, which conforms to the schema, and return the number of the attempt."""
        attempt = secrets.randbits(62)
        table = frames.to_arrow(frames.nan_to_null(frame), self.schema)
        arrays = [_stored(self.database, table[field.name], field) for field in self.schema]
        numbers = pa.repeat(pa.scalar(attempt, pa.int64()), table.num_rows)
        if table.num_rows:
            with self.database.session(writes=True, error=OutputError) as session:
                session.append(self.staging, pa.table([*arrays, numbers], [*self.schema.names, ATTEMPT]))
                session.commit()
                failpoint("sql-load")
        return attempt


def _stored(database: Database, values: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    """Return values as the database stores them."""
    kind = database.stored_type(field.type)
    if pa.types.is_string(field.type) and not database.holds_nul and pc.any(pc.match_substring(values, "\0")).as_py():
        raise DataValueError(
            f"column {field.name!r} has a NUL character, which {database.title} does not hold in a text",
            hint="Leave such rows out.",
            column=field.name,
            predicate=nw.col(field.name).str.contains("\0", literal=True),
        )
    if pa.types.is_string(kind) and any(test(field.type) for test in _TEXTS):
        values = pa.chunked_array([plain_text(chunk, field.name) for chunk in values.chunks], pa.large_string())
    return cast_to_stored(values, kind, field)


@dataclass(frozen=True)
class SqlTable:
    """A table to write to.

    Parameters
    ----------
    database : Database
    table : TableName
    schema : pyarrow.Schema
        Of the rows.
    mode : {"error", "append", "overwrite", "merge"}
    keys : tuple of str
        By which rows take the place of others.
    run_id : str
        What the name of the staging table has in it.
    once : str, optional
        What the user calls the run: appended under this name, rows are there once.

    Raises
    ------
    ConfigError
        The mode, or a key, is not known, or the database cannot hold a column.
    """

    database: Database
    table: TableName
    schema: pa.Schema
    mode: str
    keys: tuple[str, ...]
    run_id: str
    once: str | None = None

    def __post_init__(self) -> None:
        check_one_of("mode", self.mode, MODES)
        check_unique(self.schema.names, "the rows")
        check_types(self.schema, lambda kind: self.database.stored_type(kind) is not None, self.database.title)
        if bool(self.keys) != (self.mode == "merge"):
            raise ConfigError(f'mode is {self.mode!r} and keys are {self.keys!r}: "merge" has keys, and no other mode')
        require(self.schema, self.keys)

    @property
    def _prefix(self) -> str:
        return f"_penstock_{hashlib.sha256(self.table.name.encode()).hexdigest()[:12]}_"

    @property
    def staging(self) -> TableName:
        """The table that workers load."""
        return TableName(self._prefix + hashlib.sha256(self.run_id.encode()).hexdigest()[:16], self.table.schema)

    @property
    def loader(self) -> SqlLoader:
        """What loads the rows of a fragment."""
        return SqlLoader(self.database, self.staging, self.schema)

    @property
    def _appends_once(self) -> bool:
        return self.mode == "append" and self.once is not None

    @property
    def _runs(self) -> SqlRuns:
        return SqlRuns(self.database, self.table)

    @contextmanager
    def staged(self) -> Iterator[bool]:
        """Hold the table's lock and a new staging table, which is gone in the end; so are those of runs that died.

        Gives whether there is something to load: not where the rows of this run are in the table.

        Raises
        ------
        OutputExistsError
            The table is there, and the mode is "error".
        SchemaDriftError
            It is there, and lacks a column, or has one that does not hold all values.
        CommitConflictError
            Another run writes it.
        """
        with self.database.lock(self.table, self.run_id):
            if self._appends_once:
                self._runs.prepare()
            with self.database.session(writes=True, error=OutputError) as session:
                if self._check_target(session) and self._appends_once and self._runs.has(session, str(self.once)):
                    yield False
                    return
                for name in self.database.tables_like(session, self.table, self._prefix):
                    session.execute(f"DROP TABLE {self.database.table(TableName(name, self.table.schema))}")
                session.execute(self._create(self.staging, self.database.create_staging, f", {ATTEMPT} BIGINT"))
                session.commit()
            try:
                yield True
            finally:
                self._drop_staging()

    def commit(self, attempts: Sequence[int], rows: int) -> None:
        """Move the rows of attempts to the table, in one transaction.

        Raises
        ------
        RowCountError
            They are not as many as were loaded; the table is as it was.
        DataValueError
            A key stands twice among them.
        """
        database = self.database
        target, staging = database.table(self.table), database.table(self.staging)
        with database.session(writes=True, error=OutputError) as session:
            chosen = f"{ATTEMPT} IN ({', '.join(map(str, attempts)) or 'NULL'})"
            loaded = int(session.first(f"SELECT COUNT(*) FROM {staging} WHERE {chosen}")[0])
            if loaded != rows:
                raise RowCountError(f"{loaded} rows are in the staging table of {rows} that were loaded", rows=rows)
            session.execute(f"DELETE FROM {staging} WHERE NOT {chosen}")
            self._make_room(session, target, staging)
            names = ", ".join(database.quote(name) for name in self.schema.names)
            session.execute(f"INSERT INTO {target} ({names}) SELECT {names} FROM {staging}")
            session.execute(f"DROP TABLE {staging}")
            if self._appends_once:
                self._runs.add(session, str(self.once))
            failpoint("sql-commit")
            session.commit()

    def _make_room(self, session: Session, target: str, staging: str) -> None:
        """Create the table, or take rows out of it that others take the place of."""
        if not self._check_target(session):
            session.execute(self._create(self.table))
            self._runs.forget(session)
            return
        self.database.protect(session, self.table)
        if self.mode == "overwrite":
            self._runs.forget(session)
            session.execute(f"DELETE FROM {target}")
        elif self.mode == "merge":
            keys = [self.database.quote(name) for name in self.keys]
            check_keys(session, staging, keys, self.keys)
            index = self.database.quote(f"{self.staging.name}_keys")
            session.execute(f"CREATE INDEX {index} ON {staging} ({', '.join(keys)})")
            for statement in delete_matches(target, staging, keys):
                session.execute(statement)

    def _create(self, table: TableName, create: str = "CREATE TABLE", more: str = "") -> str:
        columns = [
            f"{self.database.quote(field.name)} {self.database.declare(self.database.stored_type(field.type))}"
            for field in self.schema
        ]
        return f"{create} {self.database.table(table)} ({', '.join(columns)}{more})"

    def _check_target(self, session: Session) -> bool:
        """Return whether the table is there; raise unless it may be, and takes the rows as they are."""
        if self.table.name not in self.database.tables_like(session, self.table, self.table.name):
            return False
        if self.mode == "error":
            raise OutputExistsError(
                f"the table {self.table.name} is there already, in {self.database.shown}",
                hint='Pass mode="append", "overwrite" or "merge", or name another table.',
                path=self.database.shown,
            )
        columns = self.database.target_columns(session, self.table)
        for field in self.schema:
            stored = self.database.stored_type(field.type)
            if field.name not in columns or not self.database.holds(columns[field.name], stored):
                raise self._drift(field.name, str(field.type), columns.get(field.name))
        others = [name for name in columns if name not in self.schema.names]
        if others and self.mode == "merge":
            raise self._drift(others[0], None, columns[others[0]])
        return True

    def _drift(self, name: str, ours: str | None, theirs: pa.DataType | str | None) -> PenstockError:
        return SchemaDriftError(
            f"column {name!r} is {theirs or 'not there'} in the table {self.table.name} and"
            f" {ours or 'not there'} in the rows",
            hint="Give the rows the columns of the table, in types that it holds; or drop the table first.",
            path=self.database.shown,
            column=name,
        )

    def _drop_staging(self) -> None:
        """Drop what is left; where that fails, the next run does it."""
        try:
            with self.database.session(writes=True, error=OutputError) as session:
                session.execute(f"DROP TABLE IF EXISTS {self.database.table(self.staging)}")
                session.commit()
        except PenstockError:
            return


def check_keys(session: Session, staging: str, keys: Sequence[str], names: Sequence[str]) -> None:
    """Raise DataValueError for a key that stands twice among the rows."""
    by = ", ".join(keys)
    twice = session.fetch(f"SELECT {by}, COUNT(*) FROM {staging} GROUP BY {by} HAVING COUNT(*) > 1 LIMIT 1")
    if twice.num_rows:
        *key, count = (column[0].as_py() for column in twice.columns)
        shown = ", ".join(f"{name}={value!r}" for name, value in zip(names, key, strict=True))
        raise DataValueError(
            f"{count} rows have the key {shown}, and one can take the place of another's",
            hint="Choose one of them before: data.unique(...), or an aggregate.",
            column=names[0],
        )


def delete_matches(target: str, staging: str, keys: Sequence[str]) -> list[str]:
    """Return the statements that delete rows whose keys stand in the staging table.

    Keys without a null are compared by equality, for which a database hashes; the few others one by one.

    Examples
    --------
    >>> for statement in delete_matches("t", "s", ["k"]): print(statement)
    DELETE FROM t WHERE EXISTS (SELECT 1 FROM s WHERE s.k = t.k)
    DELETE FROM t WHERE (t.k IS NULL) AND EXISTS (SELECT 1 FROM s WHERE (s.k = t.k OR (s.k IS NULL AND t.k IS NULL)))
    """
    equal = " AND ".join(f"{staging}.{key} = {target}.{key}" for key in keys)
    null = " OR ".join(f"{target}.{key} IS NULL" for key in keys)
    same = " AND ".join(
        f"({staging}.{key} = {target}.{key} OR ({staging}.{key} IS NULL AND {target}.{key} IS NULL))" for key in keys
    )
    return [
        f"DELETE FROM {target} WHERE EXISTS (SELECT 1 FROM {staging} WHERE {equal})",
        f"DELETE FROM {target} WHERE ({null}) AND EXISTS (SELECT 1 FROM {staging} WHERE {same})",
    ]


RUNS = "_penstock_runs"


@dataclass(frozen=True)
class SqlRuns:
    """The runs whose rows are in a table; ``_penstock_runs (table_name, run_id)`` of its schema names them.

    Parameters
    ----------
    database : Database
    table : TableName
    """

    database: Database
    table: TableName

    def prepare(self) -> None:
        """Make the table of runs where there is none."""
        try:
            self._create()
        except OutputError:
            with self.database.session(error=OutputError) as session:
                if not self._is_there(session):  # else another run has made it in the same moment
                    raise

    def has(self, session: Session, run_id: str) -> bool:
        """Return whether the rows of a run are in the table."""
        if not self._is_there(session):
            return False
        of_run = f"{self._of_table} AND run_id = {text_literal(run_id)}"
        return bool(session.first(f"SELECT COUNT(*) FROM {self._runs} WHERE {of_run}")[0])

    def add(self, session: Session, run_id: str) -> None:
        """Note that they are in it, once the transaction is committed."""
        session.execute(f"INSERT INTO {self._runs} VALUES ({text_literal(self.table.name)}, {text_literal(run_id)})")

    def forget(self, session: Session) -> None:
        """Note that the table has no rows of earlier runs any more."""
        if self._is_there(session):
            session.execute(f"DELETE FROM {self._runs} WHERE {self._of_table}")

    def _create(self) -> None:
        with self.database.session(writes=True, error=OutputError) as session:
            if self._is_there(session):
                return
            text = self.database.declare(pa.string())
            columns = f"table_name {text} NOT NULL, run_id {text} NOT NULL, PRIMARY KEY (table_name, run_id)"
            session.execute(f"CREATE TABLE {self._runs} ({columns})")
            session.commit()

    def _is_there(self, session: Session) -> bool:
        return RUNS in self.database.tables_like(session, self.table, RUNS)

    @property
    def _runs(self) -> str:
        return self.database.table(TableName(RUNS, self.table.schema))

    @property
    def _of_table(self) -> str:
        return f"table_name = {text_literal(self.table.name)}"
