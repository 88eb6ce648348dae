"""What commands about runs take."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.cli.recording import FOLDER_VARIABLE, NONE
from penstock.core.errors import ConfigError
from penstock.core.several import settle_several


@dataclass(frozen=True, kw_only=True)
class RunsRequest:
    """Where runs are.

    Parameters
    ----------
    runs : str, optional
        Folder of runs, or its URL; $PENSTOCK_RUNS, or runs beside the folder of pipelines, unless given.
    """

    runs: str | None = None

    @property
    def folder(self) -> str:
        """Where runs are; a variable that says that none are recorded names no other place."""
        chosen = self.runs or os.environ.get(FOLDER_VARIABLE)
        return chosen if chosen and chosen != NONE else "runs"


@dataclass(frozen=True, kw_only=True)
class ListRunsRequest(RunsRequest):
    """Runs of a folder.

    Parameters
    ----------
    where : sequence of str
        A condition on a field of run.json: kind=fit, name=click*, engine.name!=spark, "metrics.areaUnderROC>=0.8".
    sort : str
        A field; with - before it the largest are first.
    limit : int
        So many at most.

    Examples
    --------
    >>> ListRunsRequest(where=["kind=fit"]).sort
    '-started'
    """

    where: Sequence[str] = ()
    sort: str = "-started"
    limit: int = 20

    def __post_init__(self) -> None:
        settle_several(self)
        if self.limit < 1:
            raise ConfigError(f"limit is {self.limit}, expected 1 or more", hint="--limit 20 shows the first 20 runs.")


@dataclass(frozen=True, kw_only=True)
class ShowRunRequest(RunsRequest):
    """One run.

    Parameters
    ----------
    run : str
        A directory or URL of a run; or an id, the beginning of one, or last, in the folder of runs.
    report : str, optional
        Write an HTML page: timeline, phases, slow tasks, memory, lineage, cost.
    trace : str, optional
        Write a trace that Perfetto and chrome://tracing open; compressed if it ends with .gz.
    machines : path, optional
        Say what it cost, by a YAML file of types of machines, such as conf/machines.yaml.
    machine : str, optional
        The type of its machines; that with as many cores unless given.
    intensity : float, optional
        Grams of CO2 for a kWh of electricity, in place of the world's mean.
    """

    run: str
    report: str | None = None
    trace: str | None = None
    machines: str | None = None
    machine: str | None = None
    intensity: float | None = None


@dataclass(frozen=True, kw_only=True)
class CompareRunsRequest(RunsRequest):
    """Two runs.

    Parameters
    ----------
    one : str
        A directory or URL of a run, or an id in the folder of runs.
    other : str
        The other one, likewise.
    """

    one: str
    other: str


@dataclass(frozen=True, kw_only=True)
class AlarmsRequest(RunsRequest):
    """A check of one run by alarms.

    Parameters
    ----------
    run : str
        A run: its id, the beginning of one, or last.
    alarms : path
        A YAML file of alarms.
    """

    run: str
    alarms: str = "conf/alarms.yaml"
