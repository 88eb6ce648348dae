"""Records of text files that cannot be parsed: found by halving, blanked out of the text, told with their places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa

from penstock.core.errors import BadRowsError, ConfigError
from penstock.core.notices import get_logger
from penstock.io.fragments import BadRecord, Fragment

logger = get_logger(__name__)

FILE, LINE, TEXT = "_corrupt_file", "_corrupt_line", "_corrupt_record"
MOST_CHARACTERS = 4_000
"""Of the text of a bad record that is kept."""
_SHOWN = 3


class BadSpan(NamedTuple):
    """The bounds of a record that cannot be parsed, and how many rows stand before it."""

    begin: int
    end: int
    row: int


def check_limit(limit: object) -> None:
    """Raise ConfigError unless `limit` is a number of records."""
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        raise ConfigError(
            f"max_bad_records is {limit!r}, expected how many records may be set aside, 0 or more",
            hint="0 ends the read at the first record that cannot be parsed.",
        )


def check_free(names: Iterable[str], limit: int) -> None:
    """Raise ConfigError where the data has a column that the quarantine has for bad records."""
    clashes = sorted({FILE, LINE, TEXT} & set(names)) if limit else []
    if clashes:
        raise ConfigError(
            f"the data has a column {clashes[0]!r}, which the quarantine of bad records has for itself",
            hint="Rename the column, declare a schema without it, or leave max_bad_records at 0.",
            column=clashes[0],
        )


def find_bad(data: bytes, ends: Sequence[int], rows: Callable[[bytes], int], limit: int) -> list[BadSpan]:
    r"""Return the first records that cannot be parsed, at most one more than `limit`.

    Runs of records that fail are halved until they parse or are one record, so that few bad ones cost the time of a few
    times parsing it all.

    Parameters
    ----------
    ends : sequence of int
        Where the records end.
    rows : callable
        Parses a text of whole records and returns how many rows it has; ArrowInvalid unless all can be parsed.

    Examples
    --------
    >>> def rows(text):
    ...     if b"x" in text:
    ...         raise pa.ArrowInvalid("x")
    ...     return text.count(b"\n")
    >>> find_bad(b"1\n2\nx\n3\nx\n", [2, 4, 6, 8, 10], rows, limit=1)
    [BadSpan(begin=4, end=6, row=2), BadSpan(begin=8, end=10, row=3)]
    """
    bad: list[BadSpan] = []
    before, waiting = 0, [(0, len(ends))]
    while waiting and len(bad) <= limit:
        low, high = waiting.pop()
        begin, end = ends[low - 1] if low else 0, ends[high - 1]
        try:
            before += rows(data[begin:end])
        except pa.ArrowInvalid:
            middle = (low + high) // 2
            if middle == low:
                bad.append(BadSpan(begin, end, before))
            else:
                waiting += [(middle, high), (low, middle)]
    return bad


def blank(data: bytes, bounds: Iterable[tuple[int, int]], filler: bytes) -> bytes:
    r"""Return `data` with empty lines in place of records, so that all others are where they were.

    Examples
    --------
    >>> blank(b"1\n2,3\n4\n", [(2, 6)], b" ")
    b'1\n   \n4\n'
    """
    text = bytearray(data)
    for begin, end in bounds:
        text[begin:end] = filler * (end - begin - 1) + b"\n"
    return bytes(text)


def shorten_record(record: bytes) -> str:
    r"""Return the text of a record, with what is not UTF-8 as ``\xff``, cut after some kB."""
    text = record.decode(errors="backslashreplace").rstrip("\r\n")
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "..."


def quarantined(records: Sequence[tuple[str, BadRecord]]) -> pa.Table:
    """Return records with their files as they are written aside.

    Columns are ``row`` (int64, null: they are no rows), ``reason``, ``_corrupt_file``, ``_corrupt_line`` (int64, from
    1) and ``_corrupt_record``, the text.
    """
    columns = {
        "row": pa.nulls(len(records), pa.int64()),
        "reason": pa.array([record.reason for _, record in records], pa.string()),
        FILE: pa.array([path for path, _ in records], pa.string()),
        LINE: pa.array([record.line for _, record in records], pa.int64()),
        TEXT: pa.array([record.text for _, record in records], pa.string()),
    }
    return pa.table(columns)


def too_many(records: Sequence[tuple[str, BadRecord]], limit: int) -> BadRowsError:
    """Return the error for more bad records than are allowed, of which `records` has the first ones of the dataset.

    It tells of the first that are too many and of no later ones, so that it does not depend on how files are cut.
    """
    first = records[: limit + 1]
    examples: dict[str, str] = {}
    for path, record in first:
        examples.setdefault(record.reason, f"{path}, line {record.line}: {record.reason}: {record.text!r:.90}")
    return BadRowsError(
        f"more than the {limit} records that max_bad_records allows cannot be parsed; the first {len(first)}:"
        f" {_counts(first)}. {'; '.join(list(examples.values())[:_SHOWN])}",
        hint="Repair the files, declare other types, or raise max_bad_records. "
        "A read that ends keeps none of them aside; within the limit the write puts them into the folder that its "
        "quarantine= names, or <path>.quarantine.",
        path=first[0][0],
    )


def log_unparsed(fragments: Iterable[Fragment]) -> None:
    """Log how many records are set aside, and where the first one is."""
    records = [(piece.path, record) for fragment in fragments for piece in fragment.pieces for record in piece.bad]
    if records:
        path, first = records[0]
        logger.warning(
            "%d record(s) cannot be parsed and are set aside: %s; the first is %s, line %d",
            len(records), _counts(records), path, first.line,
        )  # fmt: skip


def _counts(records: Iterable[tuple[str, BadRecord]]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in Counter(r.reason for _, r in records).items())
