"""How a gang of ranks is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.core.errors import ConfigError
from penstock.core.locations import read_location


@dataclass(frozen=True)
class SpmdOptions:
    """Ranks, time limits and restarts of a training; every wait has an end.

    Parameters
    ----------
    world_size : int, optional
        How many ranks. Unless given, as many as the engine runs at once; on CPUs one with all cores where they would
        share this machine: on the local engine, on a Dask cluster that listens on loopback, and on Spark with a
        ``local[n]`` master.
    timeout : float, default 120
        Seconds without a sign of life after which a rank is taken for lost, and the longest wait of a collective call.
    start_timeout : float, default 300
        Seconds in which all ranks must have started.
    max_restarts : int, default 2
        How often all ranks are started again after one was lost.
    checkpoint_interval : int, default 10
        Rounds between checkpoints; a restart goes on from the last. Where a trainer samples at random (XGBoost with
        ``subsample`` or ``colsample_*``), the samples depend on it.
    checkpoint_dir : path or URL, optional
        Where checkpoints are kept, by the process that starts the training. A directory given here, or a folder of a
        store, outlives the run, so that a run started again with the same pipeline goes on from there; without it they
        are kept in a private temporary directory.
    storage_options : mapping, optional
        Passed to fsspec for a `checkpoint_dir` in a store; never shown in a message.
    elastic : bool, default False
        Begin on the workers that are there, one at least and `world_size` at most, and begin again from a checkpoint on
        those that came meanwhile, as soon as that is sooner than to go on without them; after a loss on those that are
        left. What is learned is as after a loss. On the local engine there is one rank.
    allow_insecure : bool, default False
        Let several ranks of XGBoost listen on every address of their machines, where whoever connects can end the
        training, or take part in it and spoil the model: XGBoost can bind to no other address and asks nobody who he
        is. Nothing that comes so is unpickled. Without it they are refused. One rank listens nowhere, and all other
        trainers only on the address of the cluster.

    Examples
    --------
    >>> SpmdOptions(max_restarts=0).timeout
    120.0
    """

    world_size: int | None = None
    timeout: float = 120.0
    start_timeout: float = 300.0
    max_restarts: int = 2
    checkpoint_interval: int = 10
    checkpoint_dir: str | Path | None = None
    storage_options: Mapping[str, Any] | None = field(default=None, repr=False, hash=False)
    elastic: bool = False
    allow_insecure: bool = False

    def ranks_within(self, room: int) -> int:
        """Return how many ranks an elastic training has where there is room for so many: one at least."""
        return max(1, min(room, self.world_size or room))

    def __post_init__(self) -> None:
        for name, least in (("timeout", 1), ("start_timeout", 1), ("max_restarts", 0), ("checkpoint_interval", 1)):
            if not getattr(self, name) >= least:
                raise ConfigError(f"{name} is {getattr(self, name)!r}, expected at least {least}")
        if self.world_size is not None and self.world_size < 1:
            raise ConfigError(f"world_size is {self.world_size}, expected at least 1")
        if self.checkpoint_dir is not None:
            object.__setattr__(self, "checkpoint_dir", read_location(self.checkpoint_dir, "checkpoint_dir"))
