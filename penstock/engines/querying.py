"""Relational ETL: a function of the user's over the lazy frames of an engine's own query engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import (
    ConfigError,
    DataValueError,
    DiskFullError,
    ExecutionError,
    InputError,
    PenstockError,
    SchemaError,
    UserCodeError,
    did_you_mean,
)
from penstock.core.names import check_names
from penstock.core.recording import step
from penstock.core.scheduler import map_all
from penstock.core.schemas import shorten
from penstock.dataset.dataset import Dataset
from penstock.dataset.outputs.parts import check_rows
from penstock.dataset.relations.operation import Operation
from penstock.dataset.relations.order import SortKey
from penstock.dataset.relations.relation import ConformedSource, settled
from penstock.dataset.steps import RowLog
from penstock.dataset.tasks import WriteTask
from penstock.engines.plain_files import PlainFiles
from penstock.engines.reading import owning
from penstock.engines.staging import Staging
from penstock.frames.overflow import HINT, overflow
from penstock.io.lineage import staged_inputs
from penstock.io.sinks import error_number, translate_os_error
from penstock.io.sinks.parquet import ParquetWriter
from penstock.io.sinks.part_folder import PartFolder
from penstock.io.sinks.staging_place import StagingPlace
from penstock.io.sources.base import Reader
from penstock.io.sources.memory import MemorySource

if TYPE_CHECKING:
    from penstock.engines.relational import RelationalEngine

Function = Callable[..., Any]
Rows = Any
"""What a query engine does operations to: its lazy frames, unless it has something of its own for them."""
AnyFrame = TypeVar("AnyFrame", nw.LazyFrame, nw.DataFrame)


class QueryEngine(ABC):
    """The query engine of an engine, for one query: datasets enter as its lazy frames, rows leave as Parquet.

    Attributes
    ----------
    hint : str, optional
        What to do about a query that this query engine cannot run.
    keeps_order : bool
        Whether rows that are read are in order, and stay so where an operation leaves them so: see
        `Operation.keeping_order`.
    read_directly : list of PlainFiles
        Files that it reads by itself. Where it fails tasks read them again, whose errors name file and column.
    """

    hint: str | None = None
    keeps_order: bool = False

    def __init__(self) -> None:
        self.read_directly: list[PlainFiles] = []

    @abstractmethod
    def lazy(self, dataset: Dataset, staging: Staging, label: str) -> nw.LazyFrame:
        """Return the rows of a dataset as a lazy frame; what is staged for it goes to `staging`."""

    def read(self, dataset: Dataset, staging: Staging, label: str) -> Rows:
        """Return the rows of a dataset as operations take them."""
        return self.lazy(dataset, staging, label)

    @abstractmethod
    def arrange(self, frame: Rows, order: Sequence[SortKey], label: str) -> Rows:
        """Return the rows sorted, of operations or of a lazy frame."""

    @abstractmethod
    def operate(self, operation: Operation, inputs: Sequence[Rows], label: str) -> Rows:
        """Return what an operation makes of rows."""

    def shared(self, frame: Rows) -> Rows:
        """Return rows that are used several times in a query, and are made once."""
        return frame

    def check(self, schema: pa.Schema, label: str) -> None:  # noqa: B027
        """Raise SchemaError for a column of a type that this query engine lacks."""

    @abstractmethod
    def cast(self, frame: Rows, schema: pa.Schema) -> Rows:
        """Return the columns of `schema`, in its order and types."""

    def run(self, frame: Rows, staging: Staging, label: str) -> pa.Table | None:
        """Run the query; return its rows where they are few and here, else write them to the rows of `staging`."""
        self.write(frame, staging.rows, label)
        return None

    @abstractmethod
    def write(self, frame: Rows, folder: PartFolder, label: str) -> None:
        """Run the query and write its rows to a new folder: files that are in order by their names."""

    def window(
        self, frame: nw.LazyFrame, columns: Mapping[str, nw.Expr], partition_by: Sequence[str], order_by: Sequence[str]
    ) -> nw.LazyFrame:
        """Return the frame with columns computed within each partition, in order."""
        return with_windows(frame, columns, partition_by, order_by)

    def settings(self, datasets: Sequence[Dataset], label: str) -> AbstractContextManager[None]:
        """Hold while frames are made, while the function is called and while the query runs."""
        return nullcontext()

    def cause(self, error: BaseException) -> str:
        """Return one line that tells what went wrong."""
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"


def as_lazy(native: Any) -> nw.LazyFrame:
    """Return a lazy frame of an engine's own as one of Narwhals."""
    return nw.from_native(native)


