"""DuckDB: a file that several processes read, or one writes; types as they are in Arrow.

The file is opened by DuckDB's library, not by its ADBC driver. The driver opens a second instance of a file that this
process has open already, neither sees what the other writes, and one of the two loses it. Connections of the library
share one instance, also with those of whoever else has opened the file in this process.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.core.errors import CommitConflictError, OutputError, SchemaError
from penstock.core.extras import importing
from penstock.core.schemas import canonical_type
from penstock.io.databases.base import Column, FileDatabase, Session, TableName, text_literal
from penstock.io.sinks.part_writer import stored_inside

_NAMES = {
    pa.bool_(): "BOOLEAN", pa.int8(): "TINYINT", pa.int16(): "SMALLINT", pa.int32(): "INTEGER", pa.int64(): "BIGINT",
    pa.uint8(): "UTINYINT", pa.uint16(): "USMALLINT", pa.uint32(): "UINTEGER", pa.uint64(): "UBIGINT",
    pa.float32(): "FLOAT", pa.float64(): "DOUBLE", pa.string(): "VARCHAR", pa.binary(): "BLOB", pa.date32(): "DATE",
    pa.timestamp("s"): "TIMESTAMP_S", pa.timestamp("ms"): "TIMESTAMP_MS", pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("ns"): "TIMESTAMP_NS", pa.timestamp("us", "UTC"): "TIMESTAMPTZ", pa.time64("us"): "TIME",
}  # fmt: skip
_WIDER = {
    pa.float16(): pa.float32(), pa.time32("s"): pa.time64("us"), pa.time32("ms"): pa.time64("us"),
    pa.time64("ns"): pa.time64("us"),
}  # fmt: skip
_HUGE = ("HUGEINT", "UHUGEINT")
_NOT_READ = re.compile(r"\b(INTERVAL|BIT|UNION|MAP|BIGNUM|VARINT|VARIANT|GEOMETRY|TIME WITH TIME ZONE)\b")
_QUOTED = re.compile(r"\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*'")
_LARGEST = 10**38 - 1


@dataclass(frozen=True)
class DuckdbSession(Session):
    """A connection of DuckDB's library, in a transaction."""

    def fetch(self, sql: str) -> pa.Table:
        """Return the rows of a query in DuckDB's own Arrow types."""
        with self.database.translating(self.error):
            return self.connection.sql(sql).to_arrow_table()

    def execute(self, sql: str) -> None:
        """Run a statement."""
        with self.database.translating(self.error):
            self.connection.execute(sql)

    def append(self, table: TableName, rows: pa.Table) -> None:
        """Load rows into a table that is there."""
        name = f"penstock_rows_{secrets.token_hex(8)}"
        with self.database.translating(self.error):
            self.connection.register(name, rows)
            self.connection.execute(f"INSERT INTO {self.database.table(table)} BY NAME SELECT * FROM {name}")
            self.connection.unregister(name)

    def commit(self) -> None:
        """Make what was done last, all of it."""
        with self.database.translating(self.error):
            self.connection.commit()
            self.connection.begin()


