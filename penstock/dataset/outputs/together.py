"""Several fragments at once into the folders of an output, so that few parts are made of many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import narwhals as nw

from penstock import frames
from penstock.core.errors import DataValueError
from penstock.dataset.tasks import WriteTask, Written, put_aside, put_parts
from penstock.io.fragments import Fragment, row_bytes
from penstock.io.sinks.layout import Layout

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
