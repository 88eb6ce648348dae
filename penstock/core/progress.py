"""Progress of scans and training: told by engines, shown by whoever runs them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from importlib import import_module
from typing import Any

from penstock.core.notices import get_logger
from penstock.core.redaction import presentable

logger = get_logger(__name__)


class Progress:
    """Draws nothing, and logs what is worth a line; the base of those that draw."""

    def track(self, label: str, total: int) -> AbstractContextManager[Track]:
        """Follow one scan or training of `total` parts."""
        return nullcontext(followed(Track(), label, total))

    def note(self, text: str) -> None:
        """Tell something worth a line: a training starts again, a fragment takes far longer than the others."""
        logger.warning("%s", text)

    def info(self, text: str) -> None:
        """Tell how far something is that takes long: the trials of a search."""
        logger.info("%s", text)


class Track:
    """One scan or training under way."""

    def advance(self, parts: int = 1, detail: str = "") -> None:
        """More parts are done."""


class RichProgress(Progress):
    """Draws a live bar a scan on stderr; plain lines where stderr is not a terminal."""

    def __init__(self, console: Any = None) -> None:
        from penstock.core.console import PlainConsole

        self.console = console or PlainConsole(stderr=True)

    @contextmanager
    def track(self, label: str, total: int) -> Iterator[Track]:
        """Draw a bar until the work ends; it stays on the screen with its time."""
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        columns = (
            TextColumn("{task.description:<28}", markup=False),
            BarColumn(32),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[detail]}", markup=False),
        )
        with Bars(*columns, console=self.console) as bars:
            yield followed(_Bar(bars, bars.add_task(presentable(label), total=total, detail="")), label, total)

    def note(self, text: str) -> None:
        """Print a line above the bar."""
        self.console.print(presentable(text), style="yellow", markup=False, emoji=False, highlight=False)

    def info(self, text: str) -> None:
        """Print a line."""
        self.console.print(presentable(text), markup=False, emoji=False, highlight=False)


def usual_progress() -> Progress:
    """Return the progress of an engine that is given none: bars in IPython and its notebooks, else log lines."""
    shell = sys.modules["IPython"].get_ipython() if sys.modules.get("IPython") else None
    if hasattr(shell, "kernel"):
        return import_module("penstock.report.notebook.progress").NotebookProgress(shell)
    return Progress() if shell is None else RichProgress()


class _Bar(Track):
    def __init__(self, bars: Any, task: Any) -> None:
        self._bars, self._task = bars, task

    def advance(self, parts: int = 1, detail: str = "") -> None:
        self._bars.update(self._task, advance=parts, detail=presentable(detail))


Follower = Callable[[str, int, int], object]
"""Is given the label of a scan or training, how many parts it has, and how many more are done."""
_follower: ContextVar[Follower | None] = ContextVar("follower", default=None)


@contextmanager
def following(follower: Follower) -> Iterator[None]:
    """Have a function follow all scans and trainings inside, whatever else shows their progress.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> done = []
    >>> with following(lambda label, total, parts: done.append((label, total, parts))):
    ...     _ = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1, 2]})).to_polars()
    >>> done
    [('read', 1, 0), ('read', 1, 1)]
    """
    token = _follower.set(follower)
    try:
        yield
    finally:
        _follower.reset(token)


def followed(track: Track, label: str, total: int) -> Track:
    """Return a track that tells who follows, too; every progress gives such a one."""
    follower = _follower.get()
    if follower is None:
        return track
    follower(label, total, 0)
    return _Followed(track, follower, label, total)


class _Followed(Track):
    def __init__(self, track: Track, follower: Follower, label: str, total: int) -> None:
        self._track, self._follower, self._label, self._total = track, follower, label, total

    def advance(self, parts: int = 1, detail: str = "") -> None:
        self._track.advance(parts, detail)
        self._follower(self._label, self._total, parts)
