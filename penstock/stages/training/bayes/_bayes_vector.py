"""Naive Bayes of a sparse vector, alone or beside numbers: of sums by class and index, and rows that stay CSR.

Indices that no row has at fit are all alike: each has the same probability in a class, of smoothing alone. They are
kept as one, which stands for as many as there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import DataValueError
from penstock.frames import matrices, sparse
from penstock.stages.base import Fitted
from penstock.stages.training._vector_features import at_indices, index_table, of_index_table, refuse_empty
from penstock.stages.training.bayes import _bayes
from penstock.statistics.base import Statistic
from penstock.statistics.class_indices import ClassIndices, SumsByClass
from penstock.statistics.vector_faults import refuse_broken

_DOMAIN = {"multinomial": "negative", "complement": "negative", "bernoulli": "not binary"}


@dataclass(frozen=True)
class VectorBayes:
    """One of the models of amounts, of numbers and a vector.

    Parameters
    ----------
    model_type : {"multinomial", "complement", "bernoulli"}
    numbers : tuple of str
    vector : str
    """

    model_type: str
    numbers: tuple[str, ...]
    vector: str

    def statistic(self, label: str, weight: str | None, limit: int) -> Statistic:
        """Ask for the sums of each class."""
        columns = (label, *sparse.columns(self.vector), *([weight] if weight else []))
        return ClassIndices(columns, _DOMAIN[self.model_type], weighted=weight is not None, limit=limit)

    def length(self, found: SumsByClass, size: int | None) -> int:
        """Return how long the vector is: `size`, or what the largest index tells.

        Raises
        ------
        DataValueError
            An index is `size` or more, or there is neither.
        """
        column, seen = sparse.columns(self.vector)[0], int(found.index[-1]) + 1 if len(found.index) else 0
        if size is not None and seen > size:
            message = f"column {column!r} has index {seen - 1}, expected less than {size}"
            raise DataValueError(message, predicate=nw.col(column).list.max() >= size, column=column)
        refuse_empty(self.vector, size or seen)
        return size or seen

    def learned(self, found: SumsByClass, of_numbers: np.ndarray, smoothing: float, size: int) -> Fitted:
        """Return ``pi`` and the thetas; `of_numbers` are the sums of the numbers, of shape (n_classes, n_numbers)."""
        others = np.zeros((len(found.classes), int(size > len(found.index))))
        counts = np.concatenate([of_numbers, found.sums, others], axis=1)
        pi, theta = _bayes.shares(self.model_type, found.weight, counts, smoothing, len(self.numbers) + size)
        numbers, indices, other = np.split(theta, [len(self.numbers), len(self.numbers) + len(found.index)], axis=1)
        plain = {"theta": pa.table(dict(zip(self.numbers, numbers.T, strict=True)))} if self.numbers else {}
        of_vector = {"vector": self.vector, "size": size, "vector_theta": index_table(found.index, indices)}
        return {"pi": pi.tolist(), **plain, **of_vector, "other_theta": other.ravel().tolist()}

    def theta(self, fitted: Fitted) -> np.ndarray:
        """Return all of them, of shape (n_classes, n_columns): of numbers, of indices, and of the other indices."""
        numbers = [fitted["theta"][name].to_numpy()[:, None] for name in self.numbers]
        others = [np.array(fitted["other_theta"])[:, None]] if fitted["other_theta"] else []
        return np.concatenate([*numbers, of_index_table(fitted["vector_theta"])[1], *others], axis=1)

    def name(self, place: int, fitted: Fitted) -> str:
        """Return what the feature in this column of `theta` is called."""
        if place < len(self.numbers):
            return self.numbers[place]
        index = fitted["vector_theta"]["index"].to_numpy()
        unseen = np.flatnonzero(np.append(index, -1) != np.arange(len(index) + 1))[0]
        return f"{self.vector}[{np.append(index, unseen)[place - len(self.numbers)]}]"

    def scores(self, frame: nw.DataFrame[Any], matrix: Any, fitted: Fitted) -> tuple[Any, Any]:
        """Return the score of each class, of shape (n_classes, n_rows), and a mask of rows without a vector.

        Parameters
        ----------
        matrix : numpy.ndarray or cupy.ndarray of shape (n_rows, n_numbers), float64
        """
        index, _ = of_index_table(fitted["vector_theta"])
        others, theta = fitted["size"] - len(index), self.theta(fitted)
        times = np.append(np.ones(len(self.numbers) + len(index)), [others] * bool(others))
        constant, slopes = _bayes.linear(self.model_type, np.array(fitted["pi"]), theta, times)
        vectors, lacking = at_indices(frame, self.vector, index, fitted["size"] if others else 0)
        refuse_broken(frame, self.vector, (_DOMAIN[self.model_type],))
        numbers, of_vector = np.split(slopes, [len(self.numbers)], axis=1)
        kind = frames.kind_of(frame)
        found = _bayes.products(constant, numbers, matrix, kind)
        added = np.ascontiguousarray((vectors @ np.ascontiguousarray(of_vector.T)).T)
        found += matrices.to_device(added, kind)
        found = _bayes.normalised(found) if self.model_type == "complement" else found
        return found, matrices.to_device(lacking, kind)
