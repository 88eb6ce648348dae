"""Rules that values keep or break: one definition for counting, for finding and for refusing bad rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import narwhals as nw

from penstock.core.errors import ConfigError, DataValueError, check_one_of
from penstock.statistics.aggregates import count_true

Values = tuple[Any, ...]
LARGE = 1e150
"""The largest number whose square float64 can add up: its root of the largest number, with room for a sum."""


def _number(column: nw.Expr) -> nw.Expr:
    return column.cast(nw.Float64)


def _not_between(column: nw.Expr, values: Values) -> nw.Expr:
    low, high = values
    return (column < low) | (column > high)


def _lists_with_repeats(column: nw.Expr, _: Values) -> nw.Expr:
    return column.list.unique().list.len() != column.list.len()


def _not_a_class(column: nw.Expr, values: Values) -> nw.Expr:
    texts = isinstance(values[0], str)
    known: nw.Expr = column.is_in(values) if texts else _number(column).is_in([float(value) for value in values])
    return ~known & ~column.is_null()


def _not_float32(column: nw.Expr, values: Values) -> nw.Expr:
    number = _number(column)
    near = number.cast(nw.Float32).cast(nw.Float64)  # infinite beyond the range of float32
    return (near != number) & ((near - number).abs() > values[0] * number.abs())


_BROKEN: Mapping[str, Callable[[nw.Expr, Values], nw.Expr]] = {
    "infinite": lambda column, _: _number(column).abs() == float("inf"),
    "lists_with_nan": lambda column, _: column.cast(nw.List(nw.Float64)).list.contains(float("nan")),
    "lists_with_nulls": lambda column, _: column.list.contains(None),
    "lists_with_repeats": _lists_with_repeats,
    "negative": lambda column, _: _number(column) < 0,
    "not_a_class": _not_a_class,
    "not_between": _not_between,
    "not_binary": lambda column, _: _number(column) * (_number(column) - 1) != 0,
    "not_float32": _not_float32,
    "not_in": lambda column, values: ~column.is_in(values) & ~column.is_null(),
    "not_positive": lambda column, _: _number(column) <= 0,
    "not_whole": lambda column, _: _number(column) % 1 != 0,
    "null": lambda column, _: column.is_null(),
    "too_large": lambda column, _: _number(column).abs() > LARGE,
}
_HINTS = {"null": "Filter these rows before this step, or fill them where that makes sense, with Imputer say."}
_EXPECTED = {
    "infinite": "finite numbers",
    "lists_with_nan": "lists of numbers that are not NaN",
    "lists_with_nulls": "lists without null elements",
    "lists_with_repeats": "lists that hold each element once",
    "negative": "numbers of 0 or more",
    "not_a_class": "one of the classes {}",
    "not_between": "values between {} and {}",
    "not_binary": "0 and 1, or booleans",
    "not_float32": "numbers that float32 holds",
    "not_in": "values among the {} allowed",
    "not_positive": "numbers above 0",
    "not_whole": "whole numbers",
    "null": "no nulls",
    "too_large": "numbers of at most 1e150, whose squares float64 holds",
}


@dataclass(frozen=True)
class Rule:
    """A test that tells the bad values of a column; a null breaks ``null`` and no other.

    Parameters
    ----------
    test : str
        ``null``, ``infinite``, ``too_large`` (beyond 1e150), ``negative``, ``not_positive``, ``not_whole``,
        ``not_binary`` (a number other than 0 and 1; booleans pass), ``not_a_class`` (none of `values`, numbers or all
        texts), ``not_between`` (outside the closed range of the
        two `values`), ``not_float32`` (float32 changes it by more than a share, the one of `values`) or ``not_in``
        (none of `values`); of lists, on a CPU only, ``lists_with_nulls``, ``lists_with_nan`` (lists of numbers) and
        ``lists_with_repeats``.
    values : tuple, optional
        For ``not_between`` the two bounds, for ``not_float32`` the share, for ``not_in`` what is allowed, otherwise
        empty.

    Raises
    ------
    ConfigError
        The test is not known, or `values` does not suit it.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> frame = frames.from_arrow(pa.table({"x": [1.0, -1.0, None]}))
    >>> frame.filter(Rule("negative").broken("x"))["x"].to_list()
    [-1.0]
    """

    test: str
    values: Values = ()

    def __post_init__(self) -> None:
        check_one_of("test", self.test, _BROKEN)
        counts = {"not_between": ("two values", 2), "not_float32": ("one value", 1)}
        wanted, count = counts.get(self.test, ("no values", 0))
        suits = len(self.values) == count
        if self.test in ("not_in", "not_a_class"):
            wanted, suits = "at least one value", len(self.values) > 0
        if not suits:
            raise ConfigError(f"test {self.test!r} got {len(self.values)} values, expected {wanted}")

    @property
    def exact(self) -> bool:
        """Whether values are compared without rounding to float64."""
        return self.test in ("not_between", "not_in")

    def broken(self, name: str) -> nw.Expr:
        """Return the expression that is true where column `name` breaks the rule; it may be null where it is null."""
        return self(nw.col(name))

    def __call__(self, column: Any) -> Any:
        """Return the truth of the broken rule, for an expression or a block of columns."""
        return _BROKEN[self.test](column, self.values)

    def error(self, name: str, count: int) -> DataValueError:
        """Return the error that says how many values of column `name` break the rule; it carries the expression."""
        counted = {"not_between": self.values, "not_a_class": (", ".join(map(repr, self.values[:10])),)}
        shown = counted.get(self.test, (len(self.values),))
        found = self.test.replace("_", " ")
        return DataValueError(
            f"column {name!r} has {count} values that are {found}, expected {_EXPECTED[self.test].format(*shown)}",
            hint=_HINTS.get(self.test, "Clean, fill or filter these rows before this step."),
            column=name,
            predicate=self.broken(name),
        )


ColumnRules = Sequence[tuple[str, Rule]]
"""Columns, each with a rule; a column may stand more than once."""


def rules_for(names: Sequence[str], *tests: str) -> tuple[tuple[str, Rule], ...]:
    """Return these tests of columns, one test of all after the other.

    Examples
    --------
    >>> [(name, rule.test) for name, rule in rules_for(["x", "y"], "null", "negative")]
    [('x', 'null'), ('y', 'null'), ('x', 'negative'), ('y', 'negative')]
    """
    return tuple((name, Rule(test)) for test in tests for name in names)


def valid_rows(frame: nw.DataFrame[Any], checks: ColumnRules) -> tuple[nw.DataFrame[Any], list[int]]:
    """Return the rows that break none of the rules, and how many rows break each.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> frame = frames.from_arrow(pa.table({"x": [1.0, -1.0, None]}))
    >>> kept, counts = valid_rows(frame, [("x", Rule("null")), ("x", Rule("negative"))])
    >>> kept["x"].to_list(), counts
    ([1.0], [1, 1])
    """
    counts = count_broken(frame, checks)
    if not any(counts):
        return frame, counts
    return frame.filter(~reduce(or_, [rule.broken(name).fill_null(False) for name, rule in checks])), counts


def count_broken(frame: nw.DataFrame[Any], checks: ColumnRules) -> list[int]:
    """Return how many rows break each of the rules.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> count_broken(frames.from_arrow(pa.table({"x": [1.0, -1.0, None]})), [("x", Rule("negative"))])
    [1]
    """
    return count_true(frame, checks)


def add_counts(counts: Sequence[Sequence[Any]]) -> list[Any]:
    """Return how many rows break each rule, or other numbers in a fixed order, over several partitions.

    Examples
    --------
    >>> add_counts([[1, 0], [2, 3]])
    [3, 3]
    """
    return [sum(each) for each in zip(*counts, strict=True)]


RuleError = Callable[[str, Rule, int], DataValueError | None]
"""Makes the error for rows of a column that break a rule, of their count too; None where they are to be borne."""


def rule_error(name: str, rule: Rule, count: int) -> DataValueError:
    """Return the error of the rule itself."""
    return rule.error(name, count)


def refuse(checks: ColumnRules, counts: Sequence[int], error: RuleError = rule_error) -> None:
    """Raise DataValueError, as `error` makes it, for the first of the rules that some rows break."""
    for (name, rule), count in zip(checks, counts, strict=True):
        problem = error(name, rule, count) if count else None
        if problem is not None:
            raise problem
