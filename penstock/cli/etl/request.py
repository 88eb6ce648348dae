"""What a job that only does ETL is told."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.cli.requests import ParametersRequest
from penstock.core.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class RunRequest(ParametersRequest):
    """A run of a job that only does ETL, for one logical date or for several, one after the other.

    Parameters
    ----------
    pipeline : str
        A module of the pipelines folder with def run(inputs, parameters), or a .py file.
    inputs : sequence of str
        Where an input lies; wins over the catalog.
    outputs : sequence of str
        Where an output goes; wins over the catalog.
    date : str, optional
        The logical date, or date and time, in ISO 8601.
    run_id : str, optional
        Name of the run, which appends the same rows once; a new one unless given.
    start : str, optional
        First logical date of a backfill, which is one run after the other.
    end : str, optional
        Last logical date of a backfill.
    every : str
        hour, day, week or month: how far apart those dates are.
    overwrite : bool
        Replace outputs that are there, where the catalog says nothing else.
    dry_run : bool
        Say what would be written, and where; write nothing.

    Raises
    ------
    ConfigError
        There is a date and a range of dates, or half a range.

    Examples
    --------
    >>> RunRequest(pipeline="trips_daily", inputs=["trips=data/*.csv"], date="2024-01-05").dry_run
    False
    """

    pipeline: str
    inputs: Sequence[str] = field(default=(), metadata={"option": "--in", "metavar": "NAME=PATH"})
    outputs: Sequence[str] = field(default=(), metadata={"option": "--out", "metavar": "NAME=PATH"})
    date: str | None = None
    run_id: str | None = None
    start: str | None = field(default=None, metadata={"option": "--from"})
    end: str | None = field(default=None, metadata={"option": "--to"})
    every: str = "day"
    overwrite: bool = False
    dry_run: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.start is None) != (self.end is None):
            lacking = "to" if self.end is None else "from"
            raise ConfigError(f"--{lacking} is not given", hint="A backfill is --from 2024-01-01 --to 2024-01-31.")
        if self.start is not None and self.date is not None:
            raise ConfigError(f"--date is {self.date!r}, and --from {self.start!r}: one date, or a range of them")
