"""What a study remembers: its trials in batches, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from penstock.search.dimensions import Suggestion
from penstock.search.study import Outcome


@dataclass(frozen=True)
class Record:
    """A trial as it is remembered.

    Attributes
    ----------
    number, batch : int
    suggestion : mapping
        What picks the setting out of the space.
    fraction : float
    outcome : Outcome, optional
        None until it is told.
    steps : mapping of int to float
        What was reported on the way.
    notes : mapping of str to number
        What a strategy wants back.
    """

    number: int
    batch: int
    suggestion: Suggestion
    fraction: float = 1.0
    outcome: Outcome | None = None
    steps: Mapping[int, float] = field(default_factory=dict)
    notes: Mapping[str, float] = field(default_factory=dict)


class TrialLog(Protocol):
    """Where the records of a study are; one process writes it."""

    @property
    def records(self) -> Sequence[Record]:
        """All of them, by number."""

    def append(self, records: Sequence[Record]) -> None:
        """Add records of trials that are handed out; their numbers follow on."""

    def complete(self, record: Record) -> None:
        """Put a record with an outcome in place of the one without."""

    def close(self) -> None:
        """Let go of what it is in; nothing is added after that."""


class MemoryLog:
    """Records that end with the process."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def append(self, records: Sequence[Record]) -> None:
        self.records.extend(records)

    def complete(self, record: Record) -> None:
        self.records[record.number] = record

    def close(self) -> None:
        pass
