"""Queries of databases: planned with their types and rows, read partition by partition, each by its own connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, SchemaDriftError
from penstock.core.schemas import check_type, declared, require
from penstock.io.databases import Column, Database, find_database
from penstock.io.databases.holding import holds_type
from penstock.io.fragments import FRAGMENT_BYTES, Fragment, Piece, row_bytes
from penstock.io.sources.files import check_rows
from penstock.io.sources.sql_partitions import Partition, PartitionedQuery


@dataclass(frozen=True)
class SqlSource:
    """Pieces of a query; see `Engine.read_sql`.

    Two reads of a partition give its rows in the same order, whichever columns they ask for: that of all columns.
    """

    schema: pa.Schema
    database: Database
    relation: str
    columns: tuple[Column, ...]
    order: str
    partitions: Mapping[str, Partition]

    def read(self, piece: Piece, columns: Sequence[str], kind: frames.Kind) -> nw.DataFrame:
        """Return the rows of `piece`.

        Raises
        ------
        IncompleteInputError
            The partition has not as many rows as when it was planned.
        InputError
            The database does not answer, or refuses the query.
        SchemaDriftError
            A value is not of the type that was planned.
        """
        partition = self.partitions[piece.path]
        with self.database.session(options=self.database.fetch_options(partition.rows)) as session:
            table = session.fetch(self._query(partition, columns))
        check_rows(piece.path, table.num_rows, partition.rows)
        arrays = [self._convert(table.column(place), name, piece.path) for place, name in enumerate(columns)]
        rows = pa.table(arrays, list(columns)).slice(piece.first, piece.rows)
        return frames.from_arrow(rows, kind)

    def _query(self, partition: Partition, columns: Sequence[str]) -> str:
        known = {column.name: column.expression for column in self.columns}
        chosen = ", ".join(f"{known[name]} AS {self.database.quote(name)}" for name in columns)
        where = "" if partition.predicate is None else f" WHERE {partition.predicate}"
        return f"SELECT {chosen} FROM {self.relation}{where} ORDER BY {self.order}"

    def _convert(self, values: pa.ChunkedArray, name: str, path: str) -> pa.ChunkedArray:
        kind = self.schema.field(name).type
        try:
            return self.database.convert(values, kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise SchemaDriftError(
                f"column {name!r} of {path} has a value that is not {kind}: {error}",
                hint="Declare another type in schema, or cast it in the query.",
                path=path,
                column=name,
            ) from error


def plan_sql(
    query: str,
    uri: str,
    *,
    partition_on: str | None = None,
    partitions: int | None = None,
    schema: pa.Schema | dict[str, str | pa.DataType] | None = None,
    fragment_bytes: int = FRAGMENT_BYTES,
) -> tuple[SqlSource, tuple[Fragment, ...]]:
    """Ask a database for the types and the rows of a query, all of one moment; see `Engine.read_sql`."""
    if partitions is not None and (partition_on is None or partitions < 1):
        raise ConfigError(f"partitions is {partitions!r}, expected 1 or more, with partition_on")
    database = find_database(uri)
    relation = database.relation(query)
    with database.session() as session:
        database.begin_snapshot(session)
        columns = database.columns(session, relation)
        database.check_names(session, query, [column.name for column in columns])
        known = pa.schema([(column.name, column.type) for column in columns])
        types = _schema(database, known, schema)
        place = None if partition_on is None else known.get_field_index(*require(known, partition_on))
        split = PartitionedQuery(relation, None if place is None else columns[place], partitions)
        parts = split.plan(database, session, max(1, fragment_bytes // row_bytes(types)))
    by = None if partition_on is None else database.quote(partition_on)
    order = ", ".join(dict.fromkeys([*([by] if by else []), *(column.order for column in columns)]))
    places = {f"{database.shown} ({part.predicate or 'all rows'})": part for part in parts}
    return SqlSource(types, database, relation, tuple(columns), order, places), _fragments(places, types)


def _schema(database: Database, known: pa.Schema, schema: pa.Schema | dict[str, str | pa.DataType] | None) -> pa.Schema:
    """Return the declared schema, which has to hold what the query has, `known`, or that of the query."""
    wanted = known if schema is None else declared(schema)
    require(known, wanted.names)
    for field in wanted:
        stored = known.field(field.name).type
        check_type(field.name, stored, database.shown)
        if not holds_type(field.type, stored) and database.stored_type(field.type) != stored:
            raise SchemaDriftError(
                f"column {field.name!r} is {stored} in {database.shown}, and the declared {field.type} may not hold it",
                hint="Declare a type that holds it, or cast it in the query; Penstock does not cast silently.",
                path=database.shown,
                column=field.name,
            )
    return wanted


def _fragments(partitions: Mapping[str, Partition], schema: pa.Schema) -> tuple[Fragment, ...]:
    fragments, start = [], 0
    for index, (place, partition) in enumerate(partitions.items()):
        fragments.append(Fragment(index, start, (Piece(place, 0, partition.rows, names=tuple(schema.names)),)))
        start += partition.rows
    return tuple(fragments)
