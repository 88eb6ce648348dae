"""The task of a scan that first asks for the states of a fragment, and keeps those that it had to compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.dataset.state_cache.fingerprints import NoFingerprintError, fingerprint
from penstock.dataset.state_cache.state_cache import StateCache
from penstock.dataset.state_cache.state_files import as_lists
from penstock.dataset.steps import RowLog, Step, prune
from penstock.dataset.tasks import Probe, SummariseTask
from penstock.frames import ROW
from penstock.io.fragments import Fragment
from penstock.io.sources.base import storage_of
from penstock.statistics.base import State

Summary = tuple[list[list[State]], RowLog]

_LOGGED = ("read", "kept", "dropped", "quarantined", "nulled")


@dataclass(frozen=True)
class CachedSummaries:
    """Gives what a `SummariseTask` gives; a fragment whose states are all kept is not read.

    Parameters
    ----------
    work : SummariseTask
    cache : StateCache
    keys : tuple of tuple of str
        The fingerprint of each statistic of each probe, with all that its state follows from but the fragment.
    steps_key : str
        That of what becomes of rows.
    is_numbered : bool
        Whether the numbers of rows matter, so that a fragment is another one where it begins elsewhere.
    """

    work: SummariseTask
    cache: StateCache
    keys: tuple[tuple[str, ...], ...]
    steps_key: str
    is_numbered: bool

    @classmethod
    def of(cls, work: SummariseTask, cache: StateCache) -> CachedSummaries:
        """Return the task with its keys.

        Raises
        ------
        NoFingerprintError
            A step or a statistic is of code that cannot be compared, a function say.
        """
        if storage_of(work.reader.source) is None:
            raise NoFingerprintError("rows that are in no file")
        ahead, columns = work.plan()
        run = [step for before in ahead for step in before]
        source = fingerprint(work.reader, work.kind)
        keys = [
            [fingerprint(source, *_before(work, probe), each) for each in probe.statistics] for probe in work.probes
        ]
        is_numbered = ROW in columns or bool(work.reader.samples)
        return cls(work, cache, tuple(map(tuple, keys)), fingerprint(source, run), is_numbered)

    @property
    def probes(self) -> tuple[Probe, ...]:
        """What is gathered where."""
        return self.work.probes

    def __call__(self, fragment: Fragment) -> Summary:
        """Return the states of one fragment, and what became of its rows."""
        rows = self._rows_key(fragment)
        kept: list[list[Any]] = [[self.cache.get(fingerprint(rows, key)) for key in keys] for keys in self.keys]
        log = self.cache.get(fingerprint(rows, self.steps_key))
        missing = [[place for place, state in enumerate(states) if state is None] for states in kept]
        if log is not None and not any(missing):
            return kept, RowLog(**log, cached=log["read"])
        if log is None:  # what becomes of rows is known when every statistic is computed, and not before
            missing = [list(range(len(states))) for states in kept]
        computed, counted = replace(self.work, probes=self._only(missing))(fragment)
        for place, (wanted, states) in enumerate(zip(missing, computed, strict=True)):
            for number, state in zip(wanted, states, strict=True):
                kept[place][number] = as_lists(state)
                self.cache.put(fingerprint(rows, self.keys[place][number]), kept[place][number])
        if log is not None:
            return kept, RowLog(**log)
        self.cache.put(fingerprint(rows, self.steps_key), {name: getattr(counted, name) for name in _LOGGED})
        return kept, counted

    def merge(self, parts: list[Summary]) -> Summary:
        """Join what several fragments gave, in their order; the list is emptied."""
        return self.work.merge(parts)

    def _only(self, wanted: Sequence[Sequence[int]]) -> tuple[Probe, ...]:
        return tuple(
            replace(probe, statistics=tuple(probe.statistics[number] for number in numbers))
            for probe, numbers in zip(self.work.probes, wanted, strict=True)
        )

    def _rows_key(self, fragment: Fragment) -> str:
        """Return the fingerprint of the rows of a fragment: of files as they are now, and of which of their rows.

        Raises
        ------
        IncompleteInputError
            A file is not the one that was planned.
        """
        version = self.work.reader.version(fragment)
        if version is None:
            storage = storage_of(self.work.reader.source)
            assert storage is not None, "rows that are in no file are not kept"
            for piece in fragment.pieces:
                storage.check_unchanged(piece)
        start = fragment.start if self.is_numbered else None
        return fingerprint(version, start, [replace(piece, mtime=0.0) for piece in fragment.pieces])


def _before(work: SummariseTask, probe: Probe) -> tuple[Step, ...]:
    """Return the steps before a probe that matter to what it gathers."""
    return prune(work.steps[: probe.position], tuple(probe.columns))[0]
