"""Columns whose values are all in another dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, ClassVar, Self

import narwhals as nw

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.rules.base import DatasetRule, RuleVerdict
from penstock.rules.key_column import MOST_KEYS, key_columns, key_of, too_many_keys
from penstock.rules.references import dataset_of
from penstock.statistics.base import Statistic

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


@dataclass(frozen=True)
class ForeignKey(DatasetRule):
    """Every value of a column, or of several together, is in another dataset.

    The engine's query engine counts the rows that have no match, in a query besides the scan of the other rules.

    Parameters
    ----------
    columns : str or sequence of str
    reference : Dataset or path
        On the same engine. Of files the format is found by the suffix; Parquet where there is none.
    reference_columns : str or sequence of str, optional
        Those of the reference, in the same order; called as `columns` unless given.

    Notes
    -----
    A row that has null in one of the columns keeps the rule, as in SQL; a null of the reference matches nothing.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> engine = ps.LocalEngine(device="cpu")
    >>> zones = engine.from_arrow(pa.table({"id": [1, 2]}))
    >>> trips = engine.from_arrow(pa.table({"zone": [1, 7, None, 2]}))
    >>> print(trips.check(ps.rules.ForeignKey("zone", zones, "id")).outcomes[0].message)
    1 rows have no match in the reference, the first with zone = 7 in <memory>, row 1
    """

    columns: str | Sequence[str]
    reference: Any
    reference_columns: str | Sequence[str] = ()
    _: KW_ONLY

    names_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        columns = key_columns(self.columns, "ForeignKey")
        others = key_columns(self.reference_columns, "ForeignKey") if self.reference_columns else columns
        if len(columns) != len(others):
            problem = f"ForeignKey has {len(columns)} columns and {len(others)} of the reference, expected as many"
            raise ConfigError(problem, hint='Write ForeignKey(["a", "b"], reference, ["x", "y"]).')
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "reference_columns", others)

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(self.columns)

    @property
    def expected(self) -> str:
        return f"a match in {', '.join(self.reference_columns)} of the reference"

    def bind(self, dataset: Dataset) -> Self:
        """Open the reference, and check that the keys can be compared."""
        super().bind(dataset)
        bound = replace(self, reference=dataset_of(self.reference, dataset, "ForeignKey"))
        bound._unmatched(dataset)
        return bound

    def statistics(self, dataset: Dataset) -> dict[str, Statistic]:
        """Return none: it is a query."""
        return {}

    def others(self, dataset: Dataset) -> dict[str, Any]:
        """Return the number of rows without a match, and the first key that has none."""
        unmatched = self._unmatched(dataset)
        return {"broken": unmatched.count(), "first": next(unmatched.head(1).iter_rows(named=True), None)}

    def _unmatched(self, dataset: Dataset) -> Dataset:
        keys = dataset.select(list(self.reads)).filter(reduce(and_, [~nw.col(name).is_null() for name in self.reads]))
        others = self.reference.select(list(self.reference_columns))
        return keys.join(others, left_on=list(self.reads), right_on=list(self.reference_columns), how="anti")

    def rows_to_set_aside(self, dataset: Dataset) -> nw.Expr:
        """Return whether the key of a row is one of those without a match, which a query looks for first.

        Raises
        ------
        DataValueError
            Too many different keys have none.
        """
        keys = self._unmatched(dataset).unique().limit(MOST_KEYS + 1).to_arrow()
        if keys.num_rows > MOST_KEYS:
            hint = 'Look at the reference; or leave the rows out by join(..., how="semi").'
            raise too_many_keys(self.title, "have no match", hint)
        key = key_of(dataset.schema, self.reads, self.title)
        texts = frames.from_arrow(keys).select(key=key)["key"].to_list()
        return key.is_in(texts)

    def judge(self, results: Mapping[str, Any]) -> RuleVerdict:
        """Pass where no row is without a match."""
        broken, first = results["broken"], results["first"]
        message = f"{broken:,} rows have no match in the reference"
        predicate = first and reduce(and_, [nw.col(name) == value for name, value in first.items()])
        return RuleVerdict(not broken, broken, message, broken, first, predicate=predicate)
