"""Columns of which no two rows have the same values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import narwhals as nw

from penstock.rules.base import DatasetRule, RuleVerdict
from penstock.rules.key_column import key_columns, key_name, key_of, with_key
from penstock.rules.limits import show
from penstock.statistics.base import Statistic
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
    are the same.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> table = pa.table({"day": [1, 1, 2, 1], "shop": ["a", "b", "a", "b"], "id": [7, 8, None, None]})
    >>> report = ps.LocalEngine(device="cpu").from_arrow(table).check(ps.rules.Unique(["day", "shop"]))
    >>> print(report.outcomes[0].message)
    2 rows have values that occur more than once, the most frequent 2 times, the first in <memory>, row 1
    """

    columns: str | Sequence[str]

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
