"""What is known of columns and rows at a place along a pipeline, from which level on, and what can be gathered then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from penstock.frames import ROW
from penstock.pipeline.fills import Fill, fills_after
from penstock.pipeline.fusion import StatisticRequest
from penstock.stages.step import StageStep
from penstock.statistics.base import Statistic
from penstock.statistics.counts import Counts
from penstock.statistics.unfilled import Unfilled, as_fillable


class Readiness:
    """From which level on each column, and the set of rows, is as it will be for the stages to come."""

    def __init__(self, schema: pa.Schema) -> None:
        self._columns = dict.fromkeys([*schema.names, ROW], 0)
        self._rows = 0
        self._written: dict[str, int] = {}
        self._cut = 0
        self._fills: dict[str, Fill] = {}

    def of(self, columns: Iterable[str]) -> int:
        """Return from which level on these columns, and the set of rows, are known."""
        return max([self._rows, *(self._columns[name] for name in columns)])

    def requests(self, stage: int, statistics: Mapping[str, Statistic]) -> tuple[int, list[StatisticRequest]]:
        """Return from which level on the statistics of a stage can be gathered, and what is asked for then.

        What waits for nothing but a value that another stage puts in place of nulls is gathered with the nulls, and
        these are counted.
        """
        reads = {name: statistic.reads for name, statistic in statistics.items()}
        if not any(name in self._fills for names in reads.values() for name in names):
            level = max([self._rows, *map(self.of, reads.values())])
            return level, [self._request(stage, name, each, reads[name]) for name, each in statistics.items()]
        level = max(self._of_unfilled(each, reads[name]) for name, each in statistics.items())
        asked = [
            self._request(stage, name, each, reads[name], self._late(reads[name], level))
            for name, each in statistics.items()
        ]
        return level, [*asked, *_counts_of_nulls(stage, asked)]

    def _of_unfilled(self, statistic: Statistic, reads: Iterable[str]) -> int:
        """Return from which level on a statistic can be gathered, with nulls where it can be told of their values."""
        if as_fillable(statistic) is None:
            return self.of(reads)
        levels = (self._fills[name].level if name in self._fills else self._columns[name] for name in reads)
        return max([self._rows, *levels])

    def _late(self, reads: Iterable[str], level: int) -> tuple[tuple[str, Fill], ...]:
        """Return the columns that are gathered with nulls, as these are filled later than at `level`."""
        return tuple((name, self._fills[name]) for name in reads if self._columns[name] > level)

    def _request(
        self,
        stage: int,
        name: str,
        statistic: Statistic,
        reads: Iterable[str],
        fills: tuple[tuple[str, Fill], ...] = (),
    ) -> StatisticRequest:
        fillable = as_fillable(statistic) if fills else None
        wanted = statistic if fillable is None else Unfilled.of(fillable)
        return StatisticRequest(stage, name, wanted, self._earliest(reads), fills)

    def _earliest(self, columns: Iterable[str]) -> int:
        """Return the first position at which these columns have the values, and rows, that they have now."""
        return max([self._cut, *(self._written.get(name, 0) for name in columns)])

    def note(self, step: StageStep, level: int, schema: pa.Schema, *, learns: bool = False) -> None:
        """Take account of what a stage writes, and drops, from `level` on; `schema` is that before it."""
        if self._fills or learns:
            self._fills = fills_after(step, schema, self._fills, self.of(step.inputs) if learns else None)
        for name in step.stage.outputs():
            self._columns[name], self._written[name] = level, step.position + 1
        for name in step.doubtful:
            self._columns[name] = max(self._columns[name], level)
        if not step.keeps_rows:
            self._rows, self._cut = level, step.position + 1


def _counts_of_nulls(stage: int, requests: Iterable[StatisticRequest]) -> list[StatisticRequest]:
    """Return the statistics that count the nulls that other stages fill, where these have been filled."""
    fills = {(fill.position, fill.filled): fill.nulls for request in requests for _, fill in request.fills}
    columns: dict[tuple[int, str], list[str]] = {}
    for (position, filled), name in fills.items():
        columns.setdefault((position, name), []).append(filled)
    return [
        StatisticRequest(stage, name, Counts(tuple(names)), position + 1) for (position, name), names in columns.items()
    ]
