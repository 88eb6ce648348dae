"""How columns vary together in each of many groups, for all at once: thousands of linear models from one scan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import DataValueError
from penstock.frames import matrices
from penstock.statistics.base import State
from penstock.statistics.gram import CrossProducts, Gram
from penstock.statistics.groups import Groups, as_lists, as_matrix
from penstock.statistics.rules import LARGE

_NUMBERS = 2**31 - 1
"""Products of all groups together: 16 GB; the lists of a table have no more."""
_CACHED = 2**19
"""Numbers that are worked on at a time, 4 MB."""
_ENDS = {"minimum": (np.minimum, np.inf), "maximum": (np.maximum, -np.inf)}

_BROKEN: Mapping[str, Callable[[np.ndarray], Any]] = {
    "null": np.isnan,
    "infinite": np.isinf,
    "too_large": lambda column: np.abs(column) > LARGE,
    "negative": lambda column: column < 0,
}


@dataclass(frozen=True)
class GroupGrams:
    """The :class:`~penstock.statistics.Gram` of each group, as its `summarise` and `merge` have it but for rounding.

    Rows are taken from near the mean of their group, and parts of a group are joined with the update of Chan, Golub and
    LeVeque. The state is a table with a row a group. Computed on the host.

    Parameters
    ----------
    gram : Gram

    Examples
    --------
    >>> from penstock import frames
    >>> grams = GroupGrams(Gram(("x", "y")))
    >>> frame = frames.from_arrow(pa.table({"x": [1.0, 3.0, 5.0], "y": [2.0, 8.0, 5.0]}))
    >>> state = grams.summarise(frame, np.array([2, 1]))
    >>> [grams.finish(state)(place).cross.tolist() for place in (0, 1)]
    [[[2.0, 6.0], [6.0, 18.0]], [[0.0, 0.0], [0.0, 0.0]]]
    """

    gram: Gram

    def summarise(self, rows: nw.DataFrame[Any], counts: np.ndarray) -> State:
        """Return the products of the valid rows of each group, and how many rows break which rule.

        Raises
        ------
        DataValueError
            There are more products than fit into a table; so does `merge`.
        """
        place = np.repeat(np.arange(len(counts)), counts)
        values = matrices.to_host(matrices.to_rows(rows, self.gram.columns))
        bad = [self._broken(name, test, values) for name, test in self._rules]
        invalid = np.stack([np.bincount(place, each, len(counts)) for each in bad], axis=1).astype(np.int64)
        weighs = values[-1] > 0 if self.gram.weighted else np.ones(len(place), dtype=bool)
        used = weighs & ~np.logical_or.reduce(bad)
        if not used.all():
            values, place = values[:, used], place[used]
        numbers = values[: len(self.gram.numbers)]
        weight = values[-1] if self.gram.weighted else np.ones(len(place))
        sums = self._of_rows(numbers, weight, place) if len(place) else {}
        return self._table(len(counts), np.unique(place), invalid, sums)

    @property
    def _rules(self) -> list[tuple[int, str]]:
        """The rules of the statistic, by the places of its columns."""
        return [(self.gram.columns.index(name), rule.test) for name, rule in self.gram._checks]

    def _broken(self, place: int, test: str, values: np.ndarray) -> np.ndarray:
        """Return which rows break a rule; NaN stands for null, and breaks no other."""
        return _BROKEN[test](values[place])

    def _of_rows(self, values: np.ndarray, weight: np.ndarray, place: np.ndarray) -> dict[str, np.ndarray]:
        """Return the sums of the groups that have a row of a weight above 0; rows are group by group.

        Some groups are taken at a time, that a processor's cache holds; what is made of one is the same.
        """
        starts = np.flatnonzero(np.diff(place, prepend=-1))
        firsts = np.flatnonzero(np.diff(starts // max(_CACHED // len(values), 1), prepend=-1)).tolist()
        parts = []
        for first, end in pairwise([*firsts, len(starts)]):
            low, high = starts[first], starts[end] if end < len(starts) else len(place)
            parts.append(self._of_some(values[:, low:high], weight[low:high], starts[first:end] - low))
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _of_some(self, values: np.ndarray, weight: np.ndarray, starts: np.ndarray) -> dict[str, np.ndarray]:
        rows = np.diff(starts, append=len(weight))
        of_row = np.repeat(np.arange(len(starts)), rows)
        heaviness = np.add.reduceat(weight, starts)
        with np.errstate(over="ignore", invalid="ignore"):  # refused at the end, by name
            origin = np.add.reduceat(values * weight, starts, axis=1) / heaviness
            near = values - origin[:, of_row]
            weighted = near * weight
            first = np.add.reduceat(weighted, starts, axis=1)
            shift = first / heaviness
            upper = [
                np.add.reduceat(each * near[row:], starts, axis=1) - shift[row] * first[row:]
                for row, each in enumerate(weighted)
            ]
        ends = {name: function.reduceat(values, starts, axis=1).T for name, (function, _) in _ENDS.items()}
        return {
            "count": rows,
            "weight": heaviness,
            "weight_squares": np.add.reduceat(weight * weight, starts),
            **self._means(origin, shift),
            **ends,
            "upper": np.concatenate(upper).T,
        }

    def _means(self, origin: np.ndarray, shift: np.ndarray) -> dict[str, np.ndarray]:
        """Return the mean, and what float64 rounds off it, as `Gram` has them."""
        mean = origin + shift
        return {"mean": mean.T, "rest": ((origin - mean) + shift).T}

    def merge(self, states: Sequence[State], places: Sequence[np.ndarray], number: int) -> State:
        """Join group by group."""
        parts, place = self._parts(pa.concat_tables(states)), np.concatenate(places)
        invalid = np.zeros((number, self._widths["invalid"]), dtype=np.int64)
        np.add.at(invalid, place, parts["invalid"])
        order = np.argsort(place, kind="stable")
        order = order[parts["count"][order] > 0]
        parts, place = {name: values[order] for name, values in parts.items()}, place[order]
        found, of_part = np.unique(place, return_inverse=True)
        sums = self._joined(parts, of_part, len(found)) if len(found) else {}
        return self._table(number, found, invalid, sums)

    def _joined(self, parts: dict[str, np.ndarray], place: np.ndarray, number: int) -> dict[str, np.ndarray]:
        """Return the sums of so many groups from those of their parts, group by group, each of a weight above 0."""
        groups, starts = Groups.of(place, parts["weight"], number), np.flatnonzero(np.diff(place, prepend=-1))
        means = [groups.means(mean, rest) for mean, rest in zip(parts["mean"].T, parts["rest"].T, strict=True)]
        away = np.stack([each for _, _, each in means])
        weighted = away * groups.parts
        apart = np.concatenate([each * away[row:] for row, each in enumerate(weighted)])
        ends = {name: function.reduceat(parts[name], starts, axis=0) for name, (function, _) in _ENDS.items()}
        return {
            "count": np.add.reduceat(parts["count"], starts),
            "weight": groups.weight,
            "weight_squares": groups.sums(parts["weight_squares"]),
            "mean": np.stack([mean for mean, _, _ in means], axis=1),
            "rest": np.stack([rest for _, rest, _ in means], axis=1),
            **ends,
            "upper": np.stack([groups.sums(each) for each in parts["upper"].T + apart], axis=1),
        }

    def finish(self, state: State) -> Callable[[int], CrossProducts]:
        """Return what gives the products of a group; it raises as `Gram.finish` does."""
        parts = self._parts(state)
        return lambda place: self.gram.finish(_state({name: values[place] for name, values in parts.items()}))

    @property
    def _widths(self) -> dict[str, int]:
        width = len(self.gram.numbers)
        lists = dict.fromkeys(("mean", "rest", *_ENDS), width)
        return {**lists, "upper": width * (width + 1) // 2, "invalid": len(self.gram._checks)}

    def _parts(self, table: pa.Table) -> dict[str, np.ndarray]:
        numbers = {name: table[name].to_numpy() for name in ("count", "weight", "weight_squares")}
        return {**numbers, **{name: as_matrix(table[name], width) for name, width in self._widths.items()}}

    def _table(self, number: int, found: np.ndarray, invalid: np.ndarray, sums: dict[str, np.ndarray]) -> pa.Table:
        """Return a row a group; of those that are not among the `found`, and so have no sums, that of no rows."""
        if number * self._widths["upper"] > _NUMBERS:
            raise DataValueError(
                f"{number:,} groups of {len(self.gram.numbers):,} columns have more products than fit into a table",
                hint="Take fewer columns, or groups that more rows share.",
            )
        empty = {
            "count": np.zeros(number, dtype=np.int64), "weight": np.zeros(number), "weight_squares": np.zeros(number),
            **{name: np.full((number, width), _ENDS.get(name, (None, 0.0))[1]) for name, width in self._widths.items()},
        }  # fmt: skip
        for name, values in sums.items():
            empty[name][found] = values
        empty["invalid"] = invalid
        return pa.table({name: each if each.ndim == 1 else as_lists(each) for name, each in empty.items()})


def _state(row: Mapping[str, Any]) -> State:
    """Return what `Gram` has of a group, of its row."""
    columns = pa.table({name: row[name] for name in ("mean", "rest", *_ENDS)})
    sums = {"count": int(row["count"]), "weight": float(row["weight"]), "weight_squares": float(row["weight_squares"])}
    cross = pa.table({"upper": row["upper"]})
    return {"invalid": row["invalid"].tolist(), **sums, "columns": columns, "cross": cross}
