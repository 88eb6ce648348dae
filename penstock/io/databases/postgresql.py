"""PostgreSQL: COPY in and out, numeric as decimals, advisory locks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.core.errors import OutputError, SchemaError
from penstock.core.extras import importing
from penstock.core.schemas import canonical_type
from penstock.io.databases.base import Column, Database, Session, TableName, another_writes, text_literal
from penstock.io.sinks.part_writer import stored_inside

_NAMES = {
    pa.bool_(): "boolean", pa.int16(): "smallint", pa.int32(): "integer", pa.int64(): "bigint",
    pa.float32(): "real", pa.float64(): "double precision", pa.string(): "text", pa.binary(): "bytea",
    pa.date32(): "date", pa.timestamp("us"): "timestamp", pa.timestamp("us", "UTC"): "timestamptz",
    pa.time64("us"): "time",
}  # fmt: skip
_WIDER = {
    pa.int8(): pa.int16(), pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0), pa.float16(): pa.float32(), pa.time32("s"): pa.time64("us"),
    pa.time32("ms"): pa.time64("us"),
}  # fmt: skip
_AS_TEXT = ("json", "jsonb", "uuid")
_DIGITS = 38
_CAST = "Cast it in the query, to text say, or leave it out."


@dataclass(frozen=True)
class Postgresql(Database):
    """A database of a PostgreSQL server, ``postgresql://user:password@host/database``."""

    title = "PostgreSQL"
    create_staging = "CREATE UNLOGGED TABLE"

    def connect(self, *, writes: bool) -> Any:
        """Return a connection in a transaction."""
        with importing("adbc-driver-postgresql", "sql"):
            import adbc_driver_postgresql.dbapi as driver
        return driver.connect(self.uri)

    def begin_snapshot(self, session: Session) -> None:
        """Read what was committed when the transaction began."""
        session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    def columns(self, session: Session, relation: str) -> list[Column]:
        """Return the columns; numeric ones without a scale have that of their values, which are all looked at."""
        fields = list(session.fetch(f"SELECT * FROM {relation} LIMIT 0").schema)
        kinds = [self._type(field) for field in fields]
        extremes = self._extremes(session, relation, fields)
        return [
            self._column(field, extremes.get(field.name) if kind is None else kind)
            for field, kind in zip(fields, kinds, strict=True)
        ]

    def _column(self, field: pa.Field, kind: pa.DataType | None) -> Column:
        name, native = self.quote(field.name), _native(field)
        assert kind is not None
        expression = f"{name}::text" if native in _AS_TEXT else name
        order = f'{name}::text COLLATE "C"' if pa.types.is_string(kind) else name
        return Column(field.name, kind, expression, order)

    def _type(self, field: pa.Field) -> pa.DataType | None:
        """Return the type of a column; None for a numeric one whose values have to be looked at."""
        native = _native(field)
        if native == "numeric":
            modifier = int((field.metadata or {}).get(b"POSTGRESQL:typmod", b"-1")) - 4
            digits, scale = modifier >> 16 & 0xFFFF, modifier & 0x7FF
            return pa.decimal128(digits, scale) if modifier >= 0 and scale <= digits <= _DIGITS else None
        if native in _AS_TEXT:
            return pa.string()
        if native == "money" or isinstance(field.type, pa.BaseExtensionType) or pa.types.is_interval(field.type):
            raise SchemaError(f"column {field.name!r} is {native}, which is not read", hint=_CAST, column=field.name)
        return canonical_type(field.type)

    def _extremes(self, session: Session, relation: str, fields: list[pa.Field]) -> dict[str, pa.DataType]:
        """Look at all values of numerics without a scale, and of times, which may be infinite."""
        numerics = [field.name for field in fields if self._type(field) is None]
        times = [field.name for field in fields if _native(field) in ("date", "timestamp", "timestamptz")]
        asked = [self._numeric_extremes(name) for name in numerics]
        asked += [f"SUM(CASE WHEN NOT isfinite({self.quote(name)}) THEN 1 ELSE 0 END)::bigint" for name in times]
        found = session.first(f"SELECT {', '.join(asked)} FROM {relation}") if asked else []
        for name, infinite in zip(times, found[2 * len(numerics) :], strict=True):
            if infinite:
                raise SchemaError(
                    f"column {name!r} is infinite in {infinite} row(s), which no type of Arrow's holds",
                    hint="Leave such rows out in the query, or give them a value there.",
                    column=name,
                )
        return {name: _decimal(name, found[2 * place], found[2 * place + 1]) for place, name in enumerate(numerics)}

    def _numeric_extremes(self, name: str) -> str:
        column = self.quote(name)
        finite = f"CASE WHEN {column} <> 'NaN' THEN {column} END"
        return f"MAX(scale({finite})), MAX(abs({finite}))::text"

    def convert(self, values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
        """Return values in a canonical type; NaN of a numeric is null."""
        if isinstance(values.type, pa.BaseExtensionType):
            values = pa.chunked_array([chunk.storage for chunk in values.chunks], values.type.storage_type)
            values = pc.if_else(pc.equal(pc.ascii_lower(values), "nan"), pa.scalar(None, pa.string()), values)
        return values.cast(kind)

    def stored_type(self, kind: pa.DataType) -> pa.DataType | None:
        """Return as what PostgreSQL stores a type: numbers have a sign, times are in microseconds."""
        nested = pa.types.is_struct(kind) or pa.types.is_map(kind)
        return None if nested else stored_inside(kind, _stored)

    def declare(self, kind: pa.DataType) -> str:
        """Return the name of a stored type."""
        if pa.types.is_list(kind):
            return f"{self.declare(kind.value_type)}[]"
        return f"numeric({kind.precision}, {kind.scale})" if pa.types.is_decimal(kind) else _NAMES[kind]

    @contextmanager
    def lock(self, table: TableName, run_id: str) -> Iterator[None]:
        """Hold an advisory lock of the server's, which ends with the connection."""
        with self.session(writes=True, error=OutputError) as session:
            name = f"{_schema(table)} || {text_literal('.' + table.name)}"
            if not session.first(f"SELECT pg_try_advisory_lock(hashtextextended('penstock:' || {name}, 0))")[0]:
                raise another_writes(table, self.shown, run_id)
            session.commit()
            yield

    def tables_like(self, session: Session, table: TableName, prefix: str) -> list[str]:
        """Return tables of the schema that `table` is in."""
        query = (
            f"SELECT tablename::text FROM pg_tables WHERE schemaname = {_schema(table)}"
            f" AND starts_with(tablename::text, {text_literal(prefix)})"
        )
        return session.column(query)

    def target_columns(self, session: Session, table: TableName) -> dict[str, pa.DataType | str]:
        """Return the columns of a table; a numeric one without a scale is just that."""
        fields = list(session.fetch(f"SELECT * FROM {self.table(table)} LIMIT 0").schema)
        return {field.name: _any_numeric(field) or self._type(field) or "numeric" for field in fields}

    def holds(self, column: pa.DataType | str, kind: pa.DataType) -> bool:
        """Return whether a column holds all values of a stored type."""
        if isinstance(column, str):
            return column == "numeric" and pa.types.is_decimal(kind)
        return super().holds(column, kind)

    def protect(self, session: Session, table: TableName) -> None:
        """Let others read the table alone."""
        session.execute(f"LOCK TABLE {self.table(table)} IN SHARE ROW EXCLUSIVE MODE")


def _schema(table: TableName) -> str:
    return "current_schema()" if table.schema is None else text_literal(table.schema)


def _native(field: pa.Field) -> str:
    return str((field.metadata or {}).get(b"POSTGRESQL:type", b"").decode())


def _any_numeric(field: pa.Field) -> str | None:
    modifier = (field.metadata or {}).get(b"POSTGRESQL:typmod")
    return "numeric" if _native(field) == "numeric" and modifier in (None, b"-1") else None


def _stored(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz and "UTC")
    return kind if kind in _NAMES or pa.types.is_decimal128(kind) else _WIDER.get(kind)


def _decimal(name: str, scale: int | None, largest: str | None) -> pa.DataType:
    """Return the decimal that holds values of at most so many digits after the point, none larger than `largest`."""
    number = Decimal(largest or 0)
    digits = max(1, len(number.as_tuple().digits) + int(number.as_tuple().exponent)) if number.is_finite() else None
    if digits is None or digits + (scale or 0) > _DIGITS:
        problem = "has an infinite value" if digits is None else f"takes {digits + (scale or 0)} digits"
        raise SchemaError(
            f"column {name!r} is numeric and {problem}: a decimal has at most {_DIGITS} digits",
            hint="Cast it in the query, to numeric(38, s), double precision or text.",
            column=name,
        )
    return pa.decimal128(max(digits + (scale or 0), 1), scale or 0)
