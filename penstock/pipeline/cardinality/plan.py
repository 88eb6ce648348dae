"""The plan of counting: a way for each column, within the memory for counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.core.scheduler import Scheduler
from penstock.core.schemas import shorten
from penstock.core.sizes import parse_bytes, show_bytes
from penstock.dataset.dataset import Dataset
from penstock.dataset.steps import output_schema
from penstock.dataset.tasks import Probe
from penstock.devices import memory_limit
from penstock.io.fragments import FRAGMENT_BYTES, row_bytes
from penstock.pipeline.cardinality.columns import ColumnCount, CountKey
from penstock.pipeline.cardinality.estimates import estimates
from penstock.statistics.distinct import shards
from penstock.statistics.distinct.footprint import Found, Held
from penstock.statistics.distinct.partitionable import partitionable_among
from penstock.statistics.distinct.top_k import ALL, TopK

LARGE = FRAGMENT_BYTES
"""Bytes of counts that any worker can be asked to hold, as it holds so many of rows; for more, values are estimated."""

ORDERED = 2
"""How often values are held in the end: as they were counted, and in order."""
PART_BYTES = 64 * 2**20
"""Bytes of a part, about: as many as are merged in a second."""


@dataclass(frozen=True)
class CountOptions:
    """The memory in which values of columns are counted.

    Parameters
    ----------
    memory_budget : int or str, optional
        Bytes that counts may take in any one process, ``"4GiB"`` say. Unless given, half of the memory that a process
        can have: of its machine, its container or its worker, shared among the tasks that run there at the same time.

    Raises
    ------
    ConfigError
        It is no size, or none above zero.

    Examples
    --------
    >>> CountOptions("1.5 GiB").memory_budget, CountOptions().of(2**30)
    (1610612736, 536870912)
    """

    memory_budget: int | str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.memory_budget, str):
            object.__setattr__(self, "memory_budget", parse_bytes(self.memory_budget))
        if self.memory_budget is not None and self.memory_budget <= 0:  # type: ignore[operator]
            raise ConfigError(f"memory_budget is {self.memory_budget!r}, expected more than 0 bytes")

    def of(self, memory: int) -> int:
        """Return the budget of a process that has so much memory."""
        return memory // 2 if self.memory_budget is None else int(self.memory_budget)


@dataclass(frozen=True)
class Budget:
    """What counts may take of memory, in bytes: of a task, and of the process that gets the result."""

    options: CountOptions
    engine: Scheduler

    @property
    def held(self) -> int:
        """How many states a task holds while it merges: those that it is given, and what they make."""
        return self.engine.arity + 1

    @cached_property
    def task(self) -> int:
        """Of a task."""
        return self.options.of(self.engine.task_memory)

    @cached_property
    def here(self) -> int:
        """Of this process."""
        return self.options.of(memory_limit())

    def of_column(self, columns: int) -> int:
        """Return what each of so many columns may take of a worker that merges eight states of all of them."""
        return min(LARGE, self.task // self.held // max(1, columns))

    def is_ample(self, bytes_: float) -> bool:
        """Return whether counts of so many bytes, at most, fit in any case, so that nobody need be asked.

        They do wherever Penstock runs at all; and in one process, which cuts nothing, where all are within its budget.
        """
        if self.engine.in_process:
            return bytes_ * ORDERED <= self.here
        return self.options.memory_budget is None and bytes_ * self.held <= LARGE

    def __str__(self) -> str:
        return show_bytes(self.here) + ("" if self.engine.in_process else f", of a task {show_bytes(self.task)}")


@dataclass(frozen=True)
class CountPlan:
    """How the columns of a scan are counted, and the memory for it."""

    columns: tuple[ColumnCount, ...]
    budget: Budget

    def applied(self, probes: Sequence[Probe]) -> list[Probe]:
        """Return the probes, told in how many parts to count.

        Raises
        ------
        ConfigError
            There is a `problem`.
        """
        problem = self.problem()
        if problem is not None:
            raise problem
        parts: dict[int, dict[str, int]] = {}
        for column in self.columns:
            if column.parts > 1:
                of_probe = parts.setdefault(column.position, {})
                of_probe[column.column] = max(column.parts, of_probe.get(column.column, 1))
        return [replace(probe, parts=parts.get(probe.position, {})) for probe in probes]

    def problem(self) -> ConfigError | None:
        """Return the error that what there is to be counted, at least, takes more than the budget."""
        brought = ORDERED * sum(column.brought_bytes for column in self.columns)
        merged = self.budget.held * sum(column.certain_bytes / column.parts for column in self.columns)
        if brought and brought > self.budget.here:
            return self._too_much(brought, "in this process", self.budget.here)
        if merged and not self.budget.engine.in_process and merged > self.budget.task:
            return self._too_much(merged, "in a task", self.budget.task)
        return None

    def _too_much(self, needed: float, where: str, budget: int) -> ConfigError:
        most = max(self.columns, key=lambda column: column.certain_bytes)
        assert most.estimate is not None
        return ConfigError(
            f"counting values takes at least {show_bytes(needed)} {where}, but the budget is {show_bytes(budget)}: by a"
            f" sample of {most.estimate.rows:,} rows, column {most.column!r} has {most.estimate.at_least:,} or more",
            hint="Hash them (HashBucket), ask for the most frequent alone (max_categories: on Dask and Spark, or with"
            " sketch_size), or raise memory_budget of CountOptions.",
            column=most.column,
        )

    def lines(self) -> list[str]:
        """Return how each column is counted, in words; columns that are counted alike in one line."""
        if not self.columns:
            return []
        alike: dict[str, list[str]] = {}
        for column in self.columns:
            alike.setdefault(column.way, []).append(column.column)
        problem = self.problem()
        told = [f"counts {shorten(names, 12)}: {way}" for way, names in alike.items()]
        refused = [] if problem is None else [f"refused: {problem.message}"]
        return [*told, f"budget of counts: {self.budget}", *refused]

    def counted(self, found: Mapping[CountKey, Found]) -> list[ColumnCount]:
        """Return the columns with what was found."""
        return [column.counted(found.get(column.key)) for column in self.columns]


def plan_counts(dataset: Dataset, probes: Sequence[Probe], options: CountOptions) -> CountPlan:
    """Return how the columns whose values `probes` count are counted; of the rows a sample is read, if any.

    Columns of so few rows that nobody need care are counted in one table. Of others the different values are estimated;
    where they take more than a part, on engines that have workers, they are cut into parts until a part, merged from
    eight, fits the budget.
    """
    budget = Budget(options, dataset.engine)
    columns = [column for probe in probes for column in _counted(dataset, probe)]
    if not columns or budget.is_ample(sum(column.bytes for column in columns)):
        return CountPlan(tuple(columns), budget)
    share = budget.of_column(len(columns))
    columns = _estimated(dataset, columns, share)
    if not dataset.engine.in_process and len(dataset.fragments) > 1:
        columns = [column if column.estimate is None else column.within(min(PART_BYTES, share)) for column in columns]
    return CountPlan(tuple(columns), budget)


def is_ample(dataset: Dataset, probes: Sequence[Probe], options: CountOptions) -> bool:
    """Return whether what `probes` count fits the budget in any case; no rows are read to know it."""
    columns = [column for probe in probes for column in _counted(dataset, probe)]
    return Budget(options, dataset.engine).is_ample(sum(column.bytes for column in columns))


def _estimated(dataset: Dataset, columns: list[ColumnCount], share: int) -> list[ColumnCount]:
    wanted: dict[int, list[str]] = {}
    for column in columns:
        if column.held.most is None and column.bytes > share:
            wanted.setdefault(column.position, []).append(column.column)
    known = estimates(dataset, wanted) if wanted else {}
    return [column.estimated(known.get((column.position, column.column))) for column in columns]


def _counted(dataset: Dataset, probe: Probe) -> list[ColumnCount]:
    footprints = [each.footprints() for each in partitionable_among(probe.statistics)]
    if not any(footprints):
        return []
    schema = output_schema(dataset.steps[: probe.position], dataset.reader.source.schema)
    rows = sum(fragment.rows for fragment in dataset.fragments)
    return [
        _column(probe.position, schema.field(name), rows, held, probe.retention.get(name, ALL))
        for of_columns in footprints
        for name, held in of_columns.items()
    ]


def _column(position: int, field: pa.Field, rows: int, held: Held, keep: TopK) -> ColumnCount:
    lists = pa.types.is_list(field.type)
    kind = field.type.value_type if lists else field.type
    return ColumnCount(
        position, field.name, rows, row_bytes(pa.schema({field.name: kind})), held,
        lists=lists, divisible=shards.divisible(kind), keep=keep if held.prunable else ALL,
    )  # fmt: skip
