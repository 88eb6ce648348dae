"""Columns of lists as one array of elements and where each list begins, on the host.

Neither Narwhals nor cuDF has what text needs of lists. Arrow has it for the elements of all lists together, in one call
for a column; a frame on a GPU is copied by way of Arrow, and so is what comes of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames


@dataclass(frozen=True, eq=False)
class Ragged:
    """A column of n lists.

    Attributes
    ----------
    elements : pyarrow.Array
        Of all lists, one after the other; may hold nulls.
    offsets : numpy.ndarray
        int64 of shape (n + 1,): list i has the elements from ``offsets[i]`` to before ``offsets[i + 1]``.
    missing : numpy.ndarray
        bool of shape (n,): the list is null; it has no elements then.

    Examples
    --------
    >>> lists = Ragged.of(frames.from_arrow(pa.table({"w": [["a", "b"], None, []]})), "w")
    >>> lists.elements.to_pylist(), lists.offsets.tolist(), lists.missing.tolist()
    (['a', 'b'], [0, 2, 2, 2], [False, True, False])
    >>> lists.keep(np.array([False, True])).to_arrow().to_pylist()
    [['b'], None, []]
    """

    elements: pa.Array
    offsets: np.ndarray
    missing: np.ndarray

    @classmethod
    def of(cls, frame: nw.DataFrame[Any], name: str) -> Ragged:
        """Return the lists of a column."""
        lists = frames.to_arrow(frame.select(name))[name].combine_chunks()
        lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
        missing = lists.is_null().to_numpy(zero_copy_only=False)
        return cls(lists.flatten(), _ends(lengths), missing)

    @property
    def lengths(self) -> np.ndarray:
        """How many elements each list has, int64."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> np.ndarray:
        """The number of the list that each element is in, int64."""
        return np.repeat(np.arange(len(self.missing)), self.lengths)

    @property
    def places(self) -> np.ndarray:
        """The place of each element in its list, int64, from 0."""
        return np.arange(len(self.elements)) - np.repeat(self.offsets[:-1], self.lengths)

    def keep(self, kept: np.ndarray) -> Ragged:
        """Return the lists with those elements alone for which `kept`, a mask, is true."""
        lengths = np.bincount(self.rows[kept], minlength=len(self.missing))
        return Ragged(self.elements.filter(pa.array(kept)), _ends(lengths), self.missing)

    def known(self) -> Ragged:
        """Return the lists without elements that are null."""
        valid = self.elements.is_valid().to_numpy(zero_copy_only=False)
        return self if valid.all() else self.keep(valid)

    def coded(self) -> tuple[pa.Array, np.ndarray]:
        """Return the distinct elements, and for each element its place among them (int32); there are no nulls."""
        coded = self.elements.dictionary_encode()
        return coded.dictionary, coded.indices.to_numpy()

    def with_lengths(self, elements: pa.Array, lengths: np.ndarray) -> Ragged:
        """Return lists of these elements, as many in each as `lengths` says; null where these are."""
        return Ragged(elements, _ends(lengths), self.missing)

    def to_arrow(self) -> pa.LargeListArray:
        """Return the lists as an array."""
        offsets = pa.array(self.offsets, mask=np.append(self.missing, False))
        return pa.LargeListArray.from_arrays(offsets, self.elements)


def _ends(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def with_lists(frame: nw.DataFrame[Any], made: Mapping[str, Ragged]) -> nw.DataFrame[Any]:
    """Return `frame` with columns of lists added or replaced.

    Examples
    --------
    >>> frame = frames.from_arrow(pa.table({"w": [["a"], None]}))
    >>> with_lists(frame, {"again": Ragged.of(frame, "w")})["again"].to_list()
    [['a'], None]
    """
    table = pa.table({name: lists.to_arrow() for name, lists in made.items()})
    return frame.with_columns(*frames.from_arrow(table, frames.kind_of(frame)).iter_columns())