@dataclass(frozen=True)
class Duckdb(FileDatabase):
    """A file of DuckDB: ``duckdb:///relative.db``, ``duckdb:////absolute.db``."""

    title = "DuckDB"
    scheme = "duckdb"
    errors = ("_duckdb", "duckdb")
    holds_nul = True
    one_writer = True
    session_type = DuckdbSession

    def connect(self, *, writes: bool) -> Any:
        """Return a connection in a transaction; one that only reads does not make the file."""
        with importing("duckdb", "sql"):
            import duckdb
        if not writes:
            self.check_file()
        try:
            connection = duckdb.connect(self.path, read_only=not writes)
        except duckdb.ConnectionException:
            if writes:
                raise
            connection = duckdb.connect(self.path)  # this process writes to it, and its instance is shared
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET python_enable_replacements = false")  # a name is a table, not a variable of Python's
        connection.begin()
        return connection

    def hint(self, said: str) -> str | None:
        """Return what to do about a file that is open elsewhere."""
        if "Could not set lock" in said or "different configuration" in said:
            return "A file of DuckDB is open for one process that writes, or for several that read: close it elsewhere."
        return None

    def columns(self, session: Session, relation: str) -> list[Column]:
        """Return the columns; values that Arrow has no place for are looked for in those that may have some."""
        fields = list(session.fetch(f"SELECT * FROM {relation} LIMIT 0").schema)
        natives = self._natives(session, f"SELECT * FROM {relation}")
        kinds = [_type(field, native) for field, native in zip(fields, natives, strict=True)]
        self._check_values(session, relation, [field.name for field in fields], natives)
        names = [self.quote(field.name) for field in fields]
        return [Column(field.name, kind, name, name) for field, kind, name in zip(fields, kinds, names, strict=True)]

    def given_names(self, session: Session, query: str, names: Sequence[str]) -> Sequence[str]:
        with self.translating(session.error):
            return list(session.connection.sql(query).columns)

    def _natives(self, session: Session, query: str) -> list[str]:
        """Return the names of the types of the columns of a query."""
        return [str(row["column_type"]) for row in session.fetch(f"DESCRIBE {query}").to_pylist()]

    def _check_values(self, session: Session, relation: str, names: list[str], natives: list[str]) -> None:
        """Raise SchemaError for days and times that are infinite, and for whole numbers of more than 38 digits."""
        tests = [(name, test) for name, native in zip(names, natives, strict=True) if (test := self._odd(name, native))]
        asked = ", ".join(f"COUNT(*) FILTER ({test})" for _, test in tests)
        counts = session.first(f"SELECT {asked} FROM {relation}") if asked else []
        for (name, _), count in zip(tests, counts, strict=True):
            if count:
                raise SchemaError(
                    f"column {name!r} is infinite, or has more than 38 digits, in {count} row(s), which no type of"
                    " Arrow's holds",
                    hint="Leave such rows out in the query, or give them a value there.",
                    column=name,
                )

    def _odd(self, name: str, native: str) -> str | None:
        if native.startswith(("DATE", "TIMESTAMP")) and not native.endswith("]"):
            return f"NOT isfinite({self.quote(name)})"
        return f"{self.quote(name)} NOT BETWEEN -{_LARGEST} AND {_LARGEST}" if native in _HUGE else None

    def convert(self, values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
        """Return values in a canonical type."""
        return values.cast(kind)

    def stored_type(self, kind: pa.DataType) -> pa.DataType | None:
        """Return as what DuckDB stores a type: times of a day, and those with a zone, are in microseconds."""
        return None if pa.types.is_map(kind) else stored_inside(kind, _stored)

    def declare(self, kind: pa.DataType) -> str:
        """Return the name of a stored type."""
        if pa.types.is_list(kind):
            return f"{self.declare(kind.value_type)}[]"
        if pa.types.is_struct(kind):
            return f"STRUCT({', '.join(f'{self.quote(field.name)} {self.declare(field.type)}' for field in kind)})"
        return f"DECIMAL({kind.precision}, {kind.scale})" if pa.types.is_decimal(kind) else _NAMES[kind]

    @contextmanager
    def lock(self, table: TableName, run_id: str) -> Iterator[None]:
        """Hold the lock of a file beside the database, and have the database open for this process to write."""
        with super().lock(table, run_id):
            try:
                connection = self.connect(writes=True)
            except Exception as error:
                with self.translating(CommitConflictError if "Could not set lock" in str(error) else OutputError):
                    raise
            try:
                yield
            finally:
                connection.close()

    def tables_like(self, session: Session, table: TableName, prefix: str) -> list[str]:
        """Return tables of the schema that `table` is in."""
        schema = "current_schema()" if table.schema is None else text_literal(table.schema)
        query = (
            "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database()"
            f" AND schema_name = {schema} AND starts_with(table_name, {text_literal(prefix)})"
        )
        return session.column(query)

    def target_columns(self, session: Session, table: TableName) -> dict[str, pa.DataType | str]:
        """Return the columns of a table; one that takes some values of its type in Arrow is just that."""
        query = f"SELECT * FROM {self.table(table)}"
        fields, natives = session.fetch(f"{query} LIMIT 0").schema, self._natives(session, query)
        return {
            field.name: native if native.startswith("ENUM") or _NOT_READ.search(native) else _type(field, native)
            for field, native in zip(fields, natives, strict=True)
        }


def _type(field: pa.Field, native: str) -> pa.DataType:
    """Return the canonical type of a column; all times with a zone are in UTC."""
    odd = _NOT_READ.search(_QUOTED.sub("", native))
    if odd:
        raise SchemaError(
            f"column {field.name!r} is {native}, which is not read",
            hint="Cast it in the query, to VARCHAR say, or leave it out.",
            column=field.name,
        )
    return _in_utc(canonical_type(field.type))


def _in_utc(kind: pa.DataType) -> pa.DataType:
    def in_utc(each: pa.DataType) -> pa.DataType:
        return pa.timestamp(each.unit, each.tz and "UTC") if pa.types.is_timestamp(each) else each

    return stored_inside(kind, in_utc) or kind


def _stored(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC") if kind.tz else kind
    return kind if kind in _NAMES or pa.types.is_decimal128(kind) else _WIDER.get(kind)
