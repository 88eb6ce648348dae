"""What runs on a worker: one picklable object a kind of work, called with one fragment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import narwhals as nw
import pyarrow as pa

from penstock import devices, frames
from penstock.core.errors import DataValueError, PenstockError
from penstock.core.names import BLOCK
from penstock.core.notices import get_logger
from penstock.core.recording import count, measure
from penstock.dataset import steps
from penstock.dataset.steps import RowLog, Step
from penstock.frames import ROW, Kind, coded
from penstock.io.fragments import SLICE_ROWS, Fragment, halves
from penstock.io.memory_errors import is_out_of_memory, size_of
from penstock.io.sinks import FileEntry
from penstock.io.sinks.layout import Layout, RowLayout
from penstock.io.sinks.parquet import ParquetWriter
from penstock.io.sinks.part_folder import PartFolder
from penstock.io.sinks.part_writer import PartWriter
from penstock.io.sources.base import Reader
from penstock.statistics.base import State, Statistic, merges_slices
from penstock.statistics.distinct.partitionable import Absent, as_partitionable
from penstock.statistics.distinct.top_k import TopK

T = TypeVar("T")
logger = get_logger(__name__)


@dataclass(frozen=True)
class ReadTask:
    """Reads the columns that are needed and applies the steps that matter for them."""

    reader: Reader
    steps: tuple[Step, ...]
    columns: tuple[str, ...]
    kind: Kind = "cpu"

    def plan(self) -> tuple[tuple[Step, ...], tuple[str, ...]]:
        """Return the steps that are run and the columns that are read, in the order of the schema."""
        subset, need = steps.prune(self.steps, self.columns)
        return subset, in_order(need, self.reader)

    def frame(self, fragment: Fragment, log: RowLog) -> nw.DataFrame:
        """Return the rows of a fragment after all steps, in the columns asked for.

        Raises
        ------
        PenstockError
            What a step found wrong, with the file, and the row where it can be told.
        """
        return self.convert(fragment, log, lambda frame: frame)

    def convert(self, fragment: Fragment, log: RowLog, function: Callable[[nw.DataFrame], T]) -> T:
        """Return what `function` makes of the frame; bad values that it finds are told with file and row."""
        devices.use(self.kind)

        subset, columns = self.plan()

        def attempt(log: RowLog, extra: tuple[str, ...]) -> T:
            def rows(part: Fragment, log: RowLog) -> nw.DataFrame:
                frame = self.reader.read_accounted(part, list(dict.fromkeys((*columns, *extra))), self.kind, log)
                return steps.run(subset, frame, log)

            made = in_parts(fragment, rows, log, lambda: not any(step.makes_rows for step in subset))
            frame = frames.concat(made)
            log.kept += len(frame)
            count("rows_out", len(frame))
            try:
                return function(frame.select(list(self.columns)))
            except DataValueError as error:
                raise steps.with_row(error, frame) from error.__cause__

        with coded.task(), steps.host_types(self.steps, self.reader.source.schema, self.kind):
            return located(fragment, attempt, log)


def located(fragment: Fragment, attempt: Callable[[RowLog, tuple[str, ...]], T], log: RowLog) -> T:
    """Return what `attempt` gives; on bad values run it again with row numbers, to name the file and row."""
    try:
        return attempt(log, ())
    except DataValueError as error:
        if error.predicate is None or error.row is not None:
            raise steps.placed(error, fragment) from error.__cause__
    except PenstockError as error:
        raise steps.placed(error, fragment) from error.__cause__
    try:
        return attempt(RowLog(), (ROW,))
    except PenstockError as error:
        raise steps.placed(error, fragment) from error.__cause__


def in_parts(
    fragment: Fragment, work: Callable[[Fragment, RowLog], T], log: RowLog, divisible: Callable[[], bool]
) -> list[T]:
    """Return what `work` makes of a fragment, or of its parts where memory does not suffice for the whole."""
    own = RowLog()
    try:
        made = work(fragment, own)
    except Exception as error:
        parts = halves(fragment) if is_out_of_memory(error) and divisible() else []
        if len(parts) < 2:
            raise
        logger.warning("%s do not fit in memory (%s), and are worked on in two parts", size_of(fragment), error)
    else:
        log.repeat(own)
        return [made]
    return [each for part in parts for each in in_parts(part, work, log, divisible)]


def in_order(columns: Iterable[str], reader: Reader) -> tuple[str, ...]:
    """Return columns in the order of the schema."""
    order = {name: place for place, name in enumerate([*reader.source.schema.names, ROW, BLOCK])}
    return tuple(sorted(columns, key=order.__getitem__))


@dataclass(frozen=True)
class Probe:
    """Statistics of the rows as they are before the step at `position`; at the end, when that is how many there are.

    Attributes
    ----------
    retention : mapping of str to TopK
        By column, what is asked for of its counted values, if that is not all.
    parts : mapping of str to int
        By column, in how many parts its counted values are merged, if there are several.
    """

    position: int
    statistics: tuple[Statistic, ...]
    retention: Mapping[str, TopK] = field(default_factory=dict)
    parts: Mapping[str, int] = field(default_factory=dict)

    @property
    def columns(self) -> frozenset[str]:
        """What the statistics read."""
        return frozenset(name for statistic in self.statistics for name in statistic.reads)


@dataclass(frozen=True)
class SummariseTask:
    """Gives the states of statistics at several places along the steps, from one read of a fragment."""

    reader: Reader
    steps: tuple[Step, ...]
    probes: tuple[Probe, ...]
    kind: Kind = "cpu"

    def plan(self) -> tuple[list[tuple[Step, ...]], tuple[str, ...]]:
        """Return the steps that are run ahead of each probe, and the columns that are read."""
        ahead: list[tuple[Step, ...]] = []
        need: frozenset[str] = frozenset()
        starts = [0, *(probe.position for probe in self.probes)]
        for start, probe in reversed(list(zip(starts, self.probes, strict=False))):
            subset, need = steps.prune(self.steps[start : probe.position], need | probe.columns)
            ahead.append(subset)
        return ahead[::-1], in_order(need, self.reader)

    def __call__(self, fragment: Fragment) -> tuple[list[list[State]], RowLog]:
        """Summarise one fragment: the states of each probe, and what became of the rows."""
        devices.use(self.kind)
        log = RowLog()
        with steps.host_types(self.steps, self.reader.source.schema, self.kind):
            states = located(fragment, partial(self._attempt, fragment), log)
        log.tables.clear()
        log.gathered.clear()
        return states, log

    def _attempt(self, fragment: Fragment, log: RowLog, extra: tuple[str, ...]) -> list[list[State]]:
        parts = in_parts(fragment, partial(self._slices, fragment, extra), log, self._is_divisible)
        slices = [states for part in parts for states in part]
        return slices[0] if len(slices) == 1 else self.merge([(states, RowLog()) for states in slices])[0]

    def _is_divisible(self) -> bool:
        # Slices of parts are those of the whole only where no step before has left a row out.
        aligned = all(step.keeps_rows for before in self.plan()[0] for step in before)
        return aligned and all(merges_slices(statistic) for probe in self.probes for statistic in probe.statistics)

    def _slices(
        self, whole: Fragment, extra: tuple[str, ...], fragment: Fragment, log: RowLog
    ) -> list[list[list[State]]]:
        """Return the states of each probe over a whole fragment, or over each slice of a part of it."""
        ahead, columns = self.plan()
        frame = self.reader.read_accounted(fragment, list(dict.fromkeys((*columns, *extra))), self.kind, log)
        found = []
        for before, probe in zip(ahead, self.probes, strict=True):
            frame = steps.run(before, frame, log)
            starts = range(0, len(frame), SLICE_ROWS)
            slices = [frame] if fragment is whole else [frame[start : start + SLICE_ROWS] for start in starts]
            try:
                found.append([[statistic.summarise(rows) for statistic in probe.statistics] for rows in slices])
            except DataValueError as error:
                raise steps.with_row(error, frame) from error.__cause__
        log.kept += len(frame)
        count("rows_out", len(frame))
        return [list(states) for states in zip(*found, strict=True)]

    def merge(self, parts: list[tuple[list[list[State]], RowLog]]) -> tuple[list[list[State]], RowLog]:
        """Join what several fragments gave, in their order; the list is emptied, what is in it stays as it is."""
        log = RowLog()
        for _, other in parts:
            log.add(other)
        states_of_probes = [
            [[states[place][index] for states, _ in parts] for index in range(len(probe.statistics))]
            for place, probe in enumerate(self.probes)
        ]
        parts.clear()
        merged = [
            [_merged(statistic, states) for statistic, states in zip(probe.statistics, of_probe, strict=True)]
            for probe, of_probe in zip(self.probes, states_of_probes, strict=True)
        ]
        return merged, log


def _merged(statistic: Statistic, states: list[State]) -> State:
    """Merge states, unless they are of parts that have nothing of the statistic."""
    return states[0] if states[0] is Absent.ABSENT else as_partitionable(statistic).merge_consuming(states)


@dataclass(frozen=True)
class CollectTask:
    """Gives the rows of one fragment as Arrow."""

    scan: ReadTask
    schema: pa.Schema

    def __call__(self, fragment: Fragment) -> pa.Table:
        """Read one fragment."""
        frame = self.scan.frame(fragment, RowLog())
        return frames.to_arrow(frame, self.schema)


@dataclass
class Written:
    """The files that one fragment became, and what became of its rows."""

    files: list[FileEntry] = field(default_factory=list)
    quarantine: list[FileEntry] = field(default_factory=list)
    log: RowLog = field(default_factory=RowLog)

    def add(self, other: Written) -> None:
        """Add what another fragment became."""
        self.files += other.files
        self.quarantine += other.quarantine
        self.log.add(other.log)


@dataclass(frozen=True)
class WriteTask:
    """Writes the rows of one fragment as one part, or as its layout has it, and those set aside in Parquet.

    Parameters
    ----------
    scan : ReadTask
    writer : PartWriter
        Its schema is that of the files: all columns of the scan but those that folders name.
    folder : PartFolder
    quarantine : PartFolder, optional
        Where rows that are set aside go; unless given they only count.
    layout : RowLayout
    """

    scan: ReadTask
    writer: PartWriter
    folder: PartFolder
    quarantine: PartFolder | None
    layout: RowLayout = field(default_factory=Layout)

    def __call__(self, fragment: Fragment) -> Written:
        """Write one fragment; a second attempt at it replaces the first."""
        written = Written()

        def write(frame: nw.DataFrame) -> list[FileEntry]:
            schema = self.layout.whole(self.writer.schema)
            return put_parts(
                self.writer, self.layout.parts(frames.conform(frame, schema), fragment.index, schema), self.folder
            )

        written.files = self.scan.convert(fragment, written.log, write)
        put_aside(written, fragment, self.quarantine, self.layout.prefix)
        return written


def put_aside(written: Written, fragment: Fragment, folder: PartFolder | None, prefix: str) -> None:
    """Write the rows of a fragment that were set aside where there is a folder for them, and let go of them."""
    if written.log.tables and folder is not None:
        set_aside = frames.from_arrow(pa.concat_tables(written.log.tables, promote_options="default"))
        written.quarantine += put_parts(ParquetWriter(None), [(f"{prefix}-{fragment.index:05d}", set_aside)], folder)
    written.log.tables.clear()


def put_parts(writer: PartWriter, parts: Iterable[tuple[str, nw.DataFrame]], folder: PartFolder) -> list[FileEntry]:
    """Write the rows of each part, under its name and the ending of the format."""
    files = []
    for name, frame in parts:
        with measure("write"):
            encode = partial(_encode, writer, frame)
            files.append(folder.put(name + writer.ending, encode, rows=len(frame), kind=writer.kind))
        count("bytes_out", files[-1].bytes)
    return files


def _encode(writer: PartWriter, frame: nw.DataFrame, path: str) -> None:
    with measure("encode"):
        writer(frame, path)
