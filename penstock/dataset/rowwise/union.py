"""Rows of several datasets, one after the other, as those of one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, SchemaDriftError, check_one_of, class_name, did_you_mean
from penstock.core.known_classes import note_of
from penstock.core.schemas import widen
from penstock.dataset.folds.blocks import InBlocks
from penstock.dataset.persisted.prepared import PreparedSchema
from penstock.dataset.steps import PassiveStep, RowLog, Step, history
from penstock.dataset.tasks import ReadTask
from penstock.frames import ROW, Kind
from penstock.io.fragments import Fragment, Sample
from penstock.io.sources.base import Reader, RowAccount

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


@dataclass(frozen=True)
class UnionBranch:
    """One of the datasets, and where its fragments and rows begin among those of all.

    Parameters
    ----------
    rows : ReadTask
        Its reader and steps.
    schema : pyarrow.Schema
        Of its rows after them.
    first_fragment, first_row : int
    """

    rows: ReadTask
    schema: pa.Schema
    first_fragment: int
    first_row: int

    @property
    def numbers_rows(self) -> bool:
        """Whether its rows still have numbers."""
        return not any(step.makes_rows for step in self.rows.steps)

    def own(self, fragment: Fragment) -> Fragment:
        """Return a fragment of all as the dataset itself has it."""
        index, start = fragment.index - self.first_fragment, fragment.start - self.first_row
        return replace(fragment, index=index, start=start)

    def sampled(self, sample: Sample) -> UnionBranch:
        """Return the branch with those of its rows that a sample of all keeps."""
        reader = self.rows.reader.sampled(replace(sample, first=sample.first + self.first_row))
        return replace(self, rows=replace(self.rows, reader=reader))


@dataclass(frozen=True)
class UnionReader(Reader):
    """Reads a fragment as the dataset does that it is of, in the columns and types of all."""

    branches: tuple[UnionBranch, ...] = field(kw_only=True)

    @property
    def sampled_times(self) -> int:
        return max(branch.rows.reader.sampled_times for branch in self.branches)

    def sampled(self, sample: Sample) -> Self:
        """Return a reader of those of the rows that a sample keeps; each dataset is asked for its own."""
        branches = tuple(branch.sampled(sample) for branch in self.branches)
        return replace(self, samples=(*self.samples, sample), branches=branches)

    def read(self, fragment: Fragment, columns: Sequence[str], kind: Kind) -> nw.DataFrame[Any]:
        """Return a frame of `columns`, which may name ``__row__`` where all of the datasets have row numbers."""
        return self.read_accounted(fragment, columns, kind, RowLog())

    def read_accounted(
        self, fragment: Fragment, columns: Sequence[str], kind: Kind, account: RowAccount
    ) -> nw.DataFrame[Any]:
        """Read a fragment, with what becomes of its rows on the way."""
        branch, log = self._branch(fragment), RowLog()
        stored = [*branch.schema.names, *([ROW] if branch.numbers_rows else [])]
        names = [name for name in columns if name in stored] or branch.schema.names[:1]
        frame = replace(branch.rows, columns=tuple(names), kind=kind).frame(branch.own(fragment), log)
        log.kept = 0  # those that are kept to the end are counted there
        account.repeat(log)
        if ROW in frame.columns:
            frame = frame.with_columns(nw.col(ROW) + branch.first_row)
        wanted = [name for name in columns if name != ROW] or names[:1]
        kinds = {name: pa.int64() if name == ROW else self.source.schema.field(name).type for name in wanted}
        return frames.conform(frame, pa.schema(kinds | ({ROW: pa.int64()} if ROW in frame.columns else {})))

    def unparsed(self, fragment: Fragment) -> pa.Table:
        """Return the records of a fragment that could not be parsed."""
        branch = self._branch(fragment)
        return branch.rows.reader.unparsed(branch.own(fragment))

    def version(self, fragment: Fragment) -> Hashable:
        """Return what changes with the files of a fragment."""
        branch = self._branch(fragment)
        return branch.rows.reader.version(branch.own(fragment))

    def _branch(self, fragment: Fragment) -> UnionBranch:
        firsts = [branch.first_fragment for branch in self.branches]
        return self.branches[bisect_right(firsts, fragment.index) - 1]


@dataclass(frozen=True)
class Union(PassiveStep):
    """Stands for the steps that rows have gone through in the datasets that they are of.

    Parameters
    ----------
    branches : tuple of tuple of Step
        The steps of each.
    samples : tuple of tuple of Sample
        By which its rows were chosen.
    """

    branches: tuple[tuple[Step, ...], ...]
    samples: tuple[tuple[Sample, ...], ...]

    @property
    def keeps_rows(self) -> bool:  # type: ignore[override]
        return not any(self.samples) and all(step.keeps_rows for steps in self.branches for step in steps)

    @property
    def makes_rows(self) -> bool:  # type: ignore[override]
        return any(step.makes_rows for steps in self.branches for step in steps)

    @property
    def history(self) -> tuple[Step, ...]:
        """The steps of all, but for blocks that were chosen: those of one dataset are not those of all."""
        steps = [step for steps in self.branches for step in history(steps) if not isinstance(step, InBlocks)]
        return (*steps, self)

    @property
    def label(self) -> str:
        return f"union of {len(self.branches)} datasets"


def union(datasets: Sequence[Dataset], missing_columns: str) -> Dataset:
    """Return the rows of datasets as one; see `RowWise.union`."""
    check_one_of("missing_columns", missing_columns, ("error", "null"))
    first = datasets[0]
    for place, dataset in enumerate(datasets):
        if not isinstance(dataset, type(first)):
            raise ConfigError(
                f"union takes datasets, found {class_name(dataset)} at position {place}",
                hint="Make one by an engine: engine.from_arrow(table), engine.from_pandas(frame).",
            )
    if len(datasets) == 1:
        raise ConfigError("union has no other dataset", hint="Write a.union(b), or a.union(b, c).")
    schema = _schema([dataset.schema for dataset in datasets], missing_columns)
    branches, fragments = _numbered(datasets)
    step = Union(tuple(each.steps for each in datasets), tuple(each.reader.samples for each in datasets))
    reader = UnionReader(PreparedSchema(schema), branches=branches)
    return replace(first, reader=reader, fragments=fragments, steps=(step,))


def _numbered(datasets: Sequence[Dataset]) -> tuple[tuple[UnionBranch, ...], tuple[Fragment, ...]]:
    """Return the datasets, each with where it begins, and all of their fragments, numbered on."""
    branches: list[UnionBranch] = []
    fragments: list[Fragment] = []
    index = row = 0
    for dataset in datasets:
        branches.append(UnionBranch(dataset.scan(()), dataset.schema, index, row))
        fragments += [replace(each, index=each.index + index, start=each.start + row) for each in dataset.fragments]
        index += max((each.index + 1 for each in dataset.fragments), default=0)
        row += max((each.start + each.rows for each in dataset.fragments), default=0)
    return tuple(branches), tuple(fragments)


def _schema(schemas: Sequence[pa.Schema], missing: str) -> pa.Schema:
    names = dict.fromkeys(name for schema in schemas for name in schema.names)
    if missing == "error":
        _check_same_columns(schemas, list(names))
    having = {name: [schema.field(name) for schema in schemas if name in schema.names] for name in names}
    return pa.schema([pa.field(name, _type(name, schemas), metadata=note_of(having[name])) for name in names])


def _check_same_columns(schemas: Sequence[pa.Schema], names: Sequence[str]) -> None:
    for place, schema in enumerate(schemas, 1):
        absent = next((name for name in names if name not in schema.names), None)
        if absent is not None:
            raise SchemaDriftError(
                f"column {absent!r} is not in dataset {place} of the union.{did_you_mean(absent, schema.names)}",
                hint='Rename or drop it before, or pass missing_columns="null" to have it null there.',
                column=absent,
            )


def _type(name: str, schemas: Sequence[pa.Schema]) -> pa.DataType:
    made, source = pa.null(), 1
    for place, schema in enumerate(schemas, 1):
        if name not in schema.names:
            continue
        kind = schema.field(name).type
        wider = widen(made, kind)
        if wider is None:
            raise SchemaDriftError(
                f"column {name!r} is {made} in dataset {source} of the union, but {kind} in dataset {place}",
                hint=f'Give both one type before: cast({{{name!r}: "{made}"}}).',
                column=name,
            )
        made, source = wider, source if wider == made else place
    return made