def with_windows(
    frame: AnyFrame, columns: Mapping[str, nw.Expr], partition_by: Sequence[str], order_by: Sequence[str]
) -> AnyFrame:
    """Return the frame with columns computed within each partition, in order."""
    windows = {name: made.over(*partition_by, order_by=list(order_by)) for name, made in columns.items()}
    return frame.with_columns(**windows)


def run(
    engine: RelationalEngine,
    function: Function,
    datasets: Sequence[Dataset],
    *,
    order_by: Sequence[str],
    schema: pa.Schema | None,
    place: Callable[[str], StagingPlace],
    fragment_bytes: int | None,
) -> Dataset:
    """Run a query; see `RelationalEngine.query`."""
    label = f"query({getattr(function, '__name__', type(function).__name__)})"
    if not datasets:
        raise ConfigError(f"{label} has no dataset", hint="Pass at least one after the function.", stage=label)
    queries = engine.query_engine()

    def frame(staging: Staging) -> Rows:
        given = [_lazy(queries, engine, each, staging, place, label) for place, each in enumerate(datasets)]
        return _arranged(queries, _called(queries, function, given, label), order_by, schema, label)

    return execute(
        engine, queries, label, datasets, frame, schema=schema, place=place(label), fragment_bytes=fragment_bytes
    )


def execute(
    engine: RelationalEngine,
    queries: QueryEngine,
    label: str,
    datasets: Sequence[Dataset],
    frame: Callable[[Staging], Rows],
    *,
    schema: pa.Schema | None = None,
    place: StagingPlace | None = None,
    fragment_bytes: int | None = None,
) -> Dataset:
    """Run the query that `frame` makes; return its rows, which are staged unless they are few."""
    made = Staging(engine.staging(None, label) if place is None else place)
    try:
        with made as staging, queries.settings(datasets, label), _told(queries, engine, label):
            query = frame(staging)
            with engine.progress.track(label, 1) as track, step(label, "query"):
                table = queries.run(query, staging, label)
                track.advance()
        if table is None:
            rows = read_staged(engine, made.rows, fragment_bytes=fragment_bytes)
            return owning(rows if schema is None else conformed(rows, schema), made.folder)
    except BaseException:
        made.remove()
        raise
    made.remove()
    size = engine.fragment_bytes if fragment_bytes is None else fragment_bytes
    plan = MemorySource.plan(table if schema is None else table.cast(schema), size, is_own=True)
    return Dataset(engine, Reader(plan[0]), plan[1])


def stage(dataset: Dataset, folder: PartFolder, label: str, schema: pa.Schema | None = None) -> list[str]:
    """Write the rows of a dataset as Parquet, and return the files, one a fragment; rows are accounted for.

    They are in the types of `schema`, where it is given.
    """
    log, files = RowLog(), []
    work = WriteTask(dataset.scan(), ParquetWriter(dataset.schema if schema is None else schema), folder, None)
    for written in map_all(dataset.engine, work, dataset.fragments, label=label):
        log.add(written.log)
        files += [folder.locate(entry.path) for entry in written.files]
    check_rows(log)
    return files


def read_staged(
    engine: RelationalEngine, folder: PartFolder, schema: pa.Schema | None = None, fragment_bytes: int | None = None
) -> Dataset:
    """Return a dataset of what was staged in a folder."""
    with staged_inputs():
        return engine.read_parquet(
            folder.location,
            schema=schema,
            allow_unmanifested=True,
            storage_options=folder.storage_options,
            fragment_bytes=fragment_bytes,
        )


