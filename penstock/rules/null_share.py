"""The share of rows in which a column has no value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import narwhals as nw

from penstock.rules.base import ColumnRule
from penstock.rules.limits import check_share
from penstock.rules.row_rule import BrokenRowCount, RowRule


@dataclass(frozen=True)
class NullShare(ColumnRule, RowRule):
    """At most a share of the rows has null in a column.

    Parameters
    ----------
    column : str
    most : float, default=0.0
        From 0 to 1. Of no rows the share is 0.

    Notes
    -----
    Null is what is counted, and a NaN of a file is null. An empty text is a value.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"age": [31, None, 58, None]}))
    >>> print(data.check(ps.rules.NullShare("age", most=0.25)).outcomes[0].message)
    2 of 4 rows are null, a share of 0.5, the first with age = null in <memory>, row 1
    """

    _: KW_ONLY
    most: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("NullShare", "most", self.most)
        self.refuse_allowance("most")

    @property
    def expected(self) -> str:
        return f"at most {self.most:.6g} of the rows null" if self.most else "no nulls"

    def broken_by(self) -> nw.Expr:
        """Return whether the value is null."""
        return nw.col(self.column).is_null()

    def allows(self, found: BrokenRowCount) -> bool:
        """Return whether the share is small enough."""
        return found.share <= self.most

    def observed(self, results: Mapping[str, Any]) -> float:
        """Return the share."""
        return results["broken"].share

    def told(self, found: BrokenRowCount, observed: Any) -> str:
        """Return what was found, in words."""
        return f"{found.broken:,} of {found.rows:,} rows are null, a share of {observed:.6g}"
