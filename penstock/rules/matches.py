"""A column whose texts match a pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.rules.base import ColumnRule, require_type
from penstock.rules.row_rule import RowRule

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


@dataclass(frozen=True)
class Matches(ColumnRule, RowRule):
    r"""Every text of a column matches a regular expression as a whole.

    Parameters
    ----------
    column : str
        Of texts.
    regex : str
        As Polars (Rust's regex) has them: without look-around and references back. The whole text has to match, as with
        Python's ``fullmatch``; write ``.*x.*`` for texts with an x in them.

    Notes
    -----
    Null keeps the rule; an empty text is matched as any other.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"zip": ["8001", None, "80012"]}))
    >>> print(data.check(ps.rules.Matches("zip", r"\d{4}")).outcomes[0].message)
    1 of 3 rows breaks the rule, the first with zip = '80012' in <memory>, row 2
    """

    regex: str

    def __post_init__(self) -> None:
        super().__post_init__()
        check_regex(self.regex)

    @property
    def expected(self) -> str:
        return f"texts that match {self.regex!r}"

    def bind(self, dataset: Dataset) -> Self:
        """Check that the column is of texts."""
        field = super().bind(dataset) and dataset.schema.field(self.column)
        require_type(field, self, [pa.types.is_string], "texts")
        return self

    def broken_by(self) -> nw.Expr:
        """Return whether the text does not match."""
        return ~nw.col(self.column).str.contains(f"^(?:{self.regex})$")


def check_regex(regex: object) -> None:
    """Raise ConfigError unless a value is a regular expression as Polars has them.

    Examples
    --------
    >>> check_regex("(a")
    Traceback (most recent call last):
    penstock.errors.ConfigError: regex of Matches is '(a', which is no regular expression: unclosed group
    """
    import polars as pl

    if not isinstance(regex, str):
        raise ConfigError(f"regex of Matches is {regex!r}, expected text")
    try:
        for pattern in (regex, f"^(?:{regex})$"):  # by itself too: "a)|(b" is one only within brackets
            pl.Series([""]).str.contains(pattern)
    except pl.exceptions.ComputeError as error:
        told = [line for line in str(error).splitlines() if line.startswith("error: ")] or str(error).splitlines()
        reason = told[0].removeprefix("error: ")
        raise ConfigError(f"regex of Matches is {regex!r}, which is no regular expression: {reason}") from error
