"""How often each value of a column goes with each class: what tells whether the two have to do with each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.statistics.base import State, Statistic
from penstock.statistics.labels import categories, refuse_more, without_minus_zero
from penstock.statistics.rules import ColumnRules, add_counts, refuse, rules_for, valid_rows

_KEYS = ("value", "class")


@dataclass(frozen=True, eq=False)
class Contingency:
    """The contingency table of a column and the classes.

    Parameters
    ----------
    values : pyarrow.Array
        The distinct values of the column, ascending; null, if it occurs, is the last one.
    classes : pyarrow.Array
        The classes, ascending.
    counts : numpy.ndarray of shape (n_values, n_classes), int64
        Rows with the value and the class.
    """

    values: pa.Array
    classes: pa.Array
    counts: np.ndarray


@dataclass(frozen=True)
class Contingencies(Statistic):
    """The :class:`Contingency` of each of several columns with one label; the state grows with the pairs that occur.

    Computed on the host, to which the columns of a frame on a GPU are copied one at a time. Null is a value of a column
    like any other, and none of the label.

    Parameters
    ----------
    columns : tuple of str
        The label, and columns of strings, integers or booleans. Labels may also be floating numbers without a fraction.
    limit : int, default 10_000
        The most distinct values of a column, and the most classes.

    Raises
    ------
    ConfigError
        `columns` has not two names, or `limit` is below 1.

    Examples
    --------
    >>> statistic = Contingencies(("label", "c"))
    >>> frame = frames.from_arrow(pa.table({"label": [1, 0, 1], "c": ["b", "a", "b"]}))
    >>> found = statistic.finish(statistic.summarise(frame))["c"]
    >>> found.values.to_pylist(), found.classes.to_pylist(), found.counts.tolist()
    (['a', 'b'], [0, 1], [[1, 0], [0, 2]])
    """

    merges_slices = True

    limit: int = 10_000

    def __post_init__(self) -> None:
        if len(self.columns) < 2:
            raise ConfigError(f"columns are {self.columns!r}, expected (label, column, ...)")
        if self.limit < 1:
            raise ConfigError(f"limit is {self.limit}, expected at least 1")

    @property
    def label(self) -> str:
        """The column of classes."""
        return self.columns[0]

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return how often each pair occurs in the rows with a valid label, and how many labels break which rule.

        Raises
        ------
        DataValueError
            A column has more distinct values than the limit; so does `merge`.
        """
        rows, invalid = valid_rows(frame, self._checks(frame.schema[self.label].is_float()))
        classes = without_minus_zero(categories(rows, self.label)).dictionary_encode()
        tables = {name: _counted(categories(rows, name), classes) for name in self.columns[1:]}
        return self._checked({"invalid": invalid, "tables": tables})

    def merge(self, states: Sequence[State]) -> State:
        """Add up the counts of equal pairs."""
        tables = {
            name: frames.sum_by_key([state["tables"][name] for state in states], _KEYS) for name in self.columns[1:]
        }
        return self._checked({"invalid": add_counts([state["invalid"] for state in states]), "tables": tables})

    def finish(self, state: State) -> dict[str, Contingency]:
        """Return the tables by column.

        Raises
        ------
        DataValueError
            A label is null, infinite or has a fraction. It names the column and the count, and its ``predicate`` is
            true for the bad rows.
        """
        kind = state["tables"][self.columns[1]].schema.field("class").type
        refuse(self._checks(pa.types.is_floating(kind)), state["invalid"])
        return {name: _finished(state["tables"][name]) for name in self.columns[1:]}

    def _checks(self, floating: bool) -> ColumnRules:
        return rules_for([self.label], *(("null", "infinite", "not_whole") if floating else ("null",)))

    def _checked(self, state: State) -> State:
        """Return the state, unless a column of it has too many values."""
        for name, table in state["tables"].items():
            for column, key in ((self.label, "class"), (name, "value")):
                hint = "Put numbers into buckets; join categories that are too many."
                refuse_more(column, len(pc.unique(table[key])), self.limit, "distinct values", "", hint)
        return state


def _counted(values: pa.Array, classes: pa.DictionaryArray) -> pa.Table:
    """Return the pairs that occur, and how often each does."""
    coded = values.dictionary_encode(null_encoding="encode")
    width = max(len(classes.dictionary), 1)
    pairs = coded.indices.to_numpy().astype(np.int64) * width + classes.indices.to_numpy()
    small = pairs.astype(np.min_scalar_type(len(coded.dictionary) * width))  # NumPy sorts short ones by radix
    found, counts = np.unique(small, return_counts=True)
    places = (pa.array(found // width, pa.int64()), pa.array(found % width, pa.int64()))
    keys = [each.dictionary.take(place) for each, place in zip((coded, classes), places, strict=True)]
    return pa.table([*keys, pa.array(counts, pa.int64())], names=[*_KEYS, "count"])


def _finished(table: pa.Table) -> Contingency:
    (values, rows), (classes, columns) = (_places(table[key].combine_chunks()) for key in _KEYS)
    counts = np.zeros((len(values), len(classes)), dtype=np.int64)
    counts[rows, columns] = table["count"].to_numpy()
    return Contingency(values, classes, counts)


def _places(keys: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Return the distinct keys in ascending order, null last, and the place of each of `keys` among them."""
    order = pc.sort_indices(keys)
    coded = keys.take(order).dictionary_encode(null_encoding="encode")
    places = np.empty(len(keys), dtype=np.int64)
    places[order.to_numpy()] = coded.indices.to_numpy()
    return coded.dictionary, places
