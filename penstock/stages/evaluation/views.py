"""Ways to look at the rows of one scan: all together, in slices, and as replicates of a bootstrap."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaError
from penstock.core.names import column_names
from penstock.core.schemas import require
from penstock.stages.evaluation.base import Evaluator
from penstock.stages.evaluation.result import Evaluation
from penstock.statistics.base import Statistic
from penstock.statistics.counts import RowCount
from penstock.statistics.grouped.base import Grouped, Ungrouped
from penstock.statistics.grouped.bootstrap import WEIGHT, Resampled
from penstock.statistics.grouped.slices import Sliced

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

Members = Mapping[str, Evaluator]
"""Evaluators by name; the names of those that were given none are numbers."""

Asked = Mapping[str, Mapping[str, Statistic]]
"""What each member asks for, by names of its own."""

Results = Mapping[str, Mapping[str, Any]]
"""The finished statistics of each member, by the names that it gave them."""


@dataclass(frozen=True)
class Bootstrap:
    """A Poisson bootstrap: every replicate counts each row as often as its number and the seed say.

    Parameters
    ----------
    replicates : int, default 200
        How many, at least 2.
    seed : int, default 0
    confidence : float, default 0.95
        Share of the replicates that an interval covers, between 0 and 1; its ends are percentiles.

    Examples
    --------
    >>> Bootstrap(100).confidence
    0.95
    """

    replicates: int = 200
    seed: int = 0
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if self.replicates < 2:
            raise ConfigError(f"replicates is {self.replicates}, expected at least 2", hint="200 is usual.")
        if not 0 < self.confidence < 1:
            raise ConfigError(f"confidence is {self.confidence}, expected a number between 0 and 1, such as 0.95")

    def interval(self, values: Sequence[float | None]) -> tuple[float, float] | None:
        """Return the percentiles of a metric over the replicates that define it; None where fewer than half do."""
        defined = [value for value in values if value is not None]
        if 2 * len(defined) < len(values):
            return None
        tail = (1 - self.confidence) / 2
        low, high = np.quantile(defined, [tail, 1 - tail])
        return float(low), float(high)


@dataclass(frozen=True)
class View(ABC):
    """Evaluators as one way to look at the rows sees them, and the columns that it shows them.

    Metrics are called after their member where members are `prefixed`.
    """

    members: Members
    schema: pa.Schema
    prefixed: bool

    def statistics(self) -> Asked:
        """Return what is asked for first."""
        return {name: evaluator.statistics(self.schema) for name, evaluator in self.members.items()}

    def follow_ups(self, whole: Results) -> Asked:
        """Return what is asked for once the results of all rows are known."""
        return {name: each.follow_up(self.schema, whole[name]) for name, each in self.members.items()}

    @abstractmethod
    def group(self, statistics: Sequence[Statistic]) -> Grouped:
        """Return the statistics of each set of rows that this view is made of."""

    @abstractmethod
    def report(self, found: Mapping[Hashable, Results]) -> Evaluation:
        """Return what there is to tell, from the results of every set of rows."""

    def _finished(self, results: Results) -> Evaluation:
        each = ((name, evaluator.finish(results[name])) for name, evaluator in self.members.items())
        return Evaluation.joined(found.named(name) if self.prefixed else found for name, found in each)


class AllRows(View):
    """The metrics themselves."""

    def group(self, statistics: Sequence[Statistic]) -> Grouped:
        """Return the statistics of all rows."""
        return Ungrouped.of(statistics)

    def report(self, found: Mapping[Hashable, Results]) -> Evaluation:
        """Return the metrics, with reasons and tables."""
        return self._finished(found[()])


@dataclass(frozen=True)
class Slices(View):
    """Every metric for every value of some columns."""

    by: tuple[str, ...]

    def statistics(self) -> Asked:
        """Return what is asked for first, and the number of rows."""
        return {"": {"rows": RowCount()}, **super().statistics()}

    def group(self, statistics: Sequence[Statistic]) -> Grouped:
        """Return the statistics of each slice."""
        return Sliced.of(self.by, statistics)

    def report(self, found: Mapping[Hashable, Results]) -> Evaluation:
        """Return one table: the slices, largest first, then by value."""
        slices = [(key, results[""]["rows"], self._finished(results)) for key, results in found.items()]
        slices.sort(key=lambda each: (-each[1], [(value is not None, value) for value in each[0]]))  # type: ignore[attr-defined]
        columns = {
            name: pa.array([key[place] for key, _, _ in slices], self.schema.field(name).type)  # type: ignore[index]
            for place, name in enumerate(self.by)
        }
        columns["rows"] = pa.array([rows for _, rows, _ in slices], pa.int64())
        metrics = list(slices[0][2]) if slices else []
        columns |= {name: pa.array([each[name] for _, _, each in slices], pa.float64()) for name in metrics}
        return Evaluation(slices={",".join(self.by): pa.table(columns)})


def check_slice(schema: pa.Schema, by: str | Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a slice; SchemaError for one that is missing, or whose values are not such."""
    names = tuple(dict.fromkeys(column_names(by, "slices")))
    if not names:
        raise ConfigError("a slice is by no column", hint='Name columns: slices=["country", ("country", "device")].')
    require(schema, names, stage="slices")
    for name in names:
        _check_sliceable(name, schema.field(name).type)
    return names


def _check_sliceable(name: str, kind: pa.DataType) -> None:
    known = (pa.types.is_string, pa.types.is_large_string, pa.types.is_boolean, pa.types.is_integer, pa.types.is_date)
    if not any(test(kind) for test in known):
        raise SchemaError(
            f"column {name!r} is {kind}, but slices are by strings, booleans, integers or dates",
            hint="Cut it into ranges, or convert it, before.",
            column=name,
        )


@dataclass(frozen=True)
class Replicates(View):
    """Replicates of every metric, for evaluators that share a column of weights, or have none."""

    bootstrap: Bootstrap
    weight: str | None

    @classmethod
    def of(cls, members: Members, dataset: Dataset, prefixed: bool, bootstrap: Bootstrap) -> Iterator[Replicates]:
        """Yield a view for each column of weights.

        Raises
        ------
        ConfigError
            The rows have lost their numbers, which decide how often a row is drawn.
        """
        if any(step.makes_rows for step in dataset.steps):
            raise ConfigError(
                "a bootstrap draws rows by their numbers, but map_partitions has made new rows",
                hint="Write the rows and evaluate what was written, or leave the bootstrap out.",
            )
        schema = dataset.schema.append(pa.field(WEIGHT, pa.float64()))
        for weight in dict.fromkeys(each.weight for each in members.values()):
            alike = {
                name: each.reweighted(WEIGHT).bind(schema) for name, each in members.items() if each.weight == weight
            }
            yield cls(alike, schema, prefixed, bootstrap, weight)

    def group(self, statistics: Sequence[Statistic]) -> Grouped:
        """Return the replicates of the statistics."""
        bootstrap = self.bootstrap
        return Resampled.of(statistics, weight=self.weight, replicates=bootstrap.replicates, seed=bootstrap.seed)

    def report(self, found: Mapping[Hashable, Results]) -> Evaluation:
        """Return the interval of each metric."""
        replicates = [self._finished(results) for results in found.values()]
        ends = {name: self.bootstrap.interval([each[name] for each in replicates]) for name in replicates[0]}
        return Evaluation(intervals={name: each for name, each in ends.items() if each is not None})
