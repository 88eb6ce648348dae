"""How many rows each category has, and the sums of a target over them: what target encodings are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.statistics.base import State
from penstock.statistics.distinct.by_value import ByValue, state_of, tables_of
from penstock.statistics.distinct.footprint import Held
from penstock.statistics.labels import categories
from penstock.statistics.rules import ColumnRules, Rule, add_counts, refuse, valid_rows


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
    def distinct(self) -> int:
        """Number of different values, null not among them."""
        return len(self.values) - int(self.values.null_count)

    @property
    def means(self) -> np.ndarray:
        """The mean of each target, of shape (n_categories, n_targets)."""
        return self.sums / self.counts[:, None]


@dataclass(frozen=True)
class GroupSums(ByValue):
    """The :class:`GroupSum` of columns of categories; the state grows with the number of distinct values.

    Computed on the host, to which the columns of a frame on a GPU are copied one at a time. Null is a category.

    Parameters
    ----------
    columns : tuple of str
        Columns of strings, integers or booleans.
    target : str
        The column that is added up.
    test : {"infinite", "not_binary", "not_in"}
        The rule (see :class:`Rule`) that the target keeps besides having no nulls.
    classes : tuple
        The classes of a target of the rule ``not_in``, each of which makes a target of its own: 1 where it is, 0
        elsewhere. Otherwise the one target is the column, of numbers or booleans.

    Examples
    --------
    >>> from penstock import frames
    >>> statistic = GroupSums(("c",), "y", "infinite")
    >>> frame = frames.from_arrow(pa.table({"c": ["b", None, "b"], "y": [1.0, 5.0, 3.0]}))
    >>> found = statistic.finish(statistic.summarise(frame))["c"]
    >>> found.values.to_pylist(), found.counts.tolist(), found.sums.tolist()
    (['b', None], [2, 1], [[4.0], [5.0]])
    """

    beside: ClassVar = {"invalid": add_counts, "bounds": add_counts}
    target: str
    test: str
    classes: tuple[Any, ...] = ()

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns, and the target."""
        return (*self.columns, self.target)

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the sums of the rows with a valid target, and how many rows break which rule."""
        rows, invalid = valid_rows(frame, self._checks())
        targets = self._targets(rows)
        return {name: _summarised(categories(rows, name), targets, invalid) for name in self.columns}

    def add(self, tables: list[pa.Table], beside: State) -> pa.Table:
        """Add up category by category."""
        table = pa.concat_tables(tables)
        counts = table["count"].to_numpy()
        parts = [[table[f"{part} {i}"].to_numpy() for i in range(len(beside["bounds"]))] for part in ("sum", "rest")]
        return _grouped(table["value"].combine_chunks(), counts, parts, beside["bounds"], len(tables))

    def footprint(self) -> Held:
        """Return what a state has for each category: its count, and two numbers for each target."""
        return Held(bytes=8 + 16 * max(1, len(self.classes)))

    def provides_counts_of(self) -> tuple[str, ...]:
        """Return all columns: their values are counted. A target that breaks a rule is refused, and counts with it."""
        return self.columns

    def value_counts(self, state: State, columns: Sequence[str]) -> dict[str, State]:
        """Return the counts without the sums, and null apart."""
        return {name: _counts(tables_of(state[name])) for name in columns}

    def finish_column(self, name: str, state: State) -> GroupSum:
        """Return the sums of one column.

        Raises
        ------
        DataValueError
            A target is null, infinite, larger than 1e150, or breaks the rule. It names the column and the count, and
            its ``predicate`` is true for the bad rows.
        """
        refuse(self._checks(), state["invalid"])
        table = pa.concat_tables(tables_of(state)).sort_by("value")
        sums = [table[f"sum {i}"].to_numpy() for i in range(len(state["bounds"]))]
        return GroupSum(table["value"].combine_chunks(), table["count"].to_numpy(), np.column_stack(sums))

    def _checks(self) -> ColumnRules:
        more = [Rule("too_large")] if self.test == "infinite" else []
        return [(self.target, rule) for rule in (Rule("null"), Rule(self.test, self.classes), *more)]

    def _targets(self, rows: nw.DataFrame[Any]) -> list[np.ndarray]:
        value = nw.col(self.target)
        wanted = [value == each for each in self.classes] or [value]
        made = rows.select(*[each.cast(nw.Float64).alias(str(i)) for i, each in enumerate(wanted)])
        return [made[name].to_numpy() for name in made.columns]


def _summarised(values: pa.Array, targets: Sequence[np.ndarray], invalid: list[int]) -> State:
    most = [largest(target) for target in targets]
    table = _grouped(values, np.ones(len(values), dtype=np.int64), [targets], most, len(values))
    bounds = [largest(table[f"sum {i}"].to_numpy()) for i in range(len(targets))]
    return state_of([table], {"invalid": invalid, "bounds": bounds})


def largest(values: np.ndarray) -> float:
    """Return the largest size of a value, 0 of none."""
    return float(np.abs(values).max(initial=0.0))


def _grouped(
    values: pa.Array, counts: np.ndarray, parts: Sequence[Sequence[np.ndarray]], bounds: Sequence[float], terms: int
) -> pa.Table:
    """Return the table of the categories.

    Each of the `parts` is a summand of every target, not larger than its bound, and no category has more `terms`.
    """
    coded = values.dictionary_encode(null_encoding="encode")
    found, place = coded.dictionary, coded.indices.to_numpy()
    total = np.zeros(len(found), dtype=np.int64)
    np.add.at(total, place, counts)
    columns: dict[str, Any] = {"value": found, "count": total}
    places = np.tile(place, len(parts))
    for number, (bound, *summands) in enumerate(zip(bounds, *parts, strict=True)):
        sums = exact_sums(places, np.concatenate(summands), len(found), bound, terms * len(parts))
        columns[f"sum {number}"], columns[f"rest {number}"] = sums
    return pa.table(columns)


def _counts(tables: Sequence[pa.Table]) -> State:
    nulls = sum(pc.sum(pc.if_else(table["value"].is_null(), table["count"], 0)).as_py() or 0 for table in tables)
    counts = [table.select(["value", "count"]) for table in tables]
    return state_of([each.drop_null() if each["value"].null_count else each for each in counts], {"nulls": nulls})


def exact_sums(
    place: np.ndarray, values: np.ndarray, groups: int, bound: float, terms: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of the values of each group, and what rounding takes from it.

    Values are cut into a high and a low part at a power of two so large that the high parts add up without rounding,
    in whatever order, and the low parts once more: Demmel and Nguyen, "Fast reproducible floating-point summation",
    ARITH 2013. What is left for an inexact sum is below 2**-60 of the bound, for up to a million terms. The sums of a
    group hang on its own values and on the bound alone, so that groups can be cut apart.

    Parameters
    ----------
    place : numpy.ndarray of shape (n_values,)
        The group of each value.
    values : numpy.ndarray of shape (n_values,)
    groups : int
    bound : float
        No value is larger in size.
    terms : int
        No group has more values.
    """
    parts = []
    for _ in range(2):
        cut = np.ldexp(1.0, int(np.frexp(bound)[1]) + terms.bit_length() + 1)
        high = (values + cut) - cut
        parts.append(np.bincount(place, high, groups).astype(np.float64))
        values, bound = values - high, float(np.ldexp(cut, -53))
    high, low = parts[0], parts[1] + np.bincount(place, values, groups)
    total = high + low
    added = total - high  # Knuth's sum of two, of which neither need be the larger
    return total, (high - (total - added)) + (low - added)
