"""What texts look like: padded by spaces, empty, or numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from penstock import frames
from penstock.statistics.aggregates import aggregate
from penstock.statistics.base import ColumnStatistic, State, merge_fields

_NUMBER = r"^[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_FORMS: Mapping[str, Callable[[nw.Expr], nw.Expr]] = {
    "count": lambda column: ~column.is_null(),
    "empty": lambda column: column == "",
    "padded": lambda column: column.str.strip_chars() != column,
    "numeric": lambda column: column.str.contains(_NUMBER),
    "codes": lambda column: column.str.contains("^0[0-9]+$"),
}
"""By name, what is true of texts of a form."""


@dataclass(frozen=True)
class TextForm:
    """How many texts of a column there are, and of these how many of some forms.

    Attributes
    ----------
    count : int
        Texts, nulls left out.
    empty : int
        Without any character.
    padded : int
        With blanks before or after.
    numeric : int
        Numbers, as ``-1.5e3``.
    codes : int
        Digits that begin with 0, as ``007``: codes, and no numbers.
    """

    count: int
    empty: int
    padded: int
    numeric: int
    codes: int


@dataclass(frozen=True)
class TextForms(ColumnStatistic):
    """The :class:`TextForm` of each column of texts.

    Examples
    --------
    >>> import pyarrow as pa
    >>> forms = TextForms(("s",))
    >>> forms.finish(forms.summarise(frames.from_arrow(pa.table({"s": ["1.5", " a", "", "007", None]}))))["s"]
    TextForm(count=4, empty=1, padded=1, numeric=1, codes=1)
    """

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Look at the different texts of one partition, which are mostly few, and count them as often as they occur."""
        counted = frames.value_counts(frame, self.columns)
        return {name: _counted(frames.from_arrow(counted[name])) for name in self.columns}

    def merge_column(self, states: Sequence[State]) -> State:
        """Add up."""
        return merge_fields(states, **dict.fromkeys(_FORMS, sum))

    def finish_column(self, name: str, state: State) -> TextForm:
        """Return the forms of one column."""
        return TextForm(**state)


def _counted(values: nw.DataFrame[Any]) -> State:
    forms = {form: nw.when(test(nw.col("value"))).then(nw.col("count")).sum() for form, test in _FORMS.items()}
    return {form: int(count or 0) for form, count in aggregate(values, forms).items()}
