"""Cached states of statistics by fragment: the method of a dataset, and the task of a scan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from penstock.core.errors import ConfigError
from penstock.core.notices import get_logger
from penstock.dataset.state_cache.fingerprints import NoFingerprintError, fingerprint
from penstock.dataset.state_cache.state_cache import StateCache
from penstock.dataset.state_cache.state_files import as_lists
from penstock.dataset.steps import RowLog, Step, prune
from penstock.dataset.tasks import Probe, SummariseTask
from penstock.frames import ROW
from penstock.io.fragments import Fragment
from penstock.io.sources.base import storage_of

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.dataset.dataset import Dataset
    from penstock.dataset.hash_partitioned import Summariser, Summary
    from penstock.dataset.tasks import SummariseTask

logger = get_logger(__name__)


class CachingStates:
    """The part of a dataset that says where states of its fragments are kept."""

    def cache_states(
        self, location: str | Path, *, max_bytes: int | str = "10 GiB", storage_options: Mapping[str, Any] | None = None
    ) -> Dataset:
        """Return the dataset, of which every scan keeps what it has gathered of each fragment, and reads the rest.

        A fit, a description or a check of a directory that has grown reads the new files, and those that were changed;
        of the others it takes what it gathered before. No result depends on what is kept.

        Parameters
        ----------
        location : str or Path
            A folder, or the URL of one, which may be shared by any number of datasets, runs and workers; on a cluster
            all workers have to reach it.
        max_bytes : int or str, default="10 GiB"
            What it may hold: what was used longest ago, in stores written longest ago, is removed after a scan.
        storage_options : mapping, optional
            Passed to fsspec for a URL; never shown in a message.

        Raises
        ------
        ConfigError
            The rows are in no files, or `max_bytes` is no size.
        OutputError
            The folder cannot be made.

        Notes
        -----
        A state is known by the path, size and times of its file, the rows of it, the steps before and what they have
        learned, the statistic, and the code of each. A file that lies between others may shift those below a fragment's
        size that it is put together with; those above are cut by themselves. Steps that are functions cannot be
        compared, so that scans behind `map_partitions` read everything, and a warning says so. A fit whose columns have
        very many values estimates how many from a sample of the rows, of old files too.

        Examples
        --------
        >>> import tempfile, penstock as ps, pyarrow as pa, pyarrow.parquet as pq
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pq.write_table(pa.table({"x": [1.0, 3.0]}), f"{folder}/monday.parquet")
        ...     data = ps.LocalEngine(device="cpu").read_parquet(f"{folder}/*.parquet").cache_states(f"{folder}/states")
        ...     pipeline = ps.Pipeline(ps.stages.StandardScaler("x"))
        ...     first, second = (pipeline.fit(data).report.rows for _ in range(2))
        >>> first.cached, second.cached, second.read
        (0, 2, 2)
        """
        dataset = cast("Dataset", self)
        if storage_of(dataset.reader.source) is None:
            raise ConfigError(
                "states are kept by file, and these rows are in none",
                hint="Write them to Parquet, and read that; or leave out cache_states.",
            )
        return replace(dataset, state_cache=StateCache(str(location), max_bytes, dict(storage_options or {})))


@contextmanager
def kept_states(work: SummariseTask, cache: StateCache) -> Iterator[Summariser]:
    """Give the task of a scan, which asks a cache first; as it is where what it does cannot be compared."""
    try:
        task = CachedSummaries.of(work, cache)
    except NoFingerprintError as error:
        logger.warning("all rows are read, as their states follow from what cannot be compared: %s", error)
        yield work
        return
    yield task
    cache.prune()


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
