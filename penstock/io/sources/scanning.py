"""How text files are planned: opened, cut to ranges, and all of these parsed once, on the workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from penstock.core.scheduler import Scheduler, map_all
from penstock.io.fragments import BadRecord
from penstock.io.sources.bad_records import blank, find_bad, shorten_record, too_many
from penstock.io.sources.files import InputFile
from penstock.io.sources.ranges import Range, check_characters, count_lines, line_at, odd_characters, read_bytes
from penstock.io.sources.text import Scanned, TextSource

_LABEL = "types and rows"
_EXPANSION = 4
"""Bytes in memory for a byte of text, about: 128 MiB fragments are made of ranges of 32 MiB."""


def open_files(
    scheduler: Scheduler, source: TextSource, files: Sequence[InputFile], fragment_bytes: int
) -> list[Range]:
    """Return the ranges of all files, in order, whose rows take about a quarter of `fragment_bytes` in memory."""
    task = partial(source.open, step=max(1, fragment_bytes // _EXPANSION))
    return [item for items in map_all(scheduler, task, files, label=_LABEL) for item in items]


def scan_ranges(scheduler: Scheduler, task: ParseTask, items: Sequence[Range]) -> list[Scanned]:
    """Return what parsing each range tells, in order.

    Raises
    ------
    BadRowsError
        There are more bad records than may be set aside.
    """
    scanned: list[Scanned] = []
    bad: list[tuple[str, BadRecord]] = []
    for result in map_all(scheduler, task, items, label=_LABEL):
        scanned.append(result)
        bad += [(result.range.file.path, record) for record in result.bad]
        if len(bad) > task.max_bad_records:
            raise too_many(bad, task.max_bad_records)
    return scanned


@dataclass(frozen=True)
class ParseTask:
    """Parses a range; run by the workers.

    Parameters
    ----------
    source : TextSource
    columns : tuple of str or None
        Whose types are guessed; None where they are declared.
    max_bad_records : int
        How many records of the dataset may be set aside; of a range with more, the first ones are told and no rows.
    """

    source: TextSource
    columns: tuple[str, ...] | None = None
    max_bad_records: int = 0

    def __call__(self, item: Range) -> Scanned:
        """Return rows and types of the range."""
        data = read_bytes(self.source.storage, item.file, item.begin, item.end)
        if not self.max_bad_records:
            return self._scan(item, data)
        try:
            check_text(data)
            rows, guesses = self.source.try_scan(item, data, self.columns)
        except pa.ArrowInvalid:
            return self._scan_without(self._bad_records(item, data), item, data)
        self.source.check_end(item, data)
        return Scanned(item, item.begin + len(data), rows, guesses)

    def _scan(self, item: Range, data: bytes) -> Scanned:
        check_characters(self.source.storage, item, data)
        return Scanned(item, item.begin + len(data), *self.source.scan(item, data, self.columns))

    def _bad_records(self, item: Range, data: bytes) -> tuple[BadRecord, ...]:
        def rows(text: bytes) -> int:
            check_text(text)
            return self.source.count_rows(text, item.names)

        records: list[BadRecord] = []
        line, last = 0, 0
        for begin, end, row in find_bad(data, self.source.record_ends(data), rows, self.max_bad_records):
            line = line or line_at(self.source.storage, item.file.path, item.begin)
            line, last = line + count_lines(data[last:begin]), begin
            record = data[begin:end]
            reason = odd_characters(record) or self.source.reason(record, item.names)
            records.append(BadRecord(item.begin + begin, item.begin + end, line, row, reason, shorten_record(record)))
        return tuple(records)

    def _scan_without(self, bad: tuple[BadRecord, ...], item: Range, data: bytes) -> Scanned:
        if len(bad) > self.max_bad_records:
            return Scanned(item, item.begin + len(data), 0, {}, bad)
        self.source.check_end(item, data)  # its record may be a bad one, but where it ends is not known
        rest = blank(data, [(record.begin - item.begin, record.end - item.begin) for record in bad], self.source.filler)
        return replace(self._scan(item, rest), bad=bad)


def check_text(data: bytes) -> None:
    """Raise ArrowInvalid, as a parser does, unless `data` is UTF-8 without NUL."""
    problem = odd_characters(data)
    if problem is not None:
        raise pa.ArrowInvalid(problem)
