"""One pass over the data: what is gathered in it, each thing once, for all statistics that are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from penstock.dataset.tasks import Probe
from penstock.pipeline.fills import Fill
from penstock.statistics.base import ColumnStatistic, State, Statistic
from penstock.statistics.distinct.counts_provider import CountsProvider, provided_counts
from penstock.statistics.distinct.partitionable import partitionable_among
from penstock.statistics.distinct.top_k import TopK
from penstock.statistics.distinct.value_counts import ValueCounts

_COUNTS = ValueCounts(())


@dataclass(frozen=True)
class StatisticRequest:
    """A statistic that a stage asks for, and the earliest place along the pipeline where its columns are the same.

    ``fills`` are the columns that are gathered with nulls in place of which a value stands in the end.
    """

    stage: int
    name: str
    statistic: Statistic
    position: int
    fills: tuple[tuple[str, Fill], ...] = ()


@dataclass(frozen=True)
class StatisticGather:
    """A statistic that is gathered at a place along the pipeline, and what is answered from its state.

    Attributes
    ----------
    requests : tuple of StatisticRequest
        Those whose state it is; the state may be of more columns than they have.
    counts : tuple of (StatisticRequest, tuple of str)
        Those for :class:`ValueCounts`, with the columns whose counts are read off the state.
    """

    position: int
    statistic: Statistic
    requests: tuple[StatisticRequest, ...]
    counts: tuple[tuple[StatisticRequest, tuple[str, ...]], ...] = ()

    @property
    def stages(self) -> list[int]:
        """The stages that it is gathered for."""
        return sorted({request.stage for request in (*self.requests, *(request for request, _ in self.counts))})


@dataclass(frozen=True)
class Pass:
    """One pass over the data: the statistics that are asked for, and what is gathered for them.

    Equal statistics at one place are gathered once, and those of one kind over all their columns. How often values
    occur is not counted where it can be read off something else that is gathered of the same column.

    Examples
    --------
    >>> from penstock.statistics.grouped.group_sums import GroupSums
    >>> sums = GroupSums(("a",), "y", "infinite")
    >>> statistics = [ValueCounts(("a", "b")), sums, ValueCounts(("c",))]
    >>> asked = [StatisticRequest(0, str(place), each, 0) for place, each in enumerate(statistics)]
    >>> [gather.statistic for gather in Pass.of(asked).gathers] == [sums, ValueCounts(("b", "c"))]
    True
    """

    requests: tuple[StatisticRequest, ...]
    gathers: tuple[StatisticGather, ...]

    @classmethod
    def of(cls, requests: Sequence[StatisticRequest]) -> Pass:
        """Return the pass that answers all `requests`."""
        by_position: dict[int, list[StatisticRequest]] = {}
        for request in requests:
            by_position.setdefault(request.position, []).append(request)
        fused = [_fused(position, by_position[position]) for position in sorted(by_position)]
        return cls(tuple(requests), tuple(chain.from_iterable(fused)))

    def probes(self, steps: int = 0, *, whole: bool = False) -> list[Probe]:
        """Return what to gather where, from a dataset that has so many steps before the pipeline.

        States are cut down to what is asked of them, unless they are wanted as a `whole`, to be merged with others.
        """
        return [
            Probe(
                steps + position,
                tuple(gather.statistic for gather in self.gathers if gather.position == position),
                {} if whole else _retention([each.statistic for each in self.requests if each.position == position]),
            )
            for position in sorted({request.position for request in self.requests})
        ]

    def answers(self, states: Sequence[Sequence[State]]) -> list[tuple[StatisticRequest, State]]:
        """Return each request with its state, which may be fused over more columns, from the states of `probes`."""
        answered: dict[tuple[int, str], State] = {(request.stage, request.name): {} for request in self.requests}
        for gather, state in zip(self.gathers, chain.from_iterable(states), strict=True):
            for request in gather.requests:
                answered[request.stage, request.name] = state
            for request, columns in gather.counts:
                assert isinstance(gather.statistic, CountsProvider)
                answered[request.stage, request.name] |= gather.statistic.value_counts(state, columns)
        return [(request, answered[request.stage, request.name]) for request in self.requests]


def _fused(position: int, requests: Sequence[StatisticRequest]) -> list[StatisticGather]:
    """Return what is gathered at one place."""
    alike: dict[Statistic, list[StatisticRequest]] = {}
    for request in requests:
        statistic = request.statistic
        template = statistic.template() if isinstance(statistic, ColumnStatistic) else statistic
        alike.setdefault(template, []).append(request)
    counts = alike.pop(_COUNTS, [])
    gathers = [StatisticGather(position, _union(template, asking), tuple(asking)) for template, asking in alike.items()]
    return _with_counts(position, gathers, counts) if counts else gathers


def _union(template: Statistic, requests: Sequence[StatisticRequest]) -> Statistic:
    """Return the statistic over the columns of all requests that differ in nothing else."""
    if len(requests) == 1 or not isinstance(template, ColumnStatistic):
        return requests[0].statistic
    return template.with_columns(_columns(requests))


def _columns(requests: Sequence[StatisticRequest]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for request in requests for name in request.statistic.columns))


def _with_counts(
    position: int, gathers: Sequence[StatisticGather], counts: Sequence[StatisticRequest]
) -> list[StatisticGather]:
    """Return what is gathered when counts of values are asked for too, which some of `gathers` may provide."""
    missing, done = list(_columns(counts)), []
    for gather in gathers:
        provided = [name for name in provided_counts(gather.statistic) if name in missing]
        missing = [name for name in missing if name not in provided]
        done.append(StatisticGather(position, gather.statistic, gather.requests, _asking(counts, provided)))
    beside = StatisticGather(position, ValueCounts(tuple(missing)), (), _asking(counts, missing))
    return [*done, beside] if missing else done


def _asking(
    counts: Sequence[StatisticRequest], columns: Sequence[str]
) -> tuple[tuple[StatisticRequest, tuple[str, ...]], ...]:
    """Return the requests for counts of some of the columns, with those columns."""
    asked = [(each, tuple(name for name in each.statistic.columns if name in columns)) for each in counts]
    return tuple((request, names) for request, names in asked if names)


def _retention(statistics: Sequence[Statistic]) -> dict[str, TopK]:
    """Return by column which counted values any of several statistics asks for, unless it is all."""
    retention: dict[str, TopK] = {}
    for statistic in partitionable_among(statistics):
        for name, keep in statistic.retention().items():
            retention[name] = retention[name] | keep if name in retention else keep
    return {name: keep for name, keep in retention.items() if not keep.all}
