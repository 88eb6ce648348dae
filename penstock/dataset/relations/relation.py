"""What a verb takes and makes: datasets, operations on them, and results that are pending."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast, overload
from weakref import WeakSet

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.scheduler import relational
from penstock.dataset.relations.operation import Operation
from penstock.dataset.relations.order import ROW_ORDER, Order, SortKey
from penstock.dataset.steps import RowLog, Step
from penstock.frames import ROW, Kind
from penstock.io.fragments import Fragment, Piece
from penstock.io.sources.base import Reader, Source

if TYPE_CHECKING:
    from penstock.core.scheduler import Scheduler
    from penstock.dataset.dataset import Dataset
    from penstock.io.sources.files import Storage


@dataclass(frozen=True, eq=False)
class Leaf:
    """A dataset, of which rows are read.

    Parameters
    ----------
    dataset : Dataset
    order : tuple of SortKey
        What its rows are sorted by: the hidden column of their numbers; of rows that a query has made, what it sorted
        them by, of which each hidden column is the row number.
    """

    dataset: Dataset
    order: Order = (SortKey(ROW_ORDER),)

    @property
    def schema(self) -> pa.Schema:
        """The columns that a user sees."""
        return self.dataset.schema


@dataclass(frozen=True, eq=False)
class Operated:
    """What an operation makes of relations.

    Parameters
    ----------
    operation : Operation
    inputs : tuple
        The relations that it is done to.
    schema : pyarrow.Schema
        The columns that a user sees, and their types.
    order : tuple of SortKey
        By which the rows are in a total order, empty for a single row; None for an order that is not defined.
    """

    operation: Operation
    inputs: tuple[Relation, ...]
    schema: pa.Schema
    order: Order | None


@dataclass(eq=False)
class Pending:
    """The result of a verb: a query that runs once, when its rows are first needed by themselves.

    `users` are the pending results that are made of it, as long as they are there: where they are two it is run by
    itself, so that it is run once.
    """

    engine: Scheduler
    relation: Operated
    label: str
    users: WeakSet[Pending] = field(default_factory=WeakSet)
    _result: Dataset | None = None
    _lock: Any = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        for each in pendings_below(self.relation):
            each.users.add(self)

    @property
    def schema(self) -> pa.Schema:
        """The columns that a user sees."""
        return self.relation.schema

    @property
    def order(self) -> Order | None:
        """What its rows are sorted by."""
        return self.relation.order

    @property
    def is_done(self) -> bool:
        """Whether its rows are there."""
        return self._result is not None

    def result(self) -> Dataset:
        """Return its rows, in order; the query runs the first time."""
        with self._lock:
            if self._result is None:
                self._result = relational(self.engine, self.label).relate(self)
            return self._result

    def dataset(self) -> Dataset:
        """Return a dataset of the rows, which are not there yet."""
        from penstock.dataset.dataset import Dataset

        fragments = cast("tuple[Fragment, ...]", PendingFragments(self))
        return Dataset(self.engine, Reader(PendingSource(self)), fragments)


Relation = Leaf | Operated | Pending


def pendings_below(relation: Operated) -> Iterator[Pending]:
    """Yield the pending results that a relation is made of at first hand."""
    for each in relation.inputs:
        if isinstance(each, Pending):
            yield each
        elif isinstance(each, Operated):
            yield from pendings_below(each)


class PendingSource:
    """Reads what a pending query gives; where it travels to a worker, the source of its rows goes instead."""

    def __init__(self, pending: Pending) -> None:
        self.pending = pending

    @property
    def schema(self) -> pa.Schema:
        return self.pending.schema

    @property
    def storage(self) -> Storage:
        """What opens the files of the rows."""
        source: Any = self.pending.result().reader.source
        return cast("Storage", source.storage)

    def read(self, piece: Piece, columns: Sequence[str], kind: Kind) -> nw.DataFrame:
        return self.pending.result().reader.source.read(piece, columns, kind)

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self.pending.result().reader.source,)

    def __deepcopy__(self, memo: object) -> PendingSource:
        return self


def _itself(source: Source) -> Source:
    return source


class PendingFragments(Sequence[Fragment]):
    """The fragments of what a pending query gives, which runs when one asks for them."""

    def __init__(self, pending: Pending) -> None:
        self._pending = pending

    def _there(self) -> tuple[Fragment, ...]:
        return self._pending.result().fragments

    def __len__(self) -> int:
        return len(self._there())

    @overload
    def __getitem__(self, index: int) -> Fragment: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Fragment, ...]: ...
    def __getitem__(self, index: int | slice) -> Fragment | tuple[Fragment, ...]:
        return self._there()[index]

    def __iter__(self) -> Iterator[Fragment]:
        return iter(self._there())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self._there()),)

    def __deepcopy__(self, memo: object) -> PendingFragments:
        return self


def settled(dataset: Dataset) -> Dataset:
    """Return a dataset whose rows are there: of a pending query, which runs unless it has, its rows."""
    source = dataset.reader.source
    if not isinstance(source, PendingSource):
        return dataset
    rows = source.pending.result().reader
    reader = replace(dataset.reader, source=rows.source, folder=rows.folder)
    return replace(dataset, reader=reader, fragments=tuple(dataset.fragments))


@dataclass(frozen=True)
class ConformedSource:
    """Reads rows that a query engine has stored in types that hold those of the result, as those of the result."""

    source: Source
    schema: pa.Schema

    def read(self, piece: Piece, columns: Sequence[str], kind: Kind) -> nw.DataFrame:
        wanted = pa.schema([self.schema.field(name) for name in columns])
        return frames.conform(self.source.read(piece, columns, kind), wanted)


@dataclass(frozen=True)
class RowNumber(Step):
    """Adds the number of each row, as a column that an order goes by."""

    column: str = ROW_ORDER

    @property
    def hidden(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset((self.column,))

    label = "row numbers"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return schema.append(pa.field(self.column, pa.int64()))

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        return (wanted - {self.column}) | {ROW} if self.column in wanted else None

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        return frame.with_columns(nw.col(ROW).alias(self.column))
