"""The command that checks a run by alarms, and tells of those that are raised."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli.runs.requests import RunsRequest

if TYPE_CHECKING:
    from penstock.cli.live_tables import AlarmsResult
    from penstock.runs import Run, RunStore

ALARMS = "conf/alarms.yaml"


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
    alarms: str = ALARMS


def check_run(request: AlarmsRequest) -> "AlarmsResult":
    """Check a run by the alarms of a file, and tell of those that are raised.

    Raises
    ------
    ConfigError
        The file is none of alarms.
    MissingInputError
        There is no such run.
    """
    from penstock.runs import RunStore

    store = RunStore(request.folder)
    return alarms_of(store.get(request.run), store, request.alarms)


def alarms_of(run: "Run", store: "RunStore", path: str | Path) -> "AlarmsResult":
    """Return what becomes of the alarms of a file for a run of a store, and tell of those that are raised."""
    from penstock.cli.live_tables import AlarmsResult
    from penstock.runs.alarms import check_alarms, history_of, raise_alarms, read_alarms

    alarms = read_alarms(path)
    results = check_alarms(run, alarms, history_of(run, alarms, store))
    problems = raise_alarms(results, run, f"{store.location}/{run.id}")
    passed = not any(each.raised and each.alarm.severity == "error" for each in results)
    return AlarmsResult(run_id=run.id, passed=passed, alarms=[each.to_dict() for each in results], problems=problems)
