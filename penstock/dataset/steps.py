"""Row-wise work on a frame: what a dataset still has to do to its rows after they are read.

A step is a small picklable value. It says which columns it needs to give the ones that are wanted, so that a scan reads
no others, and it never changes a frame in place.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import (
    ConfigError,
    DataValueError,
    ExecutionError,
    PenstockError,
    RowCountError,
    SchemaError,
    UserCodeError,
)
from penstock.core.names import check_names
from penstock.dataset.task_errors import described, hint_for, place_of
from penstock.frames import ROW, Kind
from penstock.frames.host_types import is_lost, typed
from penstock.frames.on_host import filter_rows
from penstock.frames.overflow import HINT, overflow
from penstock.frames.predicates import matching
from penstock.io.fragments import Fragment

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


@dataclass
class RowLog:
    """What happened to rows on the way: none is lost without a line here.

    ``cached`` are those of the rows ``read`` that were not read again, as all that was asked of them was kept before.
    """

    read: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    quarantined: dict[str, int] = field(default_factory=dict)
    nulled: dict[str, int] = field(default_factory=dict)
    tables: list[pa.Table] = field(default_factory=list)
    gathered: dict[str, list[Any]] = field(default_factory=dict)
    cached: int = field(default=0, compare=False)

    def drop(self, reason: str, rows: int) -> None:
        """Count rows that a step left out; negative for rows that it added."""
        if rows:
            _count(self.dropped, {reason: rows})

    def null(self, reason: str, values: int) -> None:
        """Count values that were made null, of rows that stay."""
        if values:
            _count(self.nulled, {reason: values})

    def quarantine(self, reason: str, table: pa.Table) -> None:
        """Count rows that are set aside, and keep them to be written."""
        if table.num_rows:
            _count(self.quarantined, {reason: table.num_rows})
            self.tables.append(table)

    def quarantine_unparsed(self, records: pa.Table) -> None:
        """Count records that were read and could not be parsed, by their ``reason``, and keep them to be written."""
        if records.num_rows:
            self.read += records.num_rows
            _count(self.quarantined, Counter(records["reason"].to_pylist()))
            self.tables.append(records)

    def add(self, other: RowLog) -> None:
        """Add the counts of another log; tables are written where they arise and stay there."""
        self.read += other.read
        self.kept += other.kept
        self.cached += other.cached
        _count(self.dropped, other.dropped)
        _count(self.quarantined, other.quarantined)
        _count(self.nulled, other.nulled)
        for name, states in other.gathered.items():
            self.gathered.setdefault(name, []).extend(states)

    def repeat(self, other: RowLog) -> None:
        """Add all of another log, tables too; the other stays as it is."""
        self.add(other)
        self.tables += other.tables


def _count(counts: dict[str, int], more: Mapping[str, int]) -> None:
    for reason, rows in more.items():
        counts[reason] = counts.get(reason, 0) + rows


class Step(ABC):
    """One row-wise operation."""

    keeps_rows: bool = True
    """Whether every row that comes in goes out, in order."""
    makes_rows: bool = False
    """Whether what comes out cannot be traced to rows of a file: row numbers end here."""
    hidden: frozenset[str] = frozenset()
    """Columns that it makes under names that no user's column has."""

    @property
    def history(self) -> tuple[Step, ...]:
        """The steps that rows have gone through: this one, or those that it stands for."""
        return (self,)

    @property
    @abstractmethod
    def label(self) -> str:
        """What plans and errors call it."""

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns and types that come out, for those that go in: the same, unless it changes them."""
        return schema

    def on(self, dataset: Dataset) -> Step:
        """Return the step that does this to the rows of a dataset: itself, unless it is computed for all rows first."""
        return self

    @abstractmethod
    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        """Return the columns needed to give `wanted`, or None when the step does nothing for them."""

    def only(self, wanted: frozenset[str]) -> Step:
        """Return the step for the wanted columns alone, the same object for the same columns."""
        return self

    @abstractmethod
    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        """Return a new frame."""


class PassiveStep(Step):
    """A step that has nothing to do to a frame: what it stands for is done where rows are read."""

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        return None

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        return frame


@dataclass(frozen=True)
class SelectColumns(PassiveStep):
    """Keeps some columns, in the order given: no others are read."""

    columns: tuple[str, ...]

    @property
    def label(self) -> str:
        return f"select {len(self.columns)} columns"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return pa.schema([schema.field(name) for name in self.columns])


@dataclass(frozen=True, eq=False)
class Filter(Step):
    """Keeps rows for which a Narwhals expression of the columns `read` is true; null counts as false."""

    predicate: nw.Expr
    read: pa.Schema
    keeps_rows = False

    label = "filter"

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        return wanted | frozenset(self.read.names)

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        rows = filter_rows(frame, self.predicate, self.read)
        log.drop("filter", len(frame) - len(rows))
        return rows


@dataclass(frozen=True)
class MapPartitions(Step):
    """Calls a user's function with each partition, in the frame library it asks for."""

    function: Callable[..., Any]
    schema: pa.Schema
    form: str
    inputs: tuple[str, ...]
    title: str | None = None
    keeps_rows = False
    makes_rows = True

    @property
    def label(self) -> str:
        return self.title or f"map_partitions({getattr(self.function, '__name__', type(self.function).__name__)})"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return self.schema

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        return frozenset(self.inputs)

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        argument = frames.present(frame.select(list(self.inputs)), self.form)
        try:
            result = self.function(argument)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # Polars panics and sys.exit too
            problem = f"{self.label} raised {described(error)}"
            raise UserCodeError(problem, hint=hint_for(error), stage=self.label) from error
        output = self._checked(result, "gpu" if frames.is_gpu(frame) else "cpu")
        log.drop(self.label, len(frame) - len(output))
        return output

    def _checked(self, result: Any, kind: Kind) -> nw.DataFrame:
        """Return the result in the declared columns and types."""
        try:
            output = frames.accept(result, kind)
        except TypeError as error:
            kind_name = type(result).__name__
            raise UserCodeError(f"{self.label} gave {kind_name}, expected a frame", stage=self.label) from error
        missing = [name for name in self.schema.names if name not in output.columns]
        if missing:
            raise SchemaError(
                f"{self.label} gave columns {output.columns}, but its declared schema has {missing[0]!r}",
                hint="Return every column of the declared schema.",
                column=missing[0],
                stage=self.label,
            )
        return conform_exactly(output, self.schema, self.label)


