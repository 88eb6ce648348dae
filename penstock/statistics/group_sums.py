"""How many rows each category has, and the sums of a target over them: what target encodings are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.statistics.base import State, Statistic
from penstock.statistics.rules import Checks, Rule, add_counts, refuse, valid_rows


@dataclass(frozen=True, eq=False)
class GroupSum:
    """The rows of each category of one column, and what the targets add up to there.

    Parameters
    ----------
    values : pyarrow.Array
        The categories in ascending order, in the type of the column, strings by their UTF-8 bytes; null, if it occurs,
        is the last one.
    counts : numpy.ndarray of shape (n_categories,), int64
    sums : numpy.ndarray of shape (n_categories, n_targets), float64
        Correctly rounded but for a last digit, however the rows were cut.

    Examples
    --------
    >>> sums = GroupSum(pa.array(["a"]), np.array([2]), np.array([[5.0]]))
    >>> sums.means.tolist()
    [[2.5]]
    """

    values: pa.Array
    counts: np.ndarray
    sums: np.ndarray

    @property
    def means(self) -> np.ndarray:
        """The mean of each target, of shape (n_categories, n_targets)."""
        means: np.ndarray = self.sums / self.counts[:, None]
        return means


@dataclass(frozen=True)
class GroupSums(Statistic):
    """The :class:`GroupSum` of columns of categories; the state grows with the number of distinct values.

    Computed on the host, to which the columns of a frame on a GPU are copied one at a time. Null is a category.

    Parameters
    ----------
    columns : tuple of str
        Columns of strings, integers or booleans, and at the end the target.
    test : {"infinite", "not_binary", "not_in"}
        The rule (see :class:`Rule`) that the target keeps besides having no nulls.
    classes : tuple
        The classes of a target of the rule ``not_in``, each of which makes a target of its own: 1 where it is, 0
        elsewhere. Otherwise the one target is the column, of numbers or booleans.

    Examples
    --------
    >>> statistic = GroupSums(("c", "y"), "infinite")
    >>> frame = frames.from_arrow(pa.table({"c": ["b", None, "b"], "y": [1.0, 5.0, 3.0]}))
    >>> found = statistic.finish(statistic.summarise(frame))["c"]
    >>> found.values.to_pylist(), found.counts.tolist(), found.sums.tolist()
    (['b', None], [2, 1], [[4.0], [5.0]])
    """

    test: str
    classes: tuple[Any, ...] = ()

    @property
    def target(self) -> str:
        """The column that is added up."""
        return self.columns[-1]

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the sums of the rows with a valid target, and how many rows break which rule."""
        rows, invalid = valid_rows(frame, self._checks())
        targets = self._targets(rows)
        ones = np.ones(len(rows), dtype=np.int64)
        tables = {name: _grouped(_categories(rows, name), ones, targets) for name in self.columns[:-1]}
        return {"invalid": invalid, "tables": tables}

    def merge(self, states: Sequence[State]) -> State:
        """Add up category by category."""
        tables = {name: _joined([state["tables"][name] for state in states]) for name in self.columns[:-1]}
        return {"invalid": add_counts([state["invalid"] for state in states]), "tables": tables}

    def finish(self, state: State) -> dict[str, GroupSum]:
        """Return the sums by column of categories.

        Raises
        ------
        DataValueError
            A target is null, infinite, larger than 1e150, or breaks the rule. It names the column and the count, and
            its ``predicate`` is true for the bad rows.
        """
        refuse(self._checks(), state["invalid"])
        return {name: _finished(state["tables"][name]) for name in self.columns[:-1]}

    def _checks(self) -> Checks:
        more = [Rule("too_large")] if self.test == "infinite" else []
        return [(self.target, rule) for rule in (Rule("null"), Rule(self.test, self.classes), *more)]

    def _targets(self, rows: nw.DataFrame[Any]) -> list[np.ndarray]:
        value = nw.col(self.target)
        wanted = [value == each for each in self.classes] or [value]
        made = rows.select(*[each.cast(nw.Float64).alias(str(i)) for i, each in enumerate(wanted)])
        return [made[name].to_numpy() for name in made.columns]


def _categories(rows: nw.DataFrame[Any], name: str) -> pa.Array:
    values = frames.to_arrow(rows.select(name))[name]
    # A column that is nothing but null has no type of its own; on a GPU it is one of strings.
    return (values.cast(pa.string()) if pa.types.is_null(values.type) else values).combine_chunks()


def _grouped(values: pa.Array, counts: np.ndarray, *parts: Sequence[np.ndarray]) -> pa.Table:
    """Return the table of the categories; each of the `parts` is a summand of every target."""
    coded = values.dictionary_encode(null_encoding="encode")
    found, place = coded.dictionary, coded.indices.to_numpy()
    total = np.zeros(len(found), dtype=np.int64)
    np.add.at(total, place, counts)
    columns: dict[str, Any] = {"value": found, "count": total}
    places = np.tile(place, len(parts))
    for number, summands in enumerate(zip(*parts, strict=True)):
        columns[f"sum {number}"], columns[f"rest {number}"] = exact_sums(places, np.concatenate(summands), len(found))
    return pa.table(columns)


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    table = pa.concat_tables(tables)
    numbers = {name: table[name].to_numpy() for name in table.column_names[1:]}
    parts = ([numbers[name] for name in numbers if name.startswith(part)] for part in ("sum", "rest"))
    return _grouped(table["value"].combine_chunks(), numbers["count"], *parts)


def _finished(table: pa.Table) -> GroupSum:
    table = table.sort_by("value")
    sums = [table[name].to_numpy() for name in table.column_names if name.startswith("sum")]
    return GroupSum(table["value"].combine_chunks(), table["count"].to_numpy(), np.column_stack(sums))


def exact_sums(place: np.ndarray, values: np.ndarray, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of the values of each group, and what rounding takes from it.

    Values are cut into a high and a low part at a power of two so large that the high parts add up without rounding,
    in whatever order, and the low parts once more: Demmel and Nguyen, "Fast reproducible floating-point summation",
    ARITH 2013. What is left for an inexact sum is below 2**-60 of the largest value, for up to a million rows.
    """
    parts = []
    for _ in range(2):
        largest = float(np.abs(values).max(initial=0.0))
        cut = np.ldexp(1.0, int(np.frexp(largest)[1]) + len(values).bit_length() + 1)
        high = (values + cut) - cut
        parts.append(np.bincount(place, high, groups).astype(np.float64))
        values = values - high
    high, low = parts[0], parts[1] + np.bincount(place, values, groups)
    total = high + low
    added = total - high  # Knuth's sum of two, of which neither need be the larger
    return total, (high - (total - added)) + (low - added)