def conformed(rows: Dataset, schema: pa.Schema) -> Dataset:
    """Return rows in the types of `schema`, which those in which they are stored hold."""
    source = rows.reader.source
    if source.schema.equals(schema):
        return rows
    return replace(rows, reader=replace(rows.reader, source=ConformedSource(source, schema)))


def _lazy(
    queries: QueryEngine, engine: RelationalEngine, dataset: Dataset, staging: Staging, place: int, label: str
) -> nw.LazyFrame:
    return queries.lazy(replace(settled(dataset), engine=engine), staging, f"{label}: dataset {place}")


def _called(queries: QueryEngine, function: Function, given: Sequence[nw.LazyFrame], label: str) -> nw.LazyFrame:
    with _blamed(queries, label):
        made = function(*given)
    kind = given[0].implementation
    try:
        frame = nw.from_native(made)
    except TypeError:
        frame = None
    if not isinstance(frame, nw.LazyFrame) or frame.implementation is not kind:
        raise UserCodeError(
            f"{label} gave {type(made).__module__.partition('.')[0]}.{type(made).__name__}, expected a lazy frame",
            hint=f"Return what is made of the frames that are passed: a Narwhals LazyFrame, or a {kind.value} one.",
            stage=label,
        )
    return frame


def _arranged(
    queries: QueryEngine, frame: nw.LazyFrame, order_by: Sequence[str], schema: pa.Schema | None, label: str
) -> Rows:
    """Return the frame sorted, in the declared columns and types."""
    with _blamed(queries, label):
        names = frame.collect_schema().names()
    check_names(names, label, stage=label)
    wanted = [] if schema is None else schema.names
    for name in [*order_by, *wanted]:
        if name not in names:
            raise SchemaError(
                f"{label} gave no column {name!r}.{did_you_mean(name, names)} Columns: {shorten(names)}",
                hint="Columns of order_by and of the declared schema must be in what the function returns.",
                column=name,
                stage=label,
            )
    with _blamed(queries, label):
        rows = queries.arrange(frame, [SortKey(name) for name in order_by], label) if order_by else frame
        return rows if schema is None else queries.cast(rows, schema)


@contextmanager
def _blamed(queries: QueryEngine, label: str) -> Iterator[None]:
    """Tell an error of what the user wrote as such."""
    try:
        yield
    except (PenstockError, KeyboardInterrupt):
        raise
    except BaseException as error:
        _check_inputs(queries, label, error)
        hint = queries.hint if isinstance(error, NotImplementedError) else None
        raise UserCodeError(f"{label} raised {queries.cause(error)}", hint=hint, stage=label) from error


@contextmanager
def _told(queries: QueryEngine, engine: RelationalEngine, label: str) -> Iterator[None]:
    """Tell an error of the query engine's own with the query's name."""
    try:
        yield
        for files in queries.read_directly:
            files.check_unchanged()
    except PenstockError as error:
        raise error.at(stage=label, engine=engine.name) from error.__cause__
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of Polars is no Exception
        if (beyond := overflow(str(error))) is not None:
            raise DataValueError(f"{label}: {beyond}", hint=HINT, stage=label, engine=engine.name) from error
        failure = None if error_number(error) is None else translate_os_error(error, "the staged rows of a query")
        if not isinstance(failure, DiskFullError):
            _check_inputs(queries, label, error)
        if failure is not None:
            raise failure.at(stage=label) from error
        raise ExecutionError(
            f"{label} failed while it ran: {queries.cause(error)}", hint=queries.hint, stage=label, engine=engine.name
        ) from error


def _check_inputs(queries: QueryEngine, label: str, error: BaseException) -> None:
    """Raise what is wrong with a file that the query engine has read, in place of what it says itself."""
    try:
        for files in queries.read_directly:
            files.check_readable(label)
    except InputError as found:
        raise found.at(stage=label) from error