def conform_exactly(output: nw.DataFrame, schema: pa.Schema, label: str) -> nw.DataFrame:
    """Return the columns of `schema` in its types; SchemaError for a value that they do not hold.

    Numbers are only rounded from float64 to float32.
    """
    try:
        cast = frames.conform(output, schema)
        others = [name for name in schema.names if output[name].dtype != cast[name].dtype]
        changed = {name: frames.first_changed(output[name], cast[name]) for name in others}
    except frames.ERRORS as error:
        raise SchemaError(
            f"{label} gave values that are not of the declared types: {str(error).splitlines()[0]}",
            hint="Cast them in the function, or declare the types that it returns.",
            stage=label,
        ) from error
    for name, value in changed.items():
        if value is not None:
            raise SchemaError(
                f"{label} gave {value!r} in column {name!r}, which its declared type,"
                f" {schema.field(name).type}, does not hold",
                hint="Round it in the function, or declare a type that holds it.",
                column=name,
                stage=label,
            )
    return cast


def output_schema(steps: Sequence[Step], schema: pa.Schema) -> pa.Schema:
    """Return the schema after all steps.

    Raises
    ------
    SchemaError
        A step makes a column with a name that Penstock keeps for itself.
    """
    known = {*schema.names}
    for step in steps:
        schema = step.output_schema(schema)
        known |= step.hidden
        if new := [name for name in schema.names if name not in known]:
            check_names(new, step.label, stage=step.label)
            known.update(new)
    return schema


