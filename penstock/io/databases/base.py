"""What a database is: connections, columns of a query in canonical types, and the words of its SQL."""

from __future__ import annotations

import base64
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import pyarrow as pa

from penstock.core.errors import (
    CommitConflictError,
    ConfigError,
    InputError,
    MissingInputError,
    PenstockError,
    SchemaDriftError,
)
from penstock.core.redaction import redact, redact_error, secrets_in_url
from penstock.core.schemas import check_unique, widen
from penstock.io.sinks.locks import FileLock

_QUERY = re.compile(r"\s*(select|with|values)\b", re.IGNORECASE)
_ABSENT = ("42P01", "3F000", "no such table", "does not exist")


@dataclass(frozen=True)
class Column:
    """A column of a query: its canonical type, and the expressions that read it and put its rows in order."""

    name: str
    type: pa.DataType
    expression: str
    order: str


@dataclass(frozen=True)
class TableName:
    """A table, and the schema of the database that it is in where one is named."""

    name: str
    schema: str | None = None

    @classmethod
    def parse(cls, text: str) -> TableName:
        """Return the name that ``"trips"`` or ``"sales.trips"`` is."""
        schema, _, name = text.rpartition(".")
        if not name.strip() or "." in schema or "\0" in text:
            raise ConfigError(f"table is {text!r}, expected a name, or schema.name")
        return cls(name, schema or None)


@dataclass(frozen=True)
class Session:
    """A connection, in a transaction."""

    database: Database
    connection: Any
    error: type[PenstockError]
    options: dict[str, str]

    def fetch(self, sql: str) -> pa.Table:
        """Return the rows of a query in the types of the driver."""
        with self.database.translating(self.error), self.connection.cursor() as cursor:
            if self.options:
                cursor.adbc_statement.set_options(**self.options)
            cursor.execute(sql)
            return cursor.fetch_arrow_table()

    def first(self, sql: str) -> list[Any]:
        """Return the first row of a query."""
        return [column[0].as_py() for column in self.fetch(sql).columns]

    def column(self, sql: str) -> list[Any]:
        """Return the first column of a query."""
        return list(self.fetch(sql).column(0).to_pylist())

    def execute(self, sql: str) -> None:
        """Run a statement."""
        with self.database.translating(self.error), self.connection.cursor() as cursor:
            cursor.execute(sql)

    def append(self, table: TableName, rows: pa.Table) -> None:
        """Load rows into a table that is there."""
        with self.database.translating(self.error), self.connection.cursor() as cursor:
            cursor.adbc_ingest(table.name, rows, mode="append", db_schema_name=table.schema)

    def commit(self) -> None:
        """Make what was done last, all of it."""
        with self.database.translating(self.error):
            self.connection.commit()


