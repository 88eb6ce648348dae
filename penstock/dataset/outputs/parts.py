"""Rows to parts: one scan, every row of it accounted for."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import narwhals as nw

from penstock import frames
from penstock.core.errors import DataValueError, RowCountError
from penstock.core.scheduler import map_all
from penstock.dataset.dataset import Dataset
from penstock.dataset.steps import RowLog
from penstock.dataset.tasks import WriteTask, Written, put_aside, put_parts
from penstock.io.fragments import Fragment, row_bytes
from penstock.io.sinks import FileEntry
from penstock.io.sinks.layout import Layout, RowLayout, check_number
from penstock.io.sinks.part_folder import PartFolder
from penstock.io.sinks.part_writer import PartWriter
from penstock.io.sinks.partitions import Partitioning

_TOGETHER = 16
_WAITING_BYTES = 2**31
_SHARE = 6
"""Rows that wait take one part in so many of the memory of a task: those that are read, split and encoded take more."""


def write_parts(
    dataset: Dataset, writer: PartWriter, rows: PartFolder, quarantine: PartFolder, layout: RowLayout
) -> Written:
    """Write the parts of a dataset into two folders; return the files in the order of their rows, and the account.

    Partitions come in the order of their values, null first; within one, rows keep their order.

    Raises
    ------
    ConfigError
        There are more files than a write may make.
    RowCountError
        Rows in are not rows out and those dropped or quarantined.
    """
    total = Written()
    for part in _written(dataset, WriteTask(dataset.scan(), writer, rows, quarantine, layout)):
        total.add(part)
        check_number(len(total.files))
    check_rows(total.log)
    if layout.partitioning is not None:
        total.files = in_order(total.files, layout.partitioning)
    return total


def _written(dataset: Dataset, task: WriteTask) -> Iterator[Written]:
    layout, most = task.layout, min(_WAITING_BYTES, dataset.engine.task_memory // _SHARE)
    together = _together(dataset, most)
    if not isinstance(layout, Layout) or layout.partitioning is None or layout.sort_by or together == 1:
        return map_all(dataset.engine, task, dataset.fragments, label="write")
    groups = [dataset.fragments[place : place + together] for place in range(0, len(dataset.fragments), together)]
    return map_all(dataset.engine, WriteTogetherTask(task, layout, most), groups, label="write")


def _together(dataset: Dataset, most: int) -> int:
    """Return how many fragments a task writes at once: what fits into memory, so that all workers have as many."""
    count = len(dataset.fragments)
    largest = max((fragment.rows for fragment in dataset.fragments), default=0) * row_bytes(dataset.schema)
    fitting = max(1, min(_TOGETHER, most // max(1, largest), count // (2 * dataset.engine.slots)))
    return max(1, math.ceil(count / max(1, math.ceil(count / fitting))))


def in_order(files: Iterable[FileEntry], partitioning: Partitioning) -> list[FileEntry]:
    """Return files by the values of their partitions; those of one stay in their order."""
    files = list(files)
    ranks = partitioning.ranks(posixpath.dirname(entry.path) for entry in files)
    return sorted(files, key=lambda entry: ranks[posixpath.dirname(entry.path)])


def empty_part(writer: PartWriter, folder: PartFolder, layout: Layout) -> list[FileEntry]:
    """Write a part without rows, so that an output without any has columns all the same."""
    name = f"{layout.prefix}-00000"
    path = name if layout.partitioning is None else f"{layout.partitioning.null_folder}/{name}"
    return put_parts(writer, [(path, frames.from_arrow(writer.schema.empty_table()))], folder)


def check_rows(log: RowLog) -> None:
    """Raise RowCountError unless rows in are rows out and those dropped or quarantined for a reason."""
    aside, dropped = sum(log.quarantined.values()), sum(log.dropped.values())
    if log.read != log.kept + dropped + aside:
        raise RowCountError(
            f"{log.read} rows in are not {log.kept} out, {dropped} dropped and {aside} quarantined:"
            f" {log.read - log.kept - dropped - aside} are unaccounted for",
            rows=log.read,
        )


ENOUGH_ROWS = 2**16
"""A part of so many rows takes hardly longer a row to encode than a larger one."""

Waiting = dict[str, list[nw.DataFrame]]
"""Rows by their folders, until there are enough of them for a part."""


@dataclass(frozen=True)
class WriteTogetherTask:
    """Writes the rows of a few fragments, those of one folder together: many small files take long to encode.

    Which rows become a part depends on the rows alone, so that a second attempt makes the same parts. A part has the
    number of the last fragment that it has rows of, or could have.

    Parameters
    ----------
    task : WriteTask
        Writes one of them.
    layout : Layout
        Of the task; it has folders.
    most : int
        Bytes of memory in which rows wait for others of their folders; when they take more, all of them go.
    """

    task: WriteTask
    layout: Layout
    most: int

    def __call__(self, fragments: Sequence[Fragment]) -> Written:
        """Write consecutive fragments."""
        written, waiting, held = Written(), Waiting(), 0
        for fragment in fragments:
            # Parts are slices of a fragment, and one that waits holds the memory of all: nothing is taken off
            held += self._split(fragment, waiting, written)
            if held > self.most or fragment is fragments[-1]:
                ready, held = list(waiting), 0
            else:
                ready = [folder for folder, parts in waiting.items() if sum(map(len, parts)) >= ENOUGH_ROWS]
            try:
                for folder in ready:
                    files = self.layout.files(frames.concat(waiting.pop(folder)), folder, fragment.index)
                    written.files += put_parts(self.task.writer, files, self.task.folder)
            except DataValueError:
                for each in fragments:  # one of them is told with the file and the row
                    self.task(each)
                raise
        return written

    def _split(self, fragment: Fragment, waiting: Waiting, written: Written) -> int:
        """Put the rows of a fragment with those that wait, and return how many bytes they take."""
        schema = self.layout.whole(self.task.writer.schema)

        def split(frame: nw.DataFrame) -> int:
            rows = frames.conform(frame, schema)
            for folder, part in self.layout.split(rows, schema):
                waiting.setdefault(folder, []).append(part)
            return max(int(rows.estimated_size()), len(rows) * row_bytes(schema))

        size = self.task.scan.convert(fragment, written.log, split)
        put_aside(written, fragment, self.task.quarantine, self.layout.prefix)
        return size
