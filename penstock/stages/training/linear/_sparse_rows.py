"""Rows of numbers and a sparse vector as one CSR matrix each fragment, 12 bytes a value that is not left out."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse as scipy_sparse

from penstock.frames import matrices, sparse
from penstock.stages.classes import label_codes
from penstock.stages.training._vector_features import at_indices


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Some rows: ``x`` of float64 with a row each; labels, None where a column of ``x`` has them; weights."""

    x: scipy_sparse.csr_matrix
    label: np.ndarray | None
    weight: np.ndarray | None

    def parts(self, entries: int) -> Iterator[SparseRows]:
        """Yield runs of rows of about so many entries; they share the memory."""
        ends = self.x.indptr
        cuts = np.unique([0, *np.searchsorted(ends, np.arange(entries, ends[-1], entries)), self.x.shape[0]])
        for begin, end in itertools.pairwise(cuts):
            held = slice(ends[begin], ends[end])
            views = self.x.data[held], self.x.indices[held], ends[begin : end + 1] - ends[begin]
            x = scipy_sparse.csr_matrix(views, shape=(end - begin, self.x.shape[1]), copy=False)
            label, weight = (None if each is None else each[begin:end] for each in (self.label, self.weight))
            yield SparseRows(x, label, weight)

    @property
    def weights(self) -> np.ndarray:
        """The weights, 1 where there are none."""
        return np.ones(self.x.shape[0]) if self.weight is None else self.weight

    def weights_by_class(self, classes: int) -> np.ndarray:
        """Return the weights of rows of each class, else 0, of shape (classes, rows)."""
        codes = np.arange(float(classes))[:, None]
        return (codes == self.label) * self.weights if classes else np.empty((0, self.x.shape[0]))

    def weighted(self, terms: np.ndarray) -> np.ndarray:
        """Return `terms`, whose last axis is that of the rows, times the weights."""
        return terms if self.weight is None else terms * self.weight

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Return a value a row as a value an entry."""
        return np.repeat(values, np.diff(self.x.indptr))


@dataclass(frozen=True, eq=False)
class ToSparseRows:
    """Turns a frame, whose values were checked before, into rows of a weight above 0.

    The columns of the matrix are the numbers, the indices of the vector, and at the end ones, for the intercept.

    Parameters
    ----------
    numbers : tuple of str
    vector : str
    index : numpy.ndarray
        int32, ascending: all indices that occur.
    label : str
    classes : tuple or None
        Labels become their position among these; None takes them as numbers, in a column after those of features.
    weight : str or None
    intercept : bool
    """

    numbers: tuple[str, ...]
    vector: str
    index: np.ndarray
    label: str
    classes: tuple[Any, ...] | None
    weight: str | None
    intercept: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """What it reads."""
        weight = () if self.weight is None else (self.weight,)
        return (*self.numbers, *sparse.columns(self.vector), self.label, *weight)

    @property
    def key(self) -> Hashable:
        """All that the rows depend on."""
        return self.numbers, self.vector, self.index.tobytes(), self.label, self.classes, self.weight, self.intercept

    @property
    def in_every_row(self) -> tuple[str, ...]:
        """The first columns of the matrix, which have an entry in every row."""
        return self.numbers if self.classes is not None else (*self.numbers, self.label)

    def __call__(self, frame: nw.DataFrame[Any]) -> SparseRows:
        """Convert one frame."""
        if self.weight is not None:
            frame = frame.filter(nw.col(self.weight) > 0)
        vectors, _ = at_indices(frame, self.vector, self.index)
        numbers = matrices.to_host(matrices.to_matrix(frame, self.in_every_row, "float64"))
        blocks = [_full(numbers), vectors, _full(np.ones((len(frame), int(self.intercept))))]
        x = scipy_sparse.hstack(blocks, format="csr")
        return SparseRows(x, self._codes(frame), None if self.weight is None else _numbers(frame, self.weight))

    def _codes(self, frame: nw.DataFrame[Any]) -> np.ndarray | None:
        return None if self.classes is None else matrices.to_host(label_codes(frame, self.label, self.classes))


def _full(matrix: np.ndarray) -> scipy_sparse.csr_matrix:
    """Return a matrix as CSR with an entry also where it is 0."""
    rows, width = matrix.shape
    indices = np.tile(np.arange(width, dtype=np.int32), rows)
    return scipy_sparse.csr_matrix((matrix.ravel(), indices, np.arange(rows + 1) * width), shape=matrix.shape)


def _numbers(frame: nw.DataFrame[Any], name: str) -> np.ndarray:
    return matrices.to_host(matrices.to_matrix(frame, (name,), "float64")[:, 0])
