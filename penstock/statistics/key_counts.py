"""How often each 64-bit key occurs, by class; of very many keys how many lie in each of some ranges of equal width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.statistics.base import State, Statistic
from penstock.statistics.labels import categories, refuse_more, without_minus_zero

MOST_CLASSES = 10_000
_SHIFTS = range(0, 64, 4)


class Key(Protocol):
    """Gives each row a number to count it by; a small picklable value."""

    @property
    def columns(self) -> tuple[str, ...]:
        """What it reads."""

    def values(self, frame: nw.DataFrame[Any]) -> np.ndarray:
        """Return the key of each row, uint64 on the host."""


@dataclass(frozen=True, eq=False)
class KeyTable:
    """How many rows of each class have a key in each range that any has; by class, then by key.

    Parameters
    ----------
    classes : pyarrow.Array
        The classes, null among them if it occurs, in ascending order, null last. Without a column there is one, false.
    shift : int
        A range holds the keys that are equal but for so many low bits; with 0 every key stands by itself.
    codes, ranges, counts : numpy.ndarray of shape (n_ranges,)
        The class as its position, the keys without their low bits (uint64), and how many rows.
    """

    classes: pa.Array
    shift: int
    codes: np.ndarray
    ranges: np.ndarray
    counts: np.ndarray

    def rows(self) -> np.ndarray:
        """Return how many rows each class has."""
        rows = np.zeros(len(self.classes), np.int64)
        np.add.at(rows, self.codes, self.counts)
        return rows


@dataclass(frozen=True)
class KeyCounts(Statistic):
    """The :class:`KeyTable` of a key, by the classes of a column if one is given.

    Up to `limit` different keys (of each class) are counted one by one; of more, ranges, which are as narrow as the
    limit lets them be: the same whatever the partitions.

    Parameters
    ----------
    key : Key
    by : str, optional
        A column of classes; null is one of them.
    limit : int, default 2**16
    inside : tuple of (class, int)
        Only the keys in these ranges are counted, each by its class; all if there are none.
    shift : int
        How many low bits the ranges of `inside` are without. What is counted is narrower.

    Examples
    --------
    >>> from penstock import frames
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Value:
    ...     columns: tuple[str, ...]
    ...     def values(self, frame):
    ...         return frame[self.columns[0]].to_numpy().astype(np.uint64)
    >>> counts = KeyCounts(Value(("x",)), by="c")
    >>> state = counts.summarise(frames.from_arrow(pa.table({"x": [7, 5, 7], "c": ["a", None, "a"]})))
    >>> table = counts.finish(state)
    >>> table.classes.to_pylist(), table.codes.tolist(), table.ranges.tolist(), table.counts.tolist()
    (['a', None], [0, 1], [7, 5], [2, 1])
    """

    columns: tuple[str, ...] = field(init=False)
    key: Key
    by: str | None = None
    limit: int = 2**16
    inside: tuple[tuple[Any, int], ...] = ()
    shift: int = 64

    def __post_init__(self) -> None:
        names = (*self.key.columns, *([] if self.by is None else [self.by]))
        object.__setattr__(self, "columns", tuple(dict.fromkeys(names)))

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Count the keys of one partition.

        Raises
        ------
        DataValueError
            There are more than 10,000 classes; so does `merge`.
        """
        keys = self.key.values(frame)
        classes = pa.repeat(False, len(keys)) if self.by is None else without_minus_zero(categories(frame, self.by))
        if self.inside:
            mask = self._inside(classes, keys)
            classes, keys = classes.filter(pa.array(mask)), keys[mask]
        return self._counted(classes, np.arange(len(keys)), keys, np.ones(len(keys), np.int64), 0)

    def _inside(self, classes: pa.Array, keys: np.ndarray) -> np.ndarray:
        known = pa.array(dict.fromkeys(value for value, _ in self.inside), classes.type)
        wanted = ranges_by_class(self.inside)
        codes = pc.fill_null(pc.index_in(classes, value_set=known), -1).to_numpy(zero_copy_only=False)
        ranges, mask = keys >> np.uint64(self.shift), np.zeros(len(keys), bool)
        for of_classes in wanted.T:
            mask |= ranges == of_classes[codes]
        mask &= codes >= 0
        return mask

    def merge(self, states: Sequence[State]) -> State:
        """Add up, range by range; the ranges are those of the coarsest state, or wider."""
        shift = max(state["shift"] for state in states)
        offsets = np.cumsum([0, *(len(state["classes"]) for state in states)])
        places, keys, counts = [], [], []
        for state, offset in zip(states, offsets, strict=False):
            codes, ranges, rows = (state["table"][name].to_numpy() for name in ("class", "range", "rows"))
            places.append(codes + offset)
            keys.append(ranges >> np.uint64(shift - state["shift"]))
            counts.append(rows)
        classes = pa.concat_arrays([state["classes"] for state in states])
        return self._counted(classes, np.concatenate(places), np.concatenate(keys), np.concatenate(counts), shift)

    def _counted(
        self, classes: pa.Array, places: np.ndarray, ranges: np.ndarray, counts: np.ndarray, shift: int
    ) -> State:
        """Return the state of `counts` rows in each range of the class that stands at `places` in `classes`."""
        coded = classes.dictionary_encode(null_encoding="encode")
        if self.by is not None:
            hint = "Take a column of few values: of numbers make classes first, with QuantileDiscretizer, say."
            refuse_more(self.by, len(coded.dictionary), MOST_CLASSES, "classes", "", hint)
        joined = _joined(*_sorted(coded.indices.to_numpy()[places], ranges, counts))
        wider = self._widening(joined[0], joined[1], shift)
        if wider:
            joined = _joined(joined[0], joined[1] >> np.uint64(wider), joined[2])
        table = pa.table(dict(zip(("class", "range", "rows"), joined, strict=True)))
        return {"shift": shift + wider, "classes": coded.dictionary, "table": table}

    def _widening(self, codes: np.ndarray, ranges: np.ndarray, shift: int) -> int:
        """Return how many more bits to leave out, so that so few ranges are left; sorted ones stay in order."""
        widest = min(_SHIFTS[-1], self.shift - 1)
        for wider in (each - shift for each in _SHIFTS if each >= shift and each <= widest):
            if len(ranges) <= self.limit or _number(codes, ranges >> np.uint64(wider)) <= self.limit:
                return wider
        return widest // 4 * 4 - shift

    def finish(self, state: State) -> KeyTable:
        """Return the counts, classes in order."""
        classes = state["classes"]
        order = pc.sort_indices(classes).to_numpy()
        codes, ranges, counts = (state["table"][name].to_numpy() for name in ("class", "range", "rows"))
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return KeyTable(classes.take(pa.array(order)), state["shift"], *_sorted(place[codes], ranges, counts))


