"""Queries of databases: planned with their types and rows, read partition by partition, each by its own connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, IncompleteInputError, SchemaDriftError
from penstock.core.schemas import check_type, declared, require
from penstock.io.databases import Column, Database, Session, find_database
from penstock.io.databases.base import holds_type
from penstock.io.fragments import FRAGMENT_BYTES, Fragment, Piece, row_bytes
from penstock.io.sources.files import check_rows


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
        if partition_on is None:
            parts = [Partition(None, int(session.first(f"SELECT COUNT(*) FROM {relation}")[0]))]
        else:
            column = columns[known.get_field_index(*require(known, partition_on))]
            parts = _plan(database, session, relation, column, partitions, max(1, fragment_bytes // row_bytes(types)))
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


@dataclass(frozen=True)
class Partition:
    """The rows of a query that meet a predicate, all of them where it is None."""

    predicate: str | None
    rows: int


def _plan(
    database: Database, session: Session, relation: str, column: Column, partitions: int | None, rows_of_a_part: int
) -> list[Partition]:
    """Return the partitions of a query that have rows; by bounds of a column, and one of its nulls.

    Raises
    ------
    ConfigError
        Rows cannot be partitioned by a column of this type.
    """
    if not database.partitions_by(column.type):
        raise ConfigError(
            f"partition_on is {column.name!r}, which is {column.type}, expected whole numbers, dates or timestamps of"
            f" {database.title}",
            hint="Take another column, or none: then one worker reads all rows.",
            column=column.name,
        )
    name = database.quote(column.name)
    found = session.fetch(f"SELECT COUNT(*) AS n, MIN({name}) AS low, MAX({name}) AS high FROM {relation}")
    total = int(found["n"][0].as_py())
    low, high = (database.convert(found[bound], column.type)[0] for bound in ("low", "high"))
    cuts = [database.literal(cut) for cut in _cuts(low, high, partitions or max(1, -(-total // rows_of_a_part)))]
    return _count(session, relation, _predicates(name, cuts), total)


def _count(session: Session, relation: str, predicates: Sequence[str], total: int) -> list[Partition]:
    asked = [f"COALESCE(SUM(CASE WHEN {each} THEN 1 ELSE 0 END), 0)" for each in predicates]
    counts = [int(count) for count in session.first(f"SELECT {', '.join(asked)} FROM {relation}")]
    if sum(counts) != total:
        raise IncompleteInputError(
            f"the partitions of {relation} have {sum(counts)} rows, and all of it {total}",
            hint="Read it again once nothing writes to it.",
        )
    parts = [Partition(each, count) for each, count in zip(predicates, counts, strict=True) if count]
    return parts or [Partition(None, 0)]


def _cuts(low: pa.Scalar, high: pa.Scalar, count: int) -> list[pa.Scalar]:
    """Return where to cut a span of values, low and high included, to parts of the same width.

    Examples
    --------
    >>> [cut.as_py() for cut in _cuts(pa.scalar(1), pa.scalar(10), 3)]
    [4, 7]
    """
    if not low.is_valid:
        return []
    whole = pa.int32() if low.type.bit_width == 32 else pa.int64()
    whole = low.type if pa.types.is_integer(low.type) else whole
    first, last = int(low.cast(whole).as_py()), int(high.cast(whole).as_py())
    places = dict.fromkeys(first + (last - first + 1) * part // count for part in range(1, count))
    return [pa.scalar(place, whole).cast(low.type) for place in places if place > first]


def _predicates(name: str, cuts: Sequence[str]) -> list[str]:
    """Return predicates that each row meets one of, whatever its value: the first and the last have one bound."""
    if not cuts:
        return [f"{name} IS NOT NULL", f"{name} IS NULL"]
    inner = [f"{name} >= {low} AND {name} < {high}" for low, high in pairwise(cuts)]
    return [f"{name} < {cuts[0]}", *inner, f"{name} >= {cuts[-1]}", f"{name} IS NULL"]
