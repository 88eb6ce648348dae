"""Counts, sums, deviations and extremes of columns, group by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.statistics.base import State, merge_fields
from penstock.statistics.distinct import shards
from penstock.statistics.distinct.footprint import Found, Held
from penstock.statistics.distinct.partitionable import Partitionable
from penstock.statistics.grouped.group_sums import exact_sums, largest
from penstock.statistics.grouped.key_places import key_places, plain_keys
from penstock.statistics.rules import ColumnRules, Rule, add_counts, refuse, valid_rows

Parts = Mapping[str, np.ndarray]
"""What the rows of each group add up to; ``rest`` and ``shift`` are what rounding took from the sum and the mean."""
_PARTS = ("count", "sum", "rest", "mean", "shift", "m2", "min", "max")


@dataclass(frozen=True, eq=False)
class GroupMoment:
    """What the rows of each group add up to, column by column.

    Parameters
    ----------
    keys : pyarrow.Table
        A row for each group, the columns named and typed as those grouped by; ascending, strings by their UTF-8 bytes,
        null last.
    parts : dict of str to Parts
        By column.

    Examples
    --------
    >>> statistic = GroupMoments(("k", "x"))
    >>> frame = frames.from_arrow(pa.table({"k": ["b", "a", "b", None], "x": [1.0, 5.0, 3.0, None]}))
    >>> found = statistic.finish(statistic.summarise(frame))
    >>> found.keys["k"].to_pylist(), found.of("x", "count").to_pylist(), found.of("x", "mean").to_pylist()
    (['a', 'b', None], [1, 2, 0], [5.0, 2.0, None])
    >>> found.known().keys["k"].to_pylist(), found.whole().of("x", "sum").to_pylist()
    (['a', 'b'], [9.0])
    """

    keys: pa.Table
    parts: Mapping[str, Parts]

    def of(self, column: str, statistic: str) -> pa.Array:
        """Return a statistic of each group, null where it is not defined.

        Parameters
        ----------
        statistic : {"count", "sum", "mean", "std", "min", "max"}
            The number of values that are not null (int64), their sum, 0 of none, and (float64 as all others) what takes
            a value, or two of them: the sample standard deviation, with n - 1 in the denominator.
        """
        parts = self.parts[column]
        count = parts["count"]
        if statistic in ("count", "sum"):
            return pa.array(parts[statistic])
        if statistic == "std":
            return pa.array(np.sqrt(parts["m2"] / np.maximum(count - 1, 1)), mask=count < 2)
        values = parts["sum"] / np.maximum(count, 1) if statistic == "mean" else parts[statistic]
        return pa.array(values, mask=count == 0)

    @property
    def distinct(self) -> int:
        """Number of groups."""
        return int(self.keys.num_rows)

    def known(self) -> GroupMoment:
        """Return the groups without a null among their keys."""
        chosen = np.logical_and.reduce([column.is_valid().to_numpy() for column in self.keys.columns])
        parts = {name: {part: values[chosen] for part, values in of.items()} for name, of in self.parts.items()}
        return GroupMoment(self.keys.filter(pa.array(chosen)), parts)

    def whole(self) -> GroupMoment:
        """Return all groups together, as one, without a key."""
        place = np.zeros(self.keys.num_rows, dtype=np.int64)
        whole = {
            name: _joined(place, 1, parts, largest(parts["sum"]), len(place)) for name, parts in self.parts.items()
        }
        return GroupMoment(pa.table({}), whole)


@dataclass(frozen=True)
class GroupMoments(Partitionable):
    """The :class:`GroupMoment` of columns of numbers or booleans; the state grows with the number of groups.

    Nulls among the values are left out; null is a key like others. However rows are cut, counts and extremes are the
    same, and sums and means correctly rounded but for a last digit (see `penstock.statistics.grouped.group_sums`);
    squares are joined with the update of Chan (see `penstock.statistics.Moments`). Computed on the host.

    Parameters
    ----------
    columns : tuple of str
        Those grouped by (strings, integers or booleans), then those added up.
    keys : int, default=1
        How many columns are grouped by together.

    Raises
    ------
    ConfigError
        There are no keys, or nothing to add up.
    """

    keys: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.keys < len(self.columns):
            raise ConfigError(
                f"keys is {self.keys} of {len(self.columns)} columns, expected at least one of both kinds"
            )

    @property
    def by(self) -> tuple[str, ...]:
        """The columns grouped by."""
        return self.columns[: self.keys]

    @property
    def values(self) -> tuple[str, ...]:
        """The columns added up."""
        return self.columns[self.keys :]

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return what the valid rows of one partition add up to, and how many rows break which rule."""
        rows, invalid = valid_rows(frame, self._checks())
        numbers = frames.to_arrow(rows.select(nw.col(*dict.fromkeys(self.values)).cast(nw.Float64)))
        parts = [_of_rows(numbers[name].to_numpy()) for name in self.values]
        keys = frames.to_arrow(rows.select(*self.by))
        most = [largest(each["sum"]) for each in parts]
        table = _grouped(plain_keys(keys.columns), parts, most, len(rows))
        bounds = [largest(table[f"sum {place}"].to_numpy()) for place in range(len(parts))]
        return {"invalid": invalid, "bounds": bounds, "table": table}

    def merge(self, states: Sequence[State]) -> State:
        """Join group by group."""
        table = pa.concat_tables([state["table"] for state in states])
        keys = [table[f"key {place}"] for place in range(self.keys)]
        beside = merge_fields(states, invalid=add_counts, bounds=add_counts)
        parts = [_parts(table, place) for place in range(len(self.values))]
        return {**beside, "table": _grouped(keys, parts, beside["bounds"], len(states))}

    def footprints(self) -> Mapping[str, Held]:
        """Return what a state has for each value of the key, if there is one; of several it is not known."""
        beside = Held(bytes=8 * len(_PARTS) * len(self.values), sharded=False)
        return dict.fromkeys(self.by, beside) if self.keys == 1 else {}

    def cardinalities(self, result: GroupMoment) -> Mapping[str, Found]:
        """Return how many groups there were, that of null among them."""
        return {name: Found(result.distinct) for name in self.footprints()}

    def partition(self, state: State, parts: Mapping[str, int]) -> list[State]:
        """Partition by the hash of the first key."""
        number = parts.get(self.by[0], 1)
        if number == 1:
            return [state]
        return [{**state, "table": table} for table in shards.split(state["table"], number, key="key 0")]

    def concat(self, parts: Sequence[State]) -> State:
        """Put parts together, which have no group in common."""
        return {**parts[0], "table": pa.concat_tables([part["table"] for part in parts])}

    def finish(self, state: State) -> GroupMoment:
        """Return the groups in order.

        Raises
        ------
        DataValueError
            A value is infinite or larger than 1e150. It names the column and the count, and its ``predicate`` is true
            for the bad rows.
        """
        refuse(self._checks(), state["invalid"])
        table = state["table"].sort_by([(f"key {place}", "ascending") for place in range(self.keys)]).combine_chunks()
        keys = pa.table([table[f"key {place}"] for place in range(self.keys)], list(self.by))
        return GroupMoment(keys, {name: _parts(table, place) for place, name in enumerate(self.values)})

    def _checks(self) -> ColumnRules:
        return [(name, Rule(test)) for name in self.values for test in ("infinite", "too_large")]


