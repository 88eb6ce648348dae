"""Progress in a notebook: one output of a cell, with a bar for each of its scans and trainings."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any
from uuid import uuid4

from penstock.core.progress import Progress, Track, followed
from penstock.core.redaction import presentable
from penstock.report.notebook.pieces import FEW, render

_SECONDS_BETWEEN = 0.1
"""Boosting rounds may be many in a second: no more drawings than eyes can follow are sent."""


class NotebookProgress(Progress):
    """Draws on the display of a kernel's shell, and needs no widgets; what has the same label shares a bar."""

    def __init__(self, shell: Any) -> None:
        self._shell, self.lock = shell, Lock()
        self._cell, self._output, self._drawn = None, "", 0.0
        self._lines: dict[str, _Line] = {}

    @contextmanager
    def track(self, label: str, total: int) -> Iterator[Track]:
        """Draw a bar until the work ends; it stays in the output with its time."""
        began, line = time.monotonic(), self._line(label)
        with self.lock:
            line.total, line.runs, line.under_way = line.total + total, line.runs + 1, line.under_way + 1
        self.draw()
        try:
            yield followed(line, label, total)
            with self.lock:
                line.under_way -= 1
        finally:
            line.seconds += time.monotonic() - began
            self.draw()

    def note(self, text: str) -> None:
        """Draw a line between the bars."""
        self._line(text)
        self.draw()

    def info(self, text: str) -> None:
        """Draw a line in place of the one before."""
        self._line("").label = presentable(text)
        self.draw()

    def draw(self, *, now: bool = True) -> None:
        """Send all lines, in place of those that the cell shows."""
        with self.lock:
            if not now and time.monotonic() < self._drawn + _SECONDS_BETWEEN:
                return
            lines, is_first = list(self._lines.values()), not self._output
            self._output, self._drawn = self._output or uuid4().hex, time.monotonic()
            html = render("progress", lines=lines[-FEW:], before=len(lines[:-FEW]))
            text = "\n".join(" ".join(filter(None, line.texts)) for line in lines[-FEW:])
            data, place = {"text/plain": text, "text/html": html}, {"display_id": self._output}
            self._shell.display_pub.publish(data, transient=place, update=not is_first)

    def _line(self, key: str) -> _Line:
        """Return the line of this name, a new one if the cell has none, and put it last."""
        with self.lock:
            if self._cell != self._shell.execution_count:
                self._cell, self._output, self._lines = self._shell.execution_count, "", {}
            line = self._lines.pop(key) if key in self._lines else _Line(self, key)
            self._lines[key] = line
            return line


class _Line(Track):
    def __init__(self, progress: NotebookProgress, label: str) -> None:
        self._progress, self.label, self.detail = progress, presentable(label), ""
        self.done = self.total = self.runs = self.under_way = 0
        self.seconds = 0.0

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """Its name, how much of it is done, the seconds that it took, and what was told last."""
        name = f"{self.label} \u00d7 {self.runs}" if self.runs > 1 else self.label
        took = f"{self.seconds:.1f} s" if self.runs and not self.under_way else ""
        return name, f"{self.done:,}/{self.total:,}" if self.total else "", took, self.detail

    def advance(self, parts: int = 1, detail: str = "") -> None:
        with self._progress.lock:
            self.done, self.detail = self.done + parts, presentable(detail)
        self._progress.draw(now=False)
