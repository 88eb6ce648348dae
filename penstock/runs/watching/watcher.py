"""Reads the events of a run as they come, and its record when it ends."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.core.errors import MissingInputError
from penstock.core.recording import PHASES
from penstock.core.recording.process import host_name
from penstock.runs.run import INFO, Run
from penstock.runs.watching.event_log import EVENTS
from penstock.runs.watching.snapshot import RunProgress, Snapshot


class Watcher:
    """Follows one run.

    Parameters
    ----------
    folder : Path
        Of the run.
    predict : callable, optional
        Is called with what the run is when its engine is known, and when more of its inputs are; returns the seconds
        that it will take in all, or None.

    Raises
    ------
    MissingInputError
        It is no folder of a run, ended or under way.
    """

    def __init__(self, folder: Path, predict: Callable[[Mapping[str, Any]], float | None] | None = None) -> None:
        self.folder, self.progress = folder, RunProgress()
        self._predict, self._predicted_of = predict, None
        self._read = 0
        if not any((folder / name).exists() for name in (EVENTS, INFO)):
            hint = f"A run that is followed has {EVENTS} in its directory, one that has ended {INFO}."
            raise MissingInputError(f"{folder} has no run", hint=hint, path=str(folder))

    def look(self, now: float | None = None) -> Snapshot:
        """Return the run as it is."""
        self._take_events()
        self._take_prediction()
        now, alive = time.time() if now is None else now, self._is_alive()
        # Events go when the record is whole, and stay where the process was killed.
        if (self.folder / INFO).exists() and not (alive and (self.folder / EVENTS).exists()):
            run = Run.load(self.folder)
            return Snapshot.of(_as_recorded(run), run.started.timestamp() + run.seconds, run)
        return Snapshot.of(self.progress, now, alive=alive)

    def follow(self, seconds: float = 0.5) -> Iterator[Snapshot]:
        """Yield the run as it is each so many seconds, until it has ended; the last is of its end."""
        while True:
            snapshot = self.look()
            yield snapshot
            if snapshot.status != "running":
                return
            time.sleep(seconds)

    def _take_events(self) -> None:
        try:
            with (self.folder / EVENTS).open("rb") as file:
                file.seek(self._read)
                new = file.read()
        except FileNotFoundError:  # the run has ended
            return
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            self.progress.take(json.loads(line))

    def _take_prediction(self) -> None:
        about = self.progress.about
        if self._predict is not None and about.get("inputs") != self._predicted_of:
            self._predicted_of = about["inputs"]
            about["prediction"] = {"seconds": self._predict(about)}

    def _is_alive(self) -> bool:
        """Return whether the process of the run is there; True of another machine's."""
        about = self.progress.about
        if about.get("host") != host_name():
            return True
        try:
            os.kill(int(about["pid"]), 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # somebody else's
            return True
        return True


def _as_recorded(run: Run) -> RunProgress:
    """Return the whole of a run, as events would have it."""
    progress = RunProgress()
    spans = [[at, span.name, span.kind, span.start, span.items, span.seconds] for at, span in enumerate(run.spans)]
    names = ("span", "worker", "start", "seconds", "rows_in")
    starts = pc.divide(pc.cast(run.tasks["start"], pa.int64()), 1e6)
    rows = run.tasks.set_column(run.tasks.schema.get_field_index("start"), "start", starts)
    tasks = [
        [*(row[name] for name in names), {phase: row[phase] for phase in PHASES if row[phase]}]
        for row in rows.to_pylist()
    ]
    progress.take({"spans": spans, "tasks": tasks})
    return progress
