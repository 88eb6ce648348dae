"""The command that follows a run in a terminal."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.runs.requests import RunsRequest

if TYPE_CHECKING:
    from penstock.core.progress import Progress
    from penstock.runs.watching import Snapshot, Watcher

LAST = "last"
LOOKED_BACK = 10
"""Runs before that a run under way is predicted from."""


@dataclass(frozen=True, kw_only=True)
class WatchRequest(RunsRequest):
    """Which run is followed.

    Parameters
    ----------
    run : str
        A run: its directory, its id, the beginning of one, or last.
    once : bool
        Print how it is now, and leave.
    """

    run: str
    once: bool = False


def watch(request: WatchRequest, progress: "Progress | None" = None) -> "Snapshot":
    """Return the run as it is at its end, shown meanwhile where a progress has a terminal; or as it is now.

    Raises
    ------
    MissingInputError
        There is no such run.
    ConfigError
        Runs are in a store: a run under way writes no events there.
    """
    from penstock.runs.watching import Watcher

    folder = _folder(request)
    watcher = Watcher(folder, partial(_predicted_seconds, folder.parent))
    return watcher.look() if request.once else _follow(watcher, getattr(progress, "console", None))


def _folder(request: WatchRequest) -> Path:
    from penstock.core.errors import MissingInputError
    from penstock.core.locations import local_path
    from penstock.runs.run import INFO
    from penstock.runs.watching import EVENTS

    if request.run != LAST and Path(request.run).is_dir():
        return Path(request.run)
    folder = Path(local_path(request.folder, "runs"))
    runs = sorted({path.parent for name in (EVENTS, INFO) for path in folder.glob(f"*/{name}")})
    found = runs[-1:] if request.run == LAST else [each for each in runs if each.name.startswith(request.run)]
    if len(found) != 1:
        problem = f"{folder} has {len(found)} runs whose id begins with {request.run!r}"
        hint = f"The newest are {', '.join(each.name for each in runs[-3:])}." if runs else "It has no runs at all."
        raise MissingInputError(problem, hint=hint, path=str(folder))
    return found[0]


def _predicted_seconds(folder: Path, about: Mapping[str, Any]) -> float | None:
    """Return what a run under way will take in all, by the last runs of its kind and name; None where these are few."""
    from itertools import islice

    from penstock.runs import TASKS, Run, RunStore
    from penstock.runs.alarms import runs_before
    from penstock.runs.scaling import expected_time_under_way

    before = list(islice(runs_before(RunStore(folder), Run(about, TASKS.empty_table())), LOOKED_BACK))
    expected = expected_time_under_way(about, before)
    return None if expected is None else expected.seconds


def _follow(watcher: "Watcher", console: Any) -> "Snapshot":
    from rich.live import Live

    from penstock.runs.watching.display import render

    if console is None or not console.is_terminal:
        return deque(watcher.follow(), maxlen=1).pop()
    snapshot = watcher.look()
    with Live(console=console, transient=True, auto_refresh=False) as live:
        for snapshot in watcher.follow():
            live.update(render(snapshot), refresh=True)
    return snapshot
