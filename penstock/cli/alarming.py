"""The command that checks a run by alarms, and tells of those that are raised."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.cli.runs.requests import RunsRequest

if TYPE_CHECKING:
    from penstock.cli.live_tables import AlarmsResult
    from penstock.core.progress import Progress


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


def check_run(request: AlarmsRequest, progress: "Progress | None" = None) -> "AlarmsResult":
    """Check a run by the alarms of a file, and tell of those that are raised.

    Raises
    ------
    ConfigError
        The file is none of alarms.
    MissingInputError
        There is no such run.
    """
    from penstock.cli.live_tables import AlarmsResult
    from penstock.runs import RunStore
    from penstock.runs.alarms import check_alarms, history_of, raise_alarms, read_alarms

    store = RunStore(request.folder)
    run, alarms = store.get(request.run), read_alarms(request.alarms)
    results = check_alarms(run, alarms, history_of(run, alarms, store))
    problems = raise_alarms(results, run, f"{store.location}/{run.id}")
    passed = not any(each.raised and each.alarm.severity == "error" for each in results)
    return AlarmsResult(run_id=run.id, passed=passed, alarms=[each.to_dict() for each in results], problems=problems)
