"""Jobs that leave a record of their run, beside the project unless they say where."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.cli.requests import JobRequest
from penstock.config.secrets import hide, names_secret
from penstock.core.errors import ConfigError
from penstock.core.locations import is_url, local_path

if TYPE_CHECKING:
    from penstock.core.progress import Progress

Request = TypeVar("Request", bound=JobRequest)
Result = TypeVar("Result")

FOLDER_VARIABLE = "PENSTOCK_RUNS"
NONE = "none"
"""In place of a folder: no record is written."""
_COMMON = ("metrics", "notes", "rows", "rows_read", "dropped", "quarantined")
_KNOWN = ("engine", "device", "pipeline", "seconds", "seconds_of")
"""Of results, what a record says otherwise."""
_SUBJECTS = ("pipeline", "model", "challenger", "data")


def recorded(job: Callable[[Request, Progress | None], Result]) -> Callable[..., Result]:
    """Return a job that leaves a record of its run in the folder of its request, see `runs_folder`.

    When it has ended, well or not, it is sent to the collector and the consumer of the environment,
    see `penstock.cli.ended_run`, and checked by alarms, which notify whom they name.

    Raises
    ------
    ConfigError
        Before any work: the file of alarms is none, or there is no record that they could check.
    AlarmError
        The job is done, and its run is an alarm of severity error.
    """

    @wraps(job)
    def run(request: Request, progress: Progress | None = None) -> Result:
        folder = runs_folder(request)
        if folder is None:
            _check_unwatched(request)
            return job(request, progress)
        from penstock.cli.ended_run import EndedRun
        from penstock.runs import record

        ended = EndedRun(folder)
        with record(folder, kind=job.__name__, name=_subject(request), on_end=ended.tell) as recording:
            recording.facts["configuration"] = configuration(request)
            ended.read(alarms_file(request))
            result = job(request, progress)
            recording.facts |= facts_of(hide(asdict(result)))  # type: ignore[call-overload]
        ended.check()
        return result

    return run


def _check_unwatched(request: JobRequest) -> None:
    """Raise ConfigError for a run without a record that alarms are to check."""
    if request.alarms is not None:
        problem = f"alarms are {str(request.alarms)!r}, and there is no record of the run that they could check"
        raise ConfigError(problem, hint="Name a folder by --runs, or leave out --alarms.")


def runs_folder(request: JobRequest) -> str | None:
    """Return where the record of a run goes; None for nowhere.

    That is where the request says, else the environment variable ``PENSTOCK_RUNS``, else ``runs`` beside the folder of
    pipelines; where there is no such folder, nowhere.
    """
    chosen = request.runs or os.environ.get(FOLDER_VARIABLE)
    if chosen:
        return None if str(chosen) == NONE else str(chosen)
    pipelines = Path(local_path(request.pipelines, "pipelines"))
    return str(pipelines.parent / "runs") if pipelines.is_dir() else None


def alarms_file(request: JobRequest) -> str | Path | None:
    """Return the file of alarms of a request: the one it names, else that of the project, where there is one."""
    usual = Path(local_path(request.pipelines, "pipelines")).parent / "conf" / "alarms.yaml"
    return request.alarms or (usual if usual.is_file() else None)


def configuration(request: JobRequest) -> dict[str, Any]:
    """Return what a request says that differs from its defaults, as plain values without secrets."""
    given = {each.name: getattr(request, each.name) for each in fields(request)}
    changed = {each.name: given[each.name] for each in fields(request) if given[each.name] != each.default}
    return hide({name: _plain(value) for name, value in changed.items()})


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; of ``NAME=VALUE`` with a secret name only the name."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, str) and names_secret(value.partition("=")[0]):
        return f"{value.partition('=')[0]}=***"
    return value if isinstance(value, str | int | float | None) else str(value)


def _subject(request: JobRequest) -> str:
    """Return what a job is about: its pipeline, else its model, else its data."""
    values = (getattr(request, name, None) for name in _SUBJECTS)
    subject = next((value for value in values if value), "")
    first = subject if isinstance(subject, str | Path) else str(subject[0])
    return str(hide(str(first))) if is_url(str(first)) else Path(first).name


def facts_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a record tells of the result of a job; what results have in common has a name of its own."""
    digests = {name: value for name, value in result.items() if name.endswith("digest") or name == "manifest"}
    common = {name: result[name] for name in _COMMON if name in result}
    others = {name: value for name, value in result.items() if name not in {*digests, *_COMMON, *_KNOWN}}
    return {"digests": digests, **common, "result": others}