def host_types(steps: Sequence[Step], schema: pa.Schema, kind: Kind) -> AbstractContextManager[None]:
    """Have columns leave a GPU, while a task runs, in the types that they have before and after the steps."""
    return typed(_lost_types(steps, schema)) if kind == "gpu" else nullcontext()


def _lost_types(steps: Sequence[Step], schema: pa.Schema) -> dict[str, pa.DataType]:
    """Return the types that cuDF has not, by name; one that stands for columns of several types is left out."""
    kinds: dict[str, set[pa.DataType]] = {}
    for each in itertools.accumulate(steps, lambda before, step: step.output_schema(before), initial=schema):
        for name, type_ in zip(each.names, each.types, strict=True):
            kinds.setdefault(name, set()).add(type_)
    return {name: kind for name, (kind, *others) in kinds.items() if not others and is_lost(kind)}


def history(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps that rows have gone through, those too that others stand for."""
    return tuple(step for each in steps for step in each.history)


def check_numbered(steps: Sequence[Step], user: str, hint: str, *, stage: str | None = None) -> None:
    """Raise ConfigError where a step has made an end of the row numbers that `user` goes by."""
    for step in steps:
        if step.makes_rows:
            raise ConfigError(
                f"rows have no numbers after {step.label}, and {user} goes by them", hint=hint, stage=stage
            )


def prune(steps: Sequence[Step], wanted: Iterable[str]) -> tuple[tuple[Step, ...], frozenset[str]]:
    """Return the steps that matter for the columns wanted, and the columns to read for them."""
    need = frozenset(wanted)
    subset: list[Step] = []
    for step in reversed(steps):
        columns = step.needs(need)
        if columns is not None:
            subset.append(step.only(need))
            need = columns
    return tuple(reversed(subset)), need


def run(steps: Sequence[Step], frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
    """Apply steps in order, with the row count checked and errors told where they happened."""
    for step in steps:
        rows = len(frame)
        try:
            output: Any = step.apply(frame, log)
        except PenstockError as error:
            raise with_row(error, frame).at(stage=step.label) from error.__cause__
        except Exception as error:
            if (beyond := overflow(str(error))) is not None:
                raise DataValueError(f"{step.label}: {beyond}", hint=HINT, stage=step.label) from error
            problem = f"{step.label} raised {described(error)}"
            raise ExecutionError(problem, hint=hint_for(error), stage=step.label) from error
        if not isinstance(output, nw.DataFrame):
            problem = f"{step.label} gave {type(output).__name__}, expected a DataFrame of Narwhals"
            raise ExecutionError(problem, hint="Return frame.with_columns(...).", stage=step.label)
        if step.keeps_rows and len(output) != rows:
            raise RowCountError(f"{step.label} made {len(output)} rows of {rows}", stage=step.label, rows=len(output))
        frame = output
    return frame


def with_row(error: PenstockError, frame: nw.DataFrame) -> PenstockError:
    """Return an error with the first row number that its predicate finds, when the frame has row numbers."""
    if not isinstance(error, DataValueError) or error.predicate is None or error.row is not None:
        return error
    if ROW not in frame.columns:
        return error
    bad = matching(frame, error.predicate)[ROW]
    return error.at(row=int(bad[0])) if len(bad) else error


def placed(error: PenstockError, fragment: Fragment) -> PenstockError:
    """Return the error with the file, and the row of that file, in place of the dataset's row number."""
    if error.path is not None:
        return error
    if error.row is None:
        return error.at(**place_of(fragment))
    path, row = fragment.locate(error.row)
    moved = type(error)(error.message, hint=error.hint, **{**error.place, "row": row})
    return moved.at(path=path, partition=fragment.index)
