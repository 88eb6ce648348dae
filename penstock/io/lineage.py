"""What files a dataset reads, for the record of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from penstock.core.recording import active_recorder
from penstock.core.redaction import redact
from penstock.io.fragments import Fragment

_staged: ContextVar[bool] = ContextVar("staged", default=False)


@contextmanager
def staged_inputs() -> Iterator[None]:
    """Take no note of files that are read inside: they are rows on their way, not what a run was given."""
    before = _staged.set(True)
    try:
        yield
    finally:
        _staged.reset(before)


def note_inputs(fragments: Sequence[Fragment]) -> None:
    """Take note of the files of fragments, where anything is recorded: path, bytes, time of change, rows."""
    recorder = active_recorder()
    if recorder is None or _staged.get():
        return
    files: dict[str, dict[str, Any]] = {}
    for piece in (piece for fragment in fragments for piece in fragment.pieces if piece.table is None):
        facts = {"path": redact(piece.path), "bytes": piece.size, "mtime": piece.mtime, "rows": 0}
        files.setdefault(piece.path, facts)["rows"] += piece.rows
    recorder.inputs += files.values()
