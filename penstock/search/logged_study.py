"""A study as a log and a strategy: all that it does next follows from what is on its log."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from penstock.core.errors import ConfigError
from penstock.search.descriptions import label
from penstock.search.dimensions import Dimensions, Suggestion, assign
from penstock.search.study import Direction, Outcome, Trial
from penstock.search.trial_log import Record, TrialLog


@dataclass(frozen=True)
class Proposal:
    """A trial that a strategy would have next."""

    suggestion: Suggestion
    fraction: float = 1.0


@dataclass(frozen=True)
class Verdict:
    """Whether to stop a trial, with what the strategy wants to know of it later."""

    prune: bool
    notes: Mapping[str, float] = field(default_factory=dict)


class Strategy(Protocol):
    """What to try next, as a function of what is known: asked again, in another process too, it says the same."""

    @property
    def n_trials(self) -> int:
        """How many trials there will be at most."""

    @property
    def prunes(self) -> bool:
        """Whether it may stop trials before their end."""

    def propose(self, records: Sequence[Record], direction: Direction) -> list[Proposal]:
        """Return the batch after these records, which all have outcomes; an empty one at the end."""

    def judge(self, records: Sequence[Record], record: Record, direction: Direction) -> Verdict:
        """Return whether to stop a trial after its last step; `records` are those of the batches before it."""


class Unpruned:
    """The part of a strategy that stops no trial before its end."""

    prunes = False

    def judge(self, records: Sequence[Record], record: Record, direction: Direction) -> Verdict:
        """Return that a trial goes on."""
        return Verdict(False)


class LoggedStudy:
    """A `Study` of trials that a strategy proposes and a log keeps.

    The trials of a batch are on the log before the first of them is told. So a batch of which none is told may be on it
    in part, after a kill; it is then proposed again, from the same records, and completed.

    A trial with the parameters of one before is not handed out: what came of that one came of it.
    """

    def __init__(self, dimensions: Dimensions, strategy: Strategy, log: TrialLog, direction: Direction) -> None:
        self._dimensions, self._strategy, self._log, self._direction = dimensions, strategy, log, direction
        self._under_way: dict[int, Record] = {}
        self._lock = threading.RLock()
        self._whole = -1
        self._firsts: list[int] = []
        self._settings: dict[str, int] = {}

    @property
    def n_trials(self) -> int:
        """How many trials there will be at most."""
        return max(self._strategy.n_trials, len(self._log.records))

    @property
    def prunes(self) -> bool:
        """Whether trials may be stopped before their end."""
        return self._strategy.prunes

    @property
    def trials(self) -> list[Trial]:
        """The trials handed out so far."""
        return [self._trial(record) for record in self._log.records]

    @property
    def outcomes(self) -> dict[int, Outcome]:
        """What came of them, by number."""
        return {record.number: record.outcome for record in self._log.records if record.outcome is not None}

    def ask(self) -> list[Trial]:
        """Return the rest of the batch under way, or the next one."""
        with self._lock:
            while True:
                batch = self._current_batch()
                if self._whole != batch:
                    self._write_batch(batch)
                current = [record for record in self._log.records if record.batch == batch and record.outcome is None]
                first = self._first_of_equals()
                originals = [record for record in current if first[record.number] == record.number]
                if originals or not current:
                    return [self._trial(record) for record in originals]
                for record in current:
                    self._repeat(record, first[record.number])

    def tell(self, trial: Trial, outcome: Outcome) -> None:
        """Note what came of a trial."""
        with self._lock:
            record = self._record(trial)
            if record.outcome is not None:
                raise ConfigError(f"trial {trial.number} is told already: {record.outcome.state}")
            self._log.complete(replace(self._under_way.get(trial.number, record), outcome=outcome))
            self._under_way.pop(trial.number, None)

    def report(self, trial: Trial, step: int, value: float | None) -> None:
        """Note the leading metric of a trial that is under way; one that is None says nothing."""
        with self._lock:
            record = self._under_way.get(trial.number) or self._record(trial)
            if value is not None:
                self._under_way[trial.number] = replace(record, steps={**record.steps, step: value})

    def should_prune(self, trial: Trial) -> bool:
        """Return whether to stop a trial at the last step that was reported."""
        with self._lock:
            record = self._under_way.get(trial.number)
            if record is None:
                return False
            before = [each for each in self._log.records if each.batch < record.batch]
            verdict = self._strategy.judge(before, record, self._direction)
            self._under_way[trial.number] = replace(record, notes={**record.notes, **verdict.notes})
            return verdict.prune

    def best(self) -> Trial | None:
        """Return the complete trial with the best value among those that learned from the most rows."""
        ranked = rank(self._log.records, self._direction)
        return self._trial(ranked[0]) if ranked else None

    def close(self) -> None:
        """Let go of the storage."""
        self._log.close()

    def _current_batch(self) -> int:
        """Return the last batch, or the one after it where all of it is told."""
        records = self._log.records
        last = records[-1].batch if records else 0
        over = bool(records) and all(record.outcome is not None for record in records if record.batch == last)
        return last + over

    def _write_batch(self, batch: int) -> None:
        """Have the whole of a batch on the log."""
        current = [record for record in self._log.records if record.batch == batch]
        if not any(record.outcome is not None for record in current):
            before = [record for record in self._log.records if record.batch < batch]
            proposals = self._strategy.propose(before, self._direction)
            records = [
                Record(len(before) + place, batch, proposal.suggestion, proposal.fraction)
                for place, proposal in enumerate(proposals)
            ]
            self._log.append(records[len(current) :])
        self._whole = batch

    def _first_of_equals(self) -> list[int]:
        """Return for every trial the first one that has its parameters."""
        for record in self._log.records[len(self._firsts) :]:
            setting = f"{label(assign(self._dimensions, record.suggestion))} {record.fraction}"
            self._firsts.append(self._settings.setdefault(setting, record.number))
        return self._firsts

    def _repeat(self, record: Record, first: int) -> None:
        outcome = self._log.records[first].outcome
        assert outcome is not None
        reason = f"has the parameters of trial {first}" + (f": {outcome.reason}" if outcome.reason else "")
        self._log.complete(replace(record, outcome=replace(outcome, seconds=0.0, reason=reason)))

    def _record(self, trial: Trial) -> Record:
        if not 0 <= trial.number < len(self._log.records):
            raise ConfigError(
                f"trial {trial.number} is none of this study, which has handed out {len(self._log.records)}"
            )
        return self._log.records[trial.number]

    def _trial(self, record: Record) -> Trial:
        return Trial(record.number, assign(self._dimensions, record.suggestion), record.fraction)


def rank(records: Sequence[Record], direction: Direction) -> list[Record]:
    """Return the records of complete trials with a value, best first, equal ones by number.

    Only those that learned from the greatest fraction of rows: what learned from fewer has another value of its own.

    Examples
    --------
    >>> values = [0.5, None, 0.7, 0.7]
    >>> records = [Record(number, 0, {}, 1.0, Outcome("complete", value)) for number, value in enumerate(values)]
    >>> [record.number for record in rank(records, "maximize")]
    [2, 3, 0]
    """
    valued = [record for record in records if _value(record) is not None]
    most = max((record.fraction for record in valued), default=1.0)
    sign = -1 if direction == "maximize" else 1
    return sorted((record for record in valued if record.fraction == most), key=lambda record: sign * _value(record))  # type: ignore[operator]


def _value(record: Record) -> float | None:
    return record.outcome.value if record.outcome is not None and record.outcome.state == "complete" else None
