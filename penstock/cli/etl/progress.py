"""Progress of a run, whose lines begin with the output that they are of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from penstock.core.progress import Progress, Track


class OutputProgress(Progress):
    """Tells another progress, with the name of the output that is being written in front."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._prefix = progress, ""

    @contextmanager
    def of(self, output: str) -> Iterator[None]:
        """Name what is told meanwhile after an output."""
        self._prefix = f"{output}: "
        yield
        self._prefix = ""

    def track(self, label: str, total: int) -> AbstractContextManager[Track]:
        """Follow one scan or training of `total` parts."""
        return self._progress.track(f"{self._prefix}{label}", total)

    def note(self, text: str) -> None:
        """Tell something worth a line."""
        self._progress.note(f"{self._prefix}{text}")

    def info(self, text: str) -> None:
        """Tell how far something is."""
        self._progress.info(f"{self._prefix}{text}")
