"""Ranks that are threads of the tests, and progress that is kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from penstock.core.progress import Progress, Track
from penstock.dataset import Dataset
from penstock.spmd import Assignment, Body, RankAssignment, SpmdOptions, run_gang, run_rank

ONE_RESTART = SpmdOptions(timeout=60, start_timeout=60, max_restarts=1)


def run(
    launch: Any,
    body: Body,
    data: Mapping[str, Dataset],
    options: SpmdOptions = ONE_RESTART,
    *,
    size: int = 2,
    room: Callable[[], int] | None = None,
) -> Any:
    """Run ranks that `launch` starts."""
    engine = data["train"].engine
    return run_gang(
        launch, body, data, options, engine, size=size, threads=1, host="127.0.0.1", label="train it", room=room
    )


def as_process(place: RankAssignment, assignment: Assignment) -> None:
    """Run a rank; one that raises KeyboardInterrupt goes away as a process does, and nobody hears why."""
    with suppress(KeyboardInterrupt, EOFError, OSError):
        run_rank(place, assignment)


@dataclass
class Threads:
    """Starts each rank as a thread, which does what a rank does unless another thing is given for it."""

    instead: Mapping[int, Callable[[RankAssignment, Assignment], None]] = field(default_factory=dict)
    started: int = 0
    places: list[RankAssignment] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)

    def __call__(self, places: Sequence[RankAssignment], assignment: Assignment) -> Threads:
        self.started += 1
        self.places = list(places)
        self.threads = [
            threading.Thread(target=self.instead.get(each.index, as_process), args=(each, assignment), daemon=True)
            for each in places
        ]
        for thread in self.threads:
            thread.start()
        return self

    def problem(self) -> str | None:
        return None

    def stop(self) -> None:
        for thread in self.threads:
            thread.join(timeout=60)


@dataclass
class Notes(Progress):
    """Keeps what it is told."""

    notes: list[str] = field(default_factory=list)
    advanced: list[int] = field(default_factory=list)
    on_advance: Callable[[int], None] = lambda parts: None

    @contextmanager
    def track(self, label: str, total: int) -> Iterator[Track]:
        notes = self

        class Heard(Track):
            def advance(self, parts: int = 1, detail: str = "") -> None:
                notes.advanced.append(parts)
                notes.on_advance(parts)

        yield Heard()

    def note(self, text: str) -> None:
        self.notes.append(text)
