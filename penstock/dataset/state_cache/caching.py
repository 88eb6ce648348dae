"""Keeping states of statistics by fragment, as a dataset offers it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from penstock.core.errors import ConfigError
from penstock.core.notices import get_logger
from penstock.dataset.state_cache.cached_summaries import CachedSummaries
from penstock.dataset.state_cache.fingerprints import NoFingerprintError
from penstock.dataset.state_cache.state_cache import StateCache
from penstock.io.sources.base import storage_of

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.dataset.dataset import Dataset
    from penstock.dataset.hash_partitioned import Summariser
    from penstock.dataset.tasks import SummariseTask

logger = get_logger(__name__)


class CachingStates:
    """The part of a dataset that says where states of its fragments are kept."""

    def cache_states(
        self,
        location: str | Path,
        *,
        max_bytes: int | str = "10 GiB",
        storage_options: Mapping[str, Any] | None = None,
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
