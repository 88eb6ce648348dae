"""SQLite: values have types and columns have none, so that all of them are looked at when a read is planned."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from penstock.core.errors import InputError, SchemaError
from penstock.core.extras import importing
from penstock.io.databases.base import Column, FileDatabase, Session, TableName, text_literal

_KINDS = {"integer": pa.int64(), "real": pa.float64(), "text": pa.string(), "blob": pa.binary()}
_NAMES = {pa.int64(): "INTEGER", pa.float64(): "REAL", pa.string(): "TEXT", pa.binary(): "BLOB"}
_EXACT = 2**53
_PATIENCE = 600_000
"""Milliseconds that a worker waits while others write."""


@dataclass(frozen=True)
class Sqlite(FileDatabase):
    """A file of SQLite: ``sqlite:///relative.db``, ``sqlite:////absolute.db``."""

    title = "SQLite"
    scheme = "sqlite"

    def connect(self, *, writes: bool) -> Any:
        """Return a connection; one that only reads does not make the file."""
        with importing("adbc-driver-sqlite", "sql"):
            import adbc_driver_sqlite.dbapi as driver
        if not writes:
            self.check_file()
            self._recover(driver)
        connection = driver.connect(self.path if writes else f"file:{quote(self.path)}?mode=ro")
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA busy_timeout = {_PATIENCE}")
        return connection

    def _recover(self, driver: Any) -> None:
        """Roll back the unfinished transaction of a killed writer, which a read-only connection may not do.

        SQLite looks at the locks of the file, so that nothing becomes of a transaction under way.
        """
        if not os.path.exists(f"{self.path}-journal"):
            return
        try:
            with driver.connect(f"file:{quote(self.path)}?mode=rw") as connection, connection.cursor() as cursor:
                cursor.execute(f"PRAGMA busy_timeout = {_PATIENCE}")
                cursor.execute("SELECT COUNT(*) FROM sqlite_master")
                cursor.fetchone()
        except driver.Error as error:
            raise InputError(
                f"{self.path} has the journal of a writer that was killed, which cannot be undone here: {error}",
                hint="Open it once where it may be written: sqlite3 FILE 'SELECT COUNT(*) FROM sqlite_master'.",
                path=self.path,
            ) from error

    def columns(self, session: Session, relation: str) -> list[Column]:
        """Return the columns, whose types are those of all their values, or declared where there are none."""
        names = session.fetch(f"SELECT * FROM {relation} LIMIT 0").schema.names
        asked = [f"COALESCE(SUM({test}), 0)" for name in names for test in self._tests(name)]
        counts = session.first(f"SELECT {', '.join(asked)} FROM {relation}")
        width = len(_KINDS) + 1
        columns = [self._column(name, counts[width * place : width * (place + 1)]) for place, name in enumerate(names)]
        empty = [column.name for place, column in enumerate(columns) if not any(counts[width * place :][:width])]
        declared = self._declared(session, relation) if empty else {}
        return [replace(each, type=declared[each.name]) if each.name in empty else each for each in columns]

    def _declared(self, session: Session, relation: str) -> dict[str, pa.DataType]:
        """Return the declared types of a table or a query; a string where there is none, as of an expression."""
        # Of a view SQLite knows which columns are those of tables; a temporary one is not in the file.
        session.execute(f"CREATE TEMP VIEW penstock_declared AS SELECT * FROM {relation}")
        rows = session.fetch("SELECT name, type FROM pragma_table_info('penstock_declared')").to_pylist()
        session.execute("DROP VIEW penstock_declared")
        kinds = {name: kind for kind, name in _NAMES.items()}
        affinities = {row["name"]: _affinity(row["type"]) if row["type"] else "TEXT" for row in rows}
        return {name: kinds.get(affinity, pa.string()) for name, affinity in affinities.items()}

    def given_names(self, session: Session, query: str, names: Sequence[str]) -> Sequence[str]:
        if not any(":" in name for name in names):  # which is how SQLite numbers them; to ask takes a first row
            return names
        with self.translating(session.error), session.connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**self.fetch_options(1))
            cursor.execute(query)
            return [name for name, *_ in cursor.description]

    def _tests(self, name: str) -> list[str]:
        column = self.quote(name)
        large = f"typeof({column}) = 'integer' AND ({column} > {_EXACT} OR {column} < -{_EXACT})"
        return [*(f"typeof({column}) = '{kind}'" for kind in _KINDS), large]

    def _column(self, name: str, counts: list[int]) -> Column:
        *rows, large = counts
        kinds = {kind: count for kind, count in zip(_KINDS, rows, strict=True) if count}
        column = self.quote(name)
        if set(kinds) == {"integer", "real"} and not large:
            return Column(name, pa.float64(), f"CAST({column} AS REAL)", column)
        if len(kinds) > 1:
            shown = ", ".join(f"{kind} in {count} row(s)" for kind, count in kinds.items())
            raise SchemaError(
                f"column {name!r} has values of several types: {shown}",
                hint="Cast it in the query: SELECT CAST(x AS TEXT) AS x, ...",
                column=name,
            )
        return Column(name, _KINDS[next(iter(kinds), "text")], column, column)

    def convert(self, values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
        """Return values in a canonical type, which a text may be of; of nothing but null the driver has no type."""
        if values.null_count == len(values):
            return pa.chunked_array([pa.nulls(len(values), kind)])
        if pa.types.is_boolean(kind) and not set(values.unique().to_pylist()) <= {0, 1, None}:
            raise pa.ArrowInvalid("a value is neither 0 nor 1")
        if pa.types.is_time(kind) and pa.types.is_string(values.type):
            moments = pc.binary_join_element_wise(pa.scalar("1970-01-01"), values, " ")
            return moments.cast(pa.timestamp(kind.unit)).cast(kind)
        return values.cast(kind)

    def fetch_options(self, rows: int) -> dict[str, str]:
        """Have the driver choose types by all rows, not by the first of them."""
        return {"adbc.sqlite.query.batch_rows": str(max(1, rows))}

    def partitions_by(self, kind: pa.DataType) -> bool:
        """Return whether a type is that of whole numbers; times are texts here."""
        return bool(pa.types.is_integer(kind))

    def stored_type(self, kind: pa.DataType) -> pa.DataType | None:
        """Return one of the four types of SQLite: times, days and decimals are texts."""
        if pa.types.is_boolean(kind) or (pa.types.is_integer(kind) and kind != pa.uint64()):
            return pa.int64()
        if pa.types.is_float16(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind):
            return pa.float64()
        texts = (
            pa.types.is_date32,
            pa.types.is_timestamp,
            pa.types.is_time,
            pa.types.is_decimal128,
            pa.types.is_string,
        )
        if any(test(kind) for test in texts):
            return pa.string()
        return kind if kind == pa.binary() else None

    def declare(self, kind: pa.DataType) -> str:
        """Return the name of a stored type, by which values keep it."""
        return _NAMES[kind]

    def tables_like(self, session: Session, table: TableName, prefix: str) -> list[str]:
        """Return tables of the file."""
        begins = f"substr(name, 1, {len(prefix)}) = {text_literal(prefix)}"
        return session.column(f"SELECT name FROM sqlite_master WHERE type = 'table' AND {begins}")

    def target_columns(self, session: Session, table: TableName) -> dict[str, pa.DataType | str]:
        """Return the columns of a table, with what it turns values into."""
        rows = session.fetch(f"SELECT name, type FROM pragma_table_info({text_literal(table.name)})")
        return {row["name"]: _affinity(row["type"] or "") for row in rows.to_pylist()}

    def holds(self, column: pa.DataType | str, kind: pa.DataType) -> bool:
        """Return whether a column leaves values of a stored type as they are."""
        return column in ("BLOB", _NAMES[kind]) or (column == "NUMERIC" and kind == pa.int64())


def _affinity(declared: str) -> str:
    """Return what SQLite takes a declared type for; https://sqlite.org/datatype3.html, 3.1."""
    name = declared.upper()
    if "INT" in name:
        return "INTEGER"
    if any(part in name for part in ("CHAR", "CLOB", "TEXT")):
        return "TEXT"
    if not name or "BLOB" in name:
        return "BLOB"
    return "REAL" if any(part in name for part in ("REAL", "FLOA", "DOUB")) else "NUMERIC"
