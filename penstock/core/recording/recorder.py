"""Takes what tasks record, and what this process does meanwhile, as long as it is active."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

from penstock.core.recording.task_recording import Counters, Recorded, TaskRecord, Ticket
from penstock.core.redaction import presentable

if TYPE_CHECKING:
    from penstock.core.scheduler import Scheduler


@dataclass
class Span:
    """Something with a start and an end in this process: a scan, a training, a query, or a part of a job.

    Attributes
    ----------
    name : str
    kind : {"scan", "train", "query", "step"}
    start : float
        Seconds since 1970.
    seconds : float, optional
        None until it has ended.
    items : int
        Tasks of a scan; 0 for others.
    parent : int, optional
        The place of the span that it is a part of.
    """

    name: str
    kind: str
    start: float
    seconds: float | None = None
    items: int = 0
    parent: int | None = None


@dataclass
class Recorder:
    """What has been recorded so far.

    Parameters
    ----------
    counters : callable, optional
        Gives the energy counters of a machine in joules, by device; it goes to the workers, so it pickles.
    listeners : list of callable
        Each is given every span that begins or ends, and every record, as they come.
    events : list of dict
        What befell the work, see `note_event`: ``time``, in seconds since 1970, and ``text``.
    run_id : str
        Log records of the process and of tasks name it; empty where there is none.
    """

    counters: Counters | None = None
    listeners: list[Callable[[Span | TaskRecord], object]] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    tasks: list[TaskRecord] = field(default_factory=list)
    inputs: list[dict[str, Any]] = field(default_factory=list)
    outputs: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    engine: dict[str, Any] = field(default_factory=dict)
    run_id: str = ""
    _lock: Lock = field(default_factory=Lock, repr=False)

    @contextmanager
    def span(self, name: str, kind: str = "step") -> Iterator[int]:
        """Record what is done inside under a name, the spans that begin meanwhile as its parts; yields its place."""
        place = self.begin(name, kind)
        outer = _parent.set(place)
        try:
            yield place
        finally:
            _parent.reset(outer)
            self.end(place)

    def begin(self, name: str, kind: str, items: int = 0) -> int:
        """Begin a span, and return its place."""
        span = Span(name, kind, time.time(), items=items, parent=_parent.get())
        with self._lock:
            self.spans.append(span)
            place = len(self.spans) - 1
        self._tell(span)
        return place

    def end(self, place: int) -> None:
        """End a span."""
        span = self.spans[place]
        span.seconds = time.time() - span.start
        self._tell(span)

    @contextmanager
    def scan(self, name: str, items: int, engine: Scheduler, kind: str = "scan") -> Iterator[Ticket]:
        """Record a scan or a training on an engine; yields what its tasks are recorded under.

        It is no parent of what begins meanwhile: a generator that is suspended inside would be one of all that follows.
        """
        if not self.engine:
            self.engine = {"name": engine.name, "device": str(engine.device), "slots": engine.slots}
        place = self.begin(name, kind, items)
        try:
            yield Ticket(place, engine.kind, self.counters, self.run_id)
        finally:
            self.end(place)

    def take(self, recorded: Recorded[Any]) -> Any:
        """Take the records of a result, and return its value."""
        with self._lock:
            self.tasks += recorded.records
        for record in recorded.records:
            self._tell(record)
        return recorded.value

    def _tell(self, what: Span | TaskRecord) -> None:
        for listener in self.listeners:
            listener(what)


_active: ContextVar[Recorder | None] = ContextVar("recorder", default=None)
_parent: ContextVar[int | None] = ContextVar("span", default=None)


def active_recorder() -> Recorder | None:
    """Return the recorder of what runs now; None where nothing is recorded."""
    return _active.get()


@contextmanager
def recording(recorder: Recorder) -> Iterator[Recorder]:
    """Have a recorder take what is done inside, in this thread and in those that work for it.

    Examples
    --------
    >>> from penstock.core.scheduler import map_all
    >>> import penstock as ps
    >>> with recording(Recorder()) as recorder:
    ...     list(map_all(ps.LocalEngine(device="cpu"), abs, [-1, 2], label="absolute"))
    [1, 2]
    >>> [(span.name, span.items) for span in recorder.spans], len(recorder.tasks)
    ([('absolute', 2)], 2)
    """
    active, parent = _active.set(recorder), _parent.set(None)
    try:
        yield recorder
    finally:
        _parent.reset(parent)
        _active.reset(active)


def note_output(output: Mapping[str, Any]) -> None:
    """Take note of what was written, where anything is recorded: its ``path``, and its ``rows`` and ``bytes``."""
    recorder = active_recorder()
    if recorder is not None:
        recorder.outputs.append(dict(output))


def note_event(text: str) -> None:
    """Take note of something that befell the work, now, where anything is recorded: a rank was lost, say."""
    recorder = active_recorder()
    if recorder is not None:
        recorder.events.append({"time": time.time(), "text": presentable(text)})


@contextmanager
def step(name: str, kind: str = "step") -> Iterator[None]:
    """Record what is done inside under a name, where anything is recorded."""
    recorder = active_recorder()
    if recorder is None:
        yield
        return
    with recorder.span(name, kind):
        yield
