"""How a job runs the ranks of its trainings."""

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.spmd import SpmdOptions


@dataclass(frozen=True, kw_only=True)
class RankOptions:
    """What a job is told that trains.

    Parameters
    ----------
    world_size : int, optional
        Ranks of a training; as many as run at once.
    timeout : float, optional
        Seconds until a silent rank is taken for lost.
    max_restarts : int, optional
        How often a training that lost a rank starts again.
    checkpoint_dir : path or URL, optional
        Where checkpoints outlive the run.
    elastic : bool
        Begin on the workers that are there, and begin again from a checkpoint on more.
    allow_insecure : bool
        Let ranks of XGBoost listen on all addresses.
    """

    world_size: int | None = None
    timeout: float | None = field(default=None, metadata={"show_default": "120.0"})
    max_restarts: int | None = field(default=None, metadata={"show_default": "2"})
    checkpoint_dir: str | Path | None = None
    elastic: bool = field(default=False, metadata={"option": "--elastic/--no-elastic"})
    allow_insecure: bool = field(default=False, metadata={"option": "--allow-insecure/--no-allow-insecure"})

    @property
    def spmd(self) -> "SpmdOptions":
        """How trainers run; ConfigError for a value that `SpmdOptions` refuses."""
        from penstock.spmd import SpmdOptions

        names = [each.name for each in fields(RankOptions)]
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        return SpmdOptions(**given)
