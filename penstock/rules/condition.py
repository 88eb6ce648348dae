"""A condition that rows keep."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Self

import narwhals as nw

from penstock.core.errors import ConfigError
from penstock.expressions import parse
from penstock.rules.row_rule import BrokenRowCount, RowRule

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


@dataclass(frozen=True)
class Condition(RowRule):
    """At most some rows break a condition.

    Parameters
    ----------
    condition : str
        In Python's syntax, as of the stage `Expect`: ``"0 <= age < 120"``, ``"low <= high"``.
    most_broken : int, default=0
        How many rows may break it.

    Notes
    -----
    A null leaves a comparison open, and open counts as broken, as with `Expect`; ``"x is None or x > 0"`` lets nulls
    keep it.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"age": [31, 200, None]}))
    >>> print(data.check(ps.rules.Condition("0 <= age < 120")).outcomes[0].message)
    2 of 3 rows break the rule, the first with age = 200 in <memory>, row 1
    >>> data.check(ps.rules.Condition("age is None or age < 120", most_broken=1)).passed
    True
    """

    condition: str
    _: KW_ONLY
    most_broken: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        parse(self.condition)
        if isinstance(self.most_broken, bool) or not isinstance(self.most_broken, int) or self.most_broken < 0:
            raise ConfigError(f"most_broken of Condition is {self.most_broken!r}, expected a number of rows")
        self.refuse_allowance("most_broken")

    @property
    def reads(self) -> tuple[str, ...]:
        return parse(self.condition).columns

    @property
    def expected(self) -> str:
        allowed = f" in all but {self.most_broken:,} rows" if self.most_broken else ""
        return f"{self.condition}{allowed}"

    def bind(self, dataset: Dataset) -> Self:
        """Check that the condition suits the columns."""
        parse(self.condition).check(dataset.schema, stage=self.title)
        return self

    def broken_by(self) -> nw.Expr:
        """Return whether the condition does not hold."""
        return ~parse(self.condition).expr

    def allows(self, found: BrokenRowCount) -> bool:
        """Return whether so many rows may break it."""
        return found.broken <= self.most_broken
