"""The engine without a cluster: this process, its threads, its GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from penstock import devices
from penstock.core.bounded_pool import ahead
from penstock.core.progress import Progress, usual_progress
from penstock.dataset.task_errors import translate_errors
from penstock.engines.base import Item, Result
from penstock.engines.querying import QueryEngine
from penstock.engines.relational import RelationalEngine
from penstock.engines.stragglers import Stragglers, TaskClock


class LocalEngine(RelationalEngine):
    """Runs everything in this process; the frame library uses all cores.

    Parameters
    ----------
    device : {"auto", "cpu", "gpu"}, default "auto"
    in_flight : int, default 3
        Fragments worked on at the same time: while one is decoded or written, others compute. Memory grows with it.
    progress : Progress, optional
    staging_dir : path or URL, optional
        Where the rows that queries make are kept; the temporary directory unless given.
    storage_options : mapping, optional
        Passed to fsspec for a `staging_dir` in a store; never shown in a message.

    Notes
    -----
    A task that is refused memory is a MemoryLimitError. Under ``ulimit -v`` Polars aborts the process instead (exit
    code 134): limit the memory of its container or control group.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.LocalEngine(device="cpu").kind
    'cpu'
    """

    name: ClassVar[str] = "local"
    returns_to_worker: ClassVar[bool] = True
    in_process: ClassVar[bool] = True

    def __init__(
        self,
        *,
        device: str = "auto",
        in_flight: int = 3,
        progress: Progress | None = None,
        staging_dir: str | Path | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.device = devices.choose(device)
        self.progress = progress or usual_progress()
        self.staging_dir, self.storage_options = staging_dir, storage_options
        self._in_flight = 1 if self.kind == "gpu" else in_flight

    @property
    def slots(self) -> int:
        """One process, whatever its threads."""
        return 1

    def map(self, task: Callable[[Item], Result], items: Sequence[Item], *, label: str = "map") -> Iterator[Result]:
        """Call `task` in a few threads, results in order, at most `in_flight` ahead of the caller."""
        times = TaskClock()
        stragglers = Stragglers(label, items, len(items), times, self.progress.note)
        timed = times.timed(translate_errors(task))
        with self.progress.track(label, len(items)) as track:
            for result in ahead(timed, enumerate(items), self._in_flight, meanwhile=stragglers.look):
                yield result
                track.advance()

    def query_engine(self) -> QueryEngine:
        """Return Polars: its streaming engine, or its GPU engine."""
        from penstock.engines.local.query import PolarsQueries

        return PolarsQueries(self.kind)
