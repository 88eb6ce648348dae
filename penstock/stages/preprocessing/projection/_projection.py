"""What stages that project rows on a few directions share: the directions, found in one matrix, and the arithmetic."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa
import scipy.linalg
from scipy.linalg.lapack import dpstrf

from penstock import frames
from penstock.frames import matrices
from penstock.stages.base import Fitted, RowFunction, Tags
from penstock.stages.number_columns import with_results
from penstock.stages.onnx_graph import OnnxGraph
from penstock.stages.parameter_checks import in_range, wrong_parameter
from penstock.stages.preprocessing._added import AddedColumns
from penstock.stages.preprocessing.columns import finite
from penstock.stages.training.exact.design import linear
from penstock.statistics import Statistic
from penstock.statistics.gram import CrossProducts, Gram
from penstock.statistics.rules import refuse, rules_for

SMALLEST_PIVOT = 1e-12
"""A column of which less than this share of the variance is its own is explained by the columns before it."""
_NEARLY = 1 - 1e-9
_CELLS = 2**16
"""How many results are worked on together: few enough to stay in the cache of a core, while columns go by."""


@dataclass(frozen=True)
class Projection(AddedColumns):
    """Adds the float64 columns ``<prefix>_0`` to ``<prefix>_<k - 1>``: where a row lies along k directions."""

    tags: ClassVar[Tags] = Tags(accepts="numeric", vectors=True)

    k: int = field(metadata=in_range(least=1, whole=True))
    _: KW_ONLY
    prefix: str

    def check_count(self) -> None:
        """Raise ConfigError for more directions than columns."""
        if self.k > len(self.inputs()):
            raise wrong_parameter(self, "k", f"at most {len(self.inputs())}, the number of columns")

    def outputs(self) -> tuple[str, ...]:
        return tuple(f"{self.prefix}_{place}" for place in range(self.k))

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for the products of all columns with each other."""
        return {"gram": Gram(self.inputs())}

    @abstractmethod
    def directions(self, fitted: Fitted) -> tuple[np.ndarray, np.ndarray]:
        """Return what is subtracted from each column, and by what it is multiplied, of shape (k, n_columns)."""

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Project.

        Raises
        ------
        DataValueError
            A column holds an infinity.
        """
        columns = matrices.to_rows(frame, self.inputs(), narrow=True)
        refuse(rules_for(self.inputs(), "infinite"), matrices.count_infinite(columns.T))
        kind = frames.kind_of(frame)
        shift, coefficients = (matrices.to_device(each, kind) for each in self.directions(fitted))
        rows = max(_CELLS // self.k, 64) if kind == "cpu" else max(len(frame), 1)
        starts = range(0, max(len(frame), 1), rows)
        blocks = [linear(columns[:, start : start + rows] - shift[:, None], coefficients) for start in starts]
        scores = np.concatenate(blocks, axis=1)
        return with_results(frame, dict(zip(self.outputs(), scores, strict=True)))

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        shift, coefficients = self.directions(fitted)
        moved = graph.add("Sub", graph.numbers(self.inputs()), graph.constant(shift))
        scores = graph.add("MatMul", moved, graph.constant(coefficients.T))
        graph.assign({out: graph.part(scores, place) for place, out in enumerate(self.outputs())})

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Project one row."""
        shift, coefficients = (each.tolist() for each in self.directions(fitted))
        columns, outputs = list(zip(self.inputs(), shift, strict=True)), self.outputs()

        def call(row: dict[str, Any]) -> None:
            values = [(finite(name, row[name]), origin) for name, origin in columns]
            apart = [value - origin for value, origin in values if value is not None]
            if len(apart) < len(columns):
                row.update(dict.fromkeys(outputs))
                return
            row.update(zip(outputs, [_product(apart, each) for each in coefficients], strict=True))

        return call


def _product(values: list[float], coefficients: list[float]) -> float | None:
    """Return the sum of the products, added up in order as `linear` adds them."""
    total = values[0] * coefficients[0]
    for value, coefficient in zip(values[1:], coefficients[1:], strict=True):
        total += value * coefficient
    return None if total != total else total


def factor(gram: CrossProducts) -> np.ndarray:
    """Return F with ``F F' = gram.cross``, a column for each column of the rows that others do not explain.

    It is the Cholesky factor, with pivots, of the correlations, put in the columns' units again: they lose nothing
    beside each other, however far apart they are. The eigenvalues of the products themselves would: rounding hides
    those below 1e-16 of the largest.

    Examples
    --------
    >>> from penstock import frames
    >>> statistic = Gram(("x", "y"))
    >>> state = statistic.summarise(frames.from_arrow(pa.table({"x": [1, 2, 3], "y": [2, 4, 6]})))
    >>> factor(statistic.finish(state)).round(12).tolist()
    [[1.414213562373], [2.828427124746]]
    """
    spread = np.sqrt(np.diag(gram.cross))
    unit = np.where(spread > 0, spread, 1.0)
    correlations = gram.cross / unit / unit[:, None]
    np.fill_diagonal(correlations, spread > 0)  # exactly 1, so that rounding does not choose the first pivot
    if not spread.any():
        return np.zeros((len(spread), 0))
    lower, pivots, rank, _ = dpstrf(correlations, tol=SMALLEST_PIVOT, lower=1)
    made = np.empty((len(spread), rank))
    made[pivots - 1] = np.tril(lower)[:, :rank]
    return made * unit[:, None]


def axes(factor: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest singular values of a matrix and their left vectors, as rows; zeros where there are fewer.

    The loading largest in size is positive; of some that are equal, up to 1e-9, the first is.

    Examples
    --------
    >>> values, vectors = axes(np.array([[-3.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), 3)
    >>> (values + 0.0).tolist(), (vectors + 0.0).tolist()
    ([3.0, 1.0, 0.0], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    """
    values, vectors = np.zeros(k), np.zeros((k, len(factor)))
    used = factor.any(axis=1)
    if used.any():
        left, found, _ = scipy.linalg.svd(factor[used], full_matrices=False)
        found = found[:k][found[:k] > found[0] * len(factor) * np.finfo(float).eps]
        values[: len(found)], vectors[: len(found), used] = found, left.T[: len(found)]
    sizes = np.abs(vectors)
    deciding = np.argmax(sizes >= sizes.max(axis=1, keepdims=True) * _NEARLY, axis=1)
    signs = np.where(vectors[np.arange(k), deciding] < 0, -1.0, 1.0)
    return values, vectors * signs[:, None]