@dataclass(frozen=True)
class Database(ABC):
    """A database that an URI names; it travels to the workers, each of which connects by itself.

    Parameters
    ----------
    uri : str
        With a password, perhaps: it is in no message, no repr, and not as a text in a pickle. That hides it from a look
        at a log; it is no encryption.
    """

    uri: str = field(repr=False)

    title: ClassVar[str]
    create_staging: ClassVar[str] = "CREATE TABLE"
    errors: ClassVar[tuple[str, ...]] = ("adbc_driver_manager",)
    """The modules of the errors of its driver."""
    holds_nul: ClassVar[bool] = False
    """Whether a text may have NUL characters."""
    one_writer: ClassVar[bool] = False
    """Whether one process at a time can write, so that workers elsewhere cannot load rows."""
    session_type: ClassVar[type[Session]] = Session
    """What asks a connection."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), base64.b85encode(self.uri.encode()))

    @property
    def shown(self) -> str:
        """The URI as messages show it."""
        return redact(self.uri)

    @abstractmethod
    def connect(self, *, writes: bool) -> Any:
        """Return a new ADBC connection; MissingExtraError where the driver is not installed."""

    @abstractmethod
    def columns(self, session: Session, relation: str) -> list[Column]:
        """Return the columns of what stands after FROM.

        Raises
        ------
        SchemaError
            A column is of a type that is not read, or has values that its canonical type does not hold.
        """

    @abstractmethod
    def convert(self, values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
        """Return values as they were fetched in a canonical type; ArrowInvalid where it does not hold all of them."""

    def literal(self, value: pa.Scalar) -> str:
        """Return a whole number, a date or a timestamp as SQL; nanoseconds, of a bound, are cut off."""
        if pa.types.is_date32(value.type):
            return f"DATE '{value.as_py().isoformat()}'"
        if pa.types.is_timestamp(value.type):
            text = pa.array([value]).cast(pa.timestamp("us"), safe=False).cast(pa.string())[0].as_py()
            return f"TIMESTAMPTZ '{text}+00'" if value.type.tz else f"TIMESTAMP '{text}'"
        return str(value.as_py())

    @abstractmethod
    def stored_type(self, kind: pa.DataType) -> pa.DataType | None:
        """Return as what the database stores a type; None where it has none that holds all of its values."""

    @abstractmethod
    def declare(self, kind: pa.DataType) -> str:
        """Return the name of a stored type in a CREATE TABLE."""

    def partitions_by(self, kind: pa.DataType) -> bool:
        """Return whether rows can be partitioned by a column of a type."""
        return bool(pa.types.is_integer(kind) or pa.types.is_date32(kind) or pa.types.is_timestamp(kind))

    def begin_snapshot(self, session: Session) -> None:
        """Have all that a session reads be of one moment, where the database can do that."""
        return

    @abstractmethod
    @contextmanager
    def lock(self, table: TableName, run_id: str) -> Iterator[None]:
        """Hold what one run at a time has that writes a table; CommitConflictError while another has it."""

    @abstractmethod
    def tables_like(self, session: Session, table: TableName, prefix: str) -> list[str]:
        """Return the tables beside `table`, where it is or would be, whose names begin so."""

    @abstractmethod
    def target_columns(self, session: Session, table: TableName) -> dict[str, pa.DataType | str]:
        """Return the columns of a table that is there, with what `holds` takes."""

    def holds(self, column: pa.DataType | str, kind: pa.DataType) -> bool:
        """Return whether a column of a table that is there holds all values of a stored type as they are."""
        return not isinstance(column, str) and holds_type(column, kind)

    def fetch_options(self, rows: int) -> dict[str, str]:
        """Return options of the driver for a query of so many rows."""
        return {}

    def protect(self, session: Session, table: TableName) -> None:
        """Keep others from writing a table until a transaction ends, where that takes a statement."""
        return

    def hint(self, said: str) -> str | None:
        """Return what to do about what the database said, where that is known."""
        return None

    def quote(self, name: str) -> str:
        """Return a name as it stands in SQL, whatever characters it has."""
        return '"' + name.replace('"', '""') + '"'

    def table(self, table: TableName) -> str:
        """Return the name of a table as it stands in SQL."""
        return ".".join(self.quote(part) for part in (table.schema, table.name) if part)

    def relation(self, query_or_table: str) -> str:
        """Return what stands after FROM for a query, or for the name of a table."""
        if _QUERY.match(query_or_table):
            return f"({query_or_table.strip().rstrip(';')}) AS penstock_query"
        return self.table(TableName.parse(query_or_table))

    def check_names(self, session: Session, query: str, names: Sequence[str]) -> None:
        """Raise SchemaDriftError for a name that a query gives twice, by what is left of it in a subquery: `names`."""
        check_unique(names, self.shown)
        given = self.given_names(session, query.strip().rstrip(";"), names) if _QUERY.match(query) else names
        for name, left in zip(given, names, strict=True):
            if name != left:
                raise SchemaDriftError(
                    f"column {name!r} stands twice in {self.shown}, which would call it {left!r}",
                    hint="Rename one of them, with AS; names that differ in capitals alone are one name there.",
                    path=self.shown,
                    column=name,
                )

    def given_names(self, session: Session, query: str, names: Sequence[str]) -> Sequence[str]:
        """Return the names of a query for `names`, those in a subquery, where the database numbers what is twice."""
        return names

    @contextmanager
    def session(
        self, *, writes: bool = False, error: type[PenstockError] = InputError, options: dict[str, str] | None = None
    ) -> Iterator[Session]:
        """Connect, and close in the end; what is not committed by then is undone.

        Raises
        ------
        PenstockError
            An `error` with what the database said, without secrets; MissingInputError for a table that is not there.
        """
        with self.translating(error):
            connection = self.connect(writes=writes)
        try:
            yield self.session_type(self, connection, error, options or {})
        finally:
            connection.close()

    @contextmanager
    def translating(self, kind: type[PenstockError]) -> Iterator[None]:
        """Raise errors of the driver as Penstock's."""
        try:
            yield
        except Exception as error:
            if isinstance(error, PenstockError) or not type(error).__module__.startswith(self.errors):
                raise
            secrets = secrets_in_url(self.uri)
            redact_error(error, secrets)
            said = redact(str(error), secrets).split("\nLINE ")[0].split("\nQuery was")[0].split("\nquery:")[0].strip()
            absent = any(sign in said or sign == getattr(error, "sqlstate", None) for sign in _ABSENT)
            chosen, hint = (
                (MissingInputError, "See the name.") if absent and kind is InputError else (kind, self.hint(said))
            )
            raise chosen(f"{self.shown}: {said}", hint=hint, path=self.shown) from error


