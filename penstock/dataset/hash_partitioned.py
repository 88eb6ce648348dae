"""A scan whose states are partitioned, so that very many values are on no worker together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from penstock.dataset.steps import RowLog
from penstock.dataset.tasks import Probe
from penstock.io.fragments import Fragment
from penstock.statistics.base import State
from penstock.statistics.distinct.partitionable import Absent, Partitionable, as_partitionable, pad, present

Summary = tuple[list[list[State]], RowLog]
"""The states of each probe, and what became of the rows. The log, and what is whole, is in the first part alone."""


class Summariser(Protocol):
    """The task of a scan: `SummariseTask`, or what stands for one."""

    @property
    def probes(self) -> tuple[Probe, ...]:
        """What is gathered where."""

    def __call__(self, fragment: Fragment) -> Summary:
        """Return the states of each probe, and what became of the rows."""

    def merge(self, parts: list[Summary]) -> Summary:
        """Join what several fragments gave, in their order; the list may be emptied."""


@dataclass(frozen=True)
class HashPartitioned:
    """Gives what `SummariseTask` gives in parts, each of which an engine merges by itself; `concat` puts them together.

    A part has the values of some hashes, from whatever fragment: no value is in two, so that each can be counted, and
    pruned to what is asked for, without the others.
    """

    work: Summariser

    @property
    def parts(self) -> int:
        """How many parts there are: as many as the column of most values has."""
        return max(count for probe in self.work.probes for count in probe.parts.values())

    def __call__(self, fragment: Fragment) -> list[Summary]:
        """Summarise one fragment."""
        states, log = self.work(fragment)
        partitioned = [
            [pad(statistic.partition(state, probe.parts), self.parts) for statistic, state in pairs]
            for probe, pairs in self._pairs(states)
        ]
        logs = [log, *(RowLog() for _ in range(self.parts - 1))]
        return [
            ([[pieces[place] for pieces in of_probe] for of_probe in partitioned], log)
            for place, log in enumerate(logs)
        ]

    def merge(self, summaries: list[Summary]) -> Summary:
        """Merge one part of several fragments, in their order; the list is emptied."""
        return self.work.merge(summaries)

    def prune(self, summary: Summary) -> Summary:
        """Leave out of a merged part what nobody asks for."""
        states, log = summary
        pruned = [
            [state if state is Absent.ABSENT else statistic.prune(state, probe.retention) for statistic, state in pairs]
            for probe, pairs in self._pairs(states)
        ]
        return pruned, log

    def concat(self, summaries: list[Summary]) -> Summary:
        """Put all parts together."""
        (first, log), *rest = summaries
        whole = [
            [
                statistic.concat([state, *present(parts[at][number] for parts, _ in rest)])
                for number, (statistic, state) in enumerate(pairs)
            ]
            for at, (_, pairs) in enumerate(self._pairs(first))
        ]
        return whole, log

    def _pairs(self, states: list[list[State]]) -> list[tuple[Probe, list[tuple[Partitionable, State]]]]:
        """Return each probe with its statistics and their states."""
        return [
            (probe, list(zip(map(as_partitionable, probe.statistics), of_probe, strict=True)))
            for probe, of_probe in zip(self.work.probes, states, strict=True)
        ]
