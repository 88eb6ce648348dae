"""Columns of which no two rows have the same values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import narwhals as nw
import polars as pl
import pyarrow as pa

from penstock import frames
from penstock.dataset.steps import check_numbered
from penstock.dataset.tasks import Probe
from penstock.frames import ROW
from penstock.pipeline.cardinality import CountOptions, plan_counts
from penstock.rules.base import DatasetRule, RuleVerdict
from penstock.rules.key_column import MOST_KEYS, key_columns, key_name, key_of, too_many_keys, with_key
from penstock.rules.limits import show
from penstock.statistics.base import State, Statistic
from penstock.statistics.distinct.frequencies import Frequencies
from penstock.statistics.distinct.top_k import TopK
from penstock.statistics.distinct.value_counts import ValueCounts

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


@dataclass(frozen=True)
class Unique(DatasetRule):
    """No two rows have the same value in a column, or the same values in several.

    Counted are all rows whose values occur more than once, exactly, in the memory that `dataset.check` is given; on
    Dask and Spark very many values are counted in parts, of which no worker holds more than one.

    Parameters
    ----------
    columns : str or sequence of str
        Of texts, numbers, booleans, dates and times.

    Notes
    -----
    A row that has null in one of the columns is equal to no other, as in SQL; `NullShare` is about nulls. 0.0 and -0.0
    are the same. With ``severity="quarantine"`` a write sets all rows of a value aside but the first.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> table = pa.table({"day": [1, 1, 2, 1], "shop": ["a", "b", "a", "b"], "id": [7, 8, None, None]})
    >>> report = ps.LocalEngine(device="cpu").from_arrow(table).check(ps.rules.Unique(["day", "shop"]))
    >>> print(report.outcomes[0].message)
    2 rows have values that occur more than once, the most frequent 2 times, the first in <memory>, row 1
    """

    columns: str | Sequence[str]

    names_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "columns", key_columns(self.columns, "Unique"))

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(self.columns)

    @property
    def expected(self) -> str:
        return f"each {'value' if len(self.reads) == 1 else 'key'} once"

    def bind(self, dataset: Dataset) -> Self:
        """Check that the columns have values that can be compared."""
        super().bind(dataset)
        key_of(dataset.schema, self.reads, self.title)
        return self

    def prepare(self, dataset: Dataset) -> Dataset:
        """Return the dataset with the key as one column of texts, unless a column is counted as it is."""
        return with_key(dataset, self.reads, self.title)

    def statistics(self, dataset: Dataset) -> dict[str, Statistic]:
        """Return the counts of values that occur more than once."""
        return {"counts": ValueCounts((key_name(dataset.schema, self.reads),), TopK(at_least=2))}

    def rows_to_set_aside(self, dataset: Dataset) -> nw.Expr:
        """Return whether a row is not the first with its values: two scans look for these first.

        Raises
        ------
        ConfigError
            Rows have no numbers, so that none is the first; or counting would take more than the memory.
        DataValueError
            Too many different values occur more than once.
        """
        check_numbered(dataset.steps, self.title, "Write the rows to Parquet, and read them again.")
        keyed, name = self.prepare(dataset), key_name(dataset.schema, self.reads)
        repeated = _repeated(keyed, name)
        if len(repeated) > MOST_KEYS:
            raise too_many_keys(self.title, "occur more than once", 'Leave them out by unique(..., keep="first").')
        states, _ = keyed.filter(nw.col(name).is_in(repeated)).gather((first := FirstRows((name,)),), "first rows")
        key = nw.col(name) if (name,) == self.reads else key_of(dataset.schema, self.reads, self.title)
        return key.is_in(repeated) & ~nw.col(ROW).is_in(first.finish(states[0]))

    def judge(self, results: Mapping[str, Any]) -> RuleVerdict:
        """Pass where no value occurs more than once."""
        ((name, counts),) = results["counts"].items()
        repeated: Frequencies = counts.at_least(2)
        broken, value = repeated.total, repeated.mode
        if not broken:
            return RuleVerdict(True, 0, "no value occurs more than once", 0)
        most = repeated.top(1).total
        shown = f" ({show(value)})" if (name,) == self.reads else ""
        message = f"{broken:,} rows have values that occur more than once, the most frequent{shown} {most:,} times"
        return RuleVerdict(False, broken, message, broken, predicate=nw.col(name) == value)


def _repeated(dataset: Dataset, name: str) -> list[Any]:
    """Return the values of a column that occur more than once."""
    counts = ValueCounts((name,), TopK(at_least=2))
    probes = [Probe(len(dataset.steps), (counts,), counts.retention())]
    plan = plan_counts(dataset, probes, CountOptions())
    states, _ = dataset.probe(plan.applied(probes) if plan.columns else probes, label="repeated")
    return counts.finish(states[0][0])[name].at_least(2).table["value"].to_pylist()


@dataclass(frozen=True)
class FirstRows(Statistic):
    """The numbers of the first rows in a dataset of each value of one column, ascending; null is no value.

    A state is as large as the different values are many.

    Examples
    --------
    >>> first = FirstRows(("x",))
    >>> parts = [{"x": ["b", None], ROW: [4, 5]}, {"x": ["a", "b"], ROW: [6, 7]}]
    >>> first.finish(first.merge([first.summarise(frames.from_arrow(pa.table(part))) for part in parts]))
    [4, 6]
    """

    @property
    def reads(self) -> tuple[str, ...]:
        """The column, and row numbers."""
        return (*self.columns, ROW)

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Find the first rows of one partition."""
        rows = frame.select(value=nw.col(*self.columns), row=nw.col(ROW)).drop_nulls()
        return self.merge([frames.to_arrow(rows)])

    def merge(self, states: Sequence[State]) -> State:
        """Keep the smaller number of each value."""
        rows = pl.DataFrame(pa.concat_tables(states)).group_by("value", maintain_order=True).agg(pl.col("row").min())
        return rows.to_arrow().cast(states[0].schema)

    def finish(self, state: State) -> list[int]:
        """Return the numbers."""
        return sorted(state["row"].to_pylist())