def holds_type(wide: pa.DataType, narrow: pa.DataType) -> bool:
    """Return whether a type holds the values of another: a decimal with as many digits before and after the point.

    Examples
    --------
    >>> holds_type(pa.decimal128(12, 2), pa.decimal128(10, 0))
    True
    """
    if pa.types.is_decimal(wide) and pa.types.is_decimal(narrow):
        whole = wide.precision - wide.scale >= narrow.precision - narrow.scale
        return bool(whole and wide.scale >= narrow.scale)
    return bool(widen(wide, narrow) == wide)


@dataclass(frozen=True)
class FileDatabase(Database):
    """A file: ``scheme:///relative.db``, ``scheme:////absolute.db``."""

    scheme: ClassVar[str]

    @property
    def path(self) -> str:
        """Where the file is."""
        path = os.path.abspath(self.uri.removeprefix(f"{self.scheme}:///"))
        return path[1:] if path.startswith("//") else path

    def check_file(self) -> None:
        """Raise MissingInputError where there is none."""
        if not os.path.isfile(self.path):
            raise MissingInputError(
                f"there is no file {self.path}",
                hint=f"An absolute path has four slashes: {self.scheme}:////data/shop.db.",
                path=self.path,
            )

    @contextmanager
    def lock(self, table: TableName, run_id: str) -> Iterator[None]:
        """Hold the lock of a file beside the database, which is there as long as somebody has it."""
        held = FileLock.acquire(Path(f"{self.path}.{quote(table.name, safe='')}.penstock-lock"))
        if held is None:
            raise another_writes(table, self.path, run_id)
        try:
            yield
        finally:
            held.release()


def another_writes(table: TableName, place: str, run_id: str) -> CommitConflictError:
    """Return the error for a table that is locked."""
    problem = f"another run is writing {table.name} in {place}"
    return CommitConflictError(problem, hint="Run again once it has ended.", path=place, run_id=run_id)


def text_literal(value: str) -> str:
    """Return a text as SQL."""
    return "'" + value.replace("'", "''") + "'"


def _restore(kind: type[Database], uri: bytes) -> Database:
    return kind(base64.b85decode(uri).decode())