def _of_rows(values: np.ndarray) -> Parts:
    """Return the parts of groups of one row; NaN stands for null."""
    known = ~np.isnan(values)
    found, zero = np.where(known, values, 0.0), np.zeros(len(values))
    ends = {"min": np.where(known, values, np.inf), "max": np.where(known, values, -np.inf)}
    return {
        "count": known.astype(np.int64),
        "sum": found,
        "rest": zero,
        "mean": found,
        "shift": zero,
        "m2": zero,
        **ends,
    }


def _parts(table: pa.Table, place: int) -> Parts:
    return {part: table[f"{part} {place}"].to_numpy() for part in _PARTS}


def _grouped(keys: Sequence[pa.ChunkedArray], parts: Sequence[Parts], bounds: Sequence[float], pieces: int) -> pa.Table:
    """Return the table of the groups: ``key <i>``, and each part of each column.

    No sum of a column is larger than its bound, and no group has more `pieces`.
    """
    first, place = key_places(keys)
    found: dict[str, Any] = {f"key {i}": key.take(pa.array(first)) for i, key in enumerate(keys)}
    for i, (each, bound) in enumerate(zip(parts, bounds, strict=True)):
        joined = _joined(place, len(first), each, bound, pieces)
        found |= {f"{part} {i}": values for part, values in joined.items()}
    return pa.table(found)


def _joined(place: np.ndarray, groups: int, parts: Parts, bound: float, pieces: int) -> dict[str, np.ndarray]:
    """Return the parts of each group from those of its pieces, which may have no values."""
    count = np.zeros(groups, dtype=np.int64)
    np.add.at(count, place, parts["count"])
    total, rest = exact_sums(
        np.tile(place, 2), np.concatenate([parts["sum"], parts["rest"]]), groups, bound, 2 * pieces
    )
    some = np.flatnonzero(parts["count"])[::-1]
    start = np.zeros(groups)
    start[place[some]] = parts["mean"][some]  # that of the first piece, which is assigned last
    away = np.where(parts["count"] > 0, (parts["mean"] - start[place]) + parts["shift"], 0.0)
    shift = _added(place, parts["count"] * away, groups) / np.maximum(count, 1)
    mean = start + shift
    away = np.where(parts["count"] > 0, away - shift[place], 0.0)
    m2 = _added(place, parts["m2"] + parts["count"] * (away * away), groups)
    ends = {"min": np.full(groups, np.inf), "max": np.full(groups, -np.inf)}
    np.minimum.at(ends["min"], place, parts["min"])
    np.maximum.at(ends["max"], place, parts["max"])
    moments = {"mean": mean, "shift": (start - mean) + shift, "m2": m2}
    return {"count": count, "sum": total, "rest": rest, **moments, **ends}


def _added(place: np.ndarray, values: np.ndarray, groups: int) -> np.ndarray:
    return np.bincount(place, values, groups).astype(np.float64)
