"""What happens in a run, appended to ``events.jsonl`` in its directory twice a second."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from penstock.core.locations import is_url
from penstock.core.notices import get_logger
from penstock.core.progress import following
from penstock.core.recording import Recorder, Span, TaskRecord
from penstock.core.recording.process import host_name
from penstock.runs.run import INFO

logger = get_logger(__name__)
EVENTS = "events.jsonl"
_PAUSE = 0.5


class EventLog:
    """Appends what a recorder takes to a file, from a thread of its own; to be used in a ``with`` statement.

    A listener only puts things aside, so that it costs what is recorded a microsecond; texts are made and written by
    the thread.

    Parameters
    ----------
    folder : Path
        Of the run; it is made.
    recorder : Recorder
        Followed from the start of the block to its end.
    about : mapping
        What the run is: plain values.

    Notes
    -----
    A line is a JSON object with one name: ``run`` with what the run is, its engine and the rows of its inputs as they
    are known; ``spans`` and ``ends`` with the places of spans among those of the run; ``tasks``, of which each has
    span, worker, start, seconds, rows and the seconds of phases; ``done`` with how much of each scan or training under
    way is done, by label. Tasks of a scan that merges come when it ends, with its result; ``done`` comes as they are
    done, on Spark too. The file goes when the run has its record.
    """

    def __init__(self, folder: Path, recorder: Recorder, about: Mapping[str, Any]) -> None:
        self.path, self._recorder = folder / EVENTS, recorder
        process = {"host": host_name(), "pid": os.getpid()}
        self._lines: list[dict[str, Any]] = [{"run": {**about, **process}}]
        self._seen: deque[Span | TaskRecord] = deque()
        self._done: dict[str, list[int]] = {}
        self._changed: set[str] = set()
        self._lock, self._over = Lock(), Event()
        self._places: dict[int, int] = {}
        self._facts: dict[str, Any] = {}
        self._thread = Thread(target=self._write_on, name="penstock-events", daemon=True)

    def __enter__(self) -> EventLog:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._write()
        self._recorder.listeners.append(self._listen)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._recorder.listeners.remove(self._listen)
        self._over.set()
        self._thread.join()
        if self.path.with_name(INFO).exists():
            self.path.unlink(missing_ok=True)

    def advance(self, label: str, total: int, parts: int) -> None:
        """Take how much more of a scan or training is done, as `penstock.core.progress.following` tells it."""
        with self._lock:
            done = self._done.setdefault(label, [0, total])
            if not parts:
                done[:] = 0, total
            done[0] += parts
            self._changed.add(label)

    def _listen(self, what: Span | TaskRecord) -> None:
        self._seen.append(what)

    def _take_seen(self) -> list[Span | TaskRecord]:
        """Return what has been put aside; more may be put there meanwhile."""
        return [self._seen.popleft() for _ in range(len(self._seen))]

    def _write_on(self) -> None:
        try:
            while not self._over.wait(_PAUSE):
                self._write()
            self._write()
        except OSError as error:
            logger.warning("events of the run are not written any more: %s", error.strerror)

    def _write(self) -> None:
        seen = self._take_seen()
        lines, self._lines = self._lines, []
        lines += self._new_facts()
        lines += self._spans_of(seen)
        tasks = [_task_line(each) for each in seen if isinstance(each, TaskRecord)]
        lines += [{"tasks": tasks}] if tasks else []
        with self._lock:
            if self._changed:
                lines.append({"done": {label: list(self._done[label]) for label in sorted(self._changed)}})
            self._changed.clear()
        if lines:
            with self.path.open("a", encoding="utf-8") as file:
                file.write("".join(json.dumps(line) + "\n" for line in lines))

    def _new_facts(self) -> list[dict[str, Any]]:
        """Return a line of the engine and the rows of all inputs, if these are not as in the last one."""
        recorder = self._recorder
        rows = sum(int(each.get("rows") or 0) for each in list(recorder.inputs))
        facts = {"engine": recorder.engine, "inputs": [{"rows": rows}]}
        if not recorder.engine or facts == self._facts:
            return []
        self._facts = facts
        return [{"run": facts}]

    def _spans_of(self, seen: list[Span | TaskRecord]) -> list[dict[str, Any]]:
        """Return lines of the spans that have begun since the last lines, and of those that have ended."""
        before = len(self._places)
        begun = list(enumerate(self._recorder.spans))[before:]
        self._places |= {id(span): place for place, span in begun}
        new = [[place, span.name, span.kind, span.start, span.items] for place, span in begun]
        spans = [each for each in seen if isinstance(each, Span)]
        ends = [[self._places[id(span)], span.seconds] for span in spans if span.seconds is not None]
        return [{name: values} for name, values in (("spans", new), ("ends", ends)) if values]


@contextmanager
def writing_events(location: str, recorder: Recorder, about: Mapping[str, Any]) -> Iterator[None]:
    """Write the events of a run to its directory until it has ended; none to a store, or where nothing can be written.

    Parameters
    ----------
    location : path or URL
        Of the run.
    recorder : Recorder
    about : mapping
        What the run is, as ``run.json`` will have it.
    """
    with ExitStack() as stack:
        if not is_url(location):
            with suppress(OSError):  # where a record cannot be written either, a warning says so at the end
                log = stack.enter_context(EventLog(Path(location), recorder, about))
                stack.enter_context(following(log.advance))
        yield


def _task_line(task: TaskRecord) -> list[Any]:
    worker = f"{task.host}:{task.pid}"
    phases = {phase: round(seconds, 6) for phase, seconds in task.phases.items()}
    return [task.span, worker, task.start, round(task.seconds, 6), task.counts.get("rows_in", 0), phases]