def ranges_by_class(inside: Sequence[tuple[Any, int]]) -> np.ndarray:
    """Return a row for each class, in the order in which they come, of the ranges given for it; the first fills up.

    Examples
    --------
    >>> ranges_by_class([("a", 3), ("b", 5), ("a", 4)]).tolist()
    [[3, 4], [5, 5]]
    """
    ranges: dict[Any, list[int]] = {}
    for value, each in inside:
        ranges.setdefault(value, []).append(each)
    width = max(map(len, ranges.values()))
    return np.array([of + of[:1] * (width - len(of)) for of in ranges.values()], np.uint64)


def _sorted(codes: np.ndarray, ranges: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all by class, then by range."""
    order = np.argsort(ranges)
    if len(codes) and codes.max():
        order = order[np.argsort(codes[order].astype(np.uint16), kind="stable")]
    return codes[order], ranges[order], counts[order]


def _starts(codes: np.ndarray, ranges: np.ndarray) -> np.ndarray:
    """Return which of sorted rows differ from the one before."""
    starts = np.ones(len(codes), bool)
    starts[1:] = (codes[1:] != codes[:-1]) | (ranges[1:] != ranges[:-1])
    return starts


def _number(codes: np.ndarray, ranges: np.ndarray) -> int:
    return int(np.count_nonzero(_starts(codes, ranges)))


def _joined(codes: np.ndarray, ranges: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sorted rows with those of one class and range added up."""
    first = np.flatnonzero(_starts(codes, ranges))
    added = np.add.reduceat(counts, first) if len(first) else counts
    return codes[first], ranges[first], added
