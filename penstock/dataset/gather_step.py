"""Statistics of rows on their way to an output: gathered in the pass that writes them, not in a scan of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw

from penstock.dataset.steps import RowLog, Step
from penstock.frames import coded
from penstock.statistics.base import State, Statistic

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

Conclusion = Callable[[Mapping[str, Sequence[State]]], Any]
"""What states come to: it takes those of all such steps of a dataset by name, each in the order of its statistics."""


@dataclass(frozen=True, eq=False)
class GatherStep(Step):
    """Gathers statistics of the rows as they are at its place among the steps; the rows go on as they are.

    Whatever writes a dataset hands what was gathered to `conclude`, when all rows are staged and before they are put in
    place: what it returns is in `WriteResult.reports` by the name of the step, and what it raises leaves the output as
    it was. Scans that write nothing gather it and let it go; so do `persist` and queries, whose rows are written later.

    Parameters
    ----------
    name : str
        Of no other such step of a dataset.
    statistics : tuple of Statistic
        None whose states grow with the rows: those of all fragments come to the process that writes.
    conclude : callable, optional
        See `Conclusion`; it stays where the dataset is, and need not be picklable.
    """

    name: str
    statistics: tuple[Statistic, ...]
    conclude: Conclusion | None = None

    @property
    def label(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[type[GatherStep], tuple[str, tuple[Statistic, ...]]]:
        return GatherStep, (self.name, self.statistics)

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        return wanted.union(*(each.reads for each in self.statistics))

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        for name in dict.fromkeys(name for each in self.statistics for name in each.reads):
            coded.hold_in_task(frame[name].to_native())  # texts that are counted here are encoded further on
        log.gathered.setdefault(self.name, []).append([each.summarise(frame) for each in self.statistics])
        return frame


def conclude(dataset: Dataset, log: RowLog) -> dict[str, Any]:
    """Return what the steps of a dataset conclude from what was gathered while its rows were written, by name.

    Raises
    ------
    PenstockError
        As a conclusion says.
    """
    steps = [step for step in dataset.steps if isinstance(step, GatherStep)]
    arity = dataset.engine.arity
    merged = {step.name: _merged(step.statistics, log.gathered.pop(step.name), arity) for step in steps}
    return {step.name: step.conclude(merged) for step in steps if step.conclude is not None}


def _merged(statistics: Sequence[Statistic], parts: Sequence[Sequence[State]], arity: int) -> list[State]:
    """Return the states of all rows from those of fragments, merged in the tree that a scan merges them in."""
    while len(parts) > 1:
        groups = [parts[first : first + arity] for first in range(0, len(parts), arity)]
        parts = [_joined(statistics, group) for group in groups]
    return list(parts[0])


def _joined(statistics: Sequence[Statistic], parts: Sequence[Sequence[State]]) -> list[State]:
    by_statistic = zip(*parts, strict=True)
    return [statistic.merge(states) for statistic, states in zip(statistics, by_statistic, strict=True)]
