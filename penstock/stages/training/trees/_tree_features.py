"""Features as XGBoost takes them: numbers, and of a sparse vector those indices that its trees look at."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.frames import sparse
from penstock.stages.base import Blob, Fitted
from penstock.stages.features import Features
from penstock.stages.shapes import Shape, TableOf, Text
from penstock.stages.training._finite import finite_matrix, refuse_infinite
from penstock.stages.training._vector_features import csr_row, refuse_empty, split, to_csr
from penstock.statistics.base import Statistic
from penstock.statistics.index_counts import IndexCounts

_VECTOR = "indices of the vector"


@dataclass(frozen=True, eq=False)
class TreeFeatures(Features):
    """Features of trees; learned are ``vector`` and ``indices`` where there is a sparse vector among them.

    Parameters
    ----------
    index : numpy.ndarray, optional
        The indices of the vector that have a column in matrices, int32, ascending.
    """

    index: np.ndarray | None = None

    @classmethod
    def learned(cls, columns: Sequence[str], fitted: Fitted) -> Self:
        """Return the features, with the indices that were learned."""
        if "indices" not in fitted:
            return cls(tuple(columns))
        return cls(tuple(columns), fitted["vector"], fitted["indices"]["index"].to_numpy())

    def statistics(self) -> dict[str, Statistic]:
        """Ask for the indices of the vector."""
        return {} if self.vector is None else {_VECTOR: IndexCounts(sparse.columns(self.vector), positive=False)}

    @staticmethod
    def learn(results: Mapping[str, Any]) -> Fitted:
        """Return ``vector`` and ``indices`` where a vector was looked at.

        Raises
        ------
        DataValueError
            No row has an index.
        """
        for vector, found in results.get(_VECTOR, {}).items():
            refuse_empty(vector, found.table.num_rows)
            return {"vector": vector, "indices": found.table.select(["index"])}
        return {}

    @property
    def shapes(self) -> dict[str, Shape]:
        """What a model has of a vector."""
        indices = TableOf({"index": pa.types.is_integer}, unique=("index",))
        return {} if self.vector is None else {"vector": Text(), "indices": indices}

    def matrix(self, frame: nw.DataFrame) -> Any:
        """Return the float32 matrix of rows, NaN for null; DataValueError for an infinity."""
        return float32_matrix(frame, self.columns, self.index)

    def row_function(self, schema: pa.Schema) -> Callable[[Mapping[str, Any]], Any]:
        """Return what makes `matrix` of one row of Python values."""
        return float32_row(self.columns, schema, self.index)

    def by_name(self, scores: Mapping[str, float]) -> dict[str, float]:
        """Return scores by the names of features, which a booster that was trained on a vector knows by place alone."""
        if self.index is None:
            return dict(scores)
        names = [*self.numbers, *(f"{self.vector}[{place}]" for place in self.index)]
        return {names[int(place.removeprefix("f"))]: score for place, score in scores.items()}

    def widened(self, before: TreeFeatures, booster: Blob) -> Fitted:
        """Return a booster of the features `before` as one that has those here too, and the ``indices`` of both."""
        if self.index is None or before.index is None:
            return {"booster": booster}
        numbers, index = len(self.numbers), np.union1d(self.index, before.index)
        places = np.concatenate([np.arange(numbers), numbers + np.searchsorted(index, before.index)])
        indices = pa.table({"index": pa.array(index, pa.int32())})
        return {"booster": with_features(booster, places, numbers + len(index)), "indices": indices}

    def without_unused(self, fitted: Fitted) -> Fitted:
        """Return a model without those indices that no tree looks at."""
        if self.index is None:
            return fitted
        numbers = len(self.numbers)
        booster, used = without_unused(fitted["booster"], numbers)
        return {**fitted, "booster": booster, "indices": fitted["indices"].take(used[numbers:] - numbers)}


def float32_matrix(frame: nw.DataFrame, columns: tuple[str, ...], index: np.ndarray | None = None) -> Any:
    """Return the float32 matrix of `columns`, NaN for null.

    With a sparse vector among them, of which `index` is looked at, it is sparse, see `_vector_features`.

    Raises
    ------
    DataValueError
        A value is infinite, or too large for float32; XGBoost would take it without a word when it predicts.
    """
    if index is not None:
        return to_csr(frame, split(frame, columns), float32_matrix, index)
    return finite_matrix(frame, columns, "float32")


def float32_row(
    columns: tuple[str, ...], schema: pa.Schema, index: np.ndarray | None = None
) -> Callable[[Mapping[str, Any]], Any]:
    """Return what makes a float32 matrix of one row of Python values, NaN for None, rounded as `to_matrix` does.

    With a sparse vector among the columns, of which `index` is looked at, it is sparse, see `_vector_features`.

    The function raises DataValueError for an infinity, or a value too large for float32.

    Examples
    --------
    >>> float32_row(("a", "b"), pa.schema({"a": pa.int64(), "b": pa.float64()}))({"a": 3, "b": None})
    array([[ 3., nan]], dtype=float32)
    """
    sparse = csr_row(columns, schema, float32_row, index)
    if sparse is not None:
        return sparse
    # An integer would be rounded twice on the way through float64.
    wide = [name for name in columns if pa.types.is_integer(schema.field(name).type)]

    def convert(row: Mapping[str, Any]) -> np.ndarray:
        values = [math.nan if (value := row[name]) is None else value for name in columns]
        with np.errstate(over="ignore"):
            matrix = np.array([values], dtype=np.float64).astype(np.float32)
        for name in wide:
            value = row[name]
            if value is not None and abs(value) >= 2**53:
                matrix[0, columns.index(name)] = np.asarray(value).astype(np.float32)
        infinite = np.isinf(matrix[0])
        if infinite.any():
            refuse_infinite(columns, infinite.astype(int).tolist(), "float32")
        return matrix

    return convert


_DELETED = 2**31 - 1
"""What XGBoost has in place of a feature at a node that it pruned."""


def without_unused(blob: Blob, first: int) -> tuple[Blob, np.ndarray]:
    """Return a booster with the same scores that has fewer features, and which of them it has, ascending.

    Parameters
    ----------
    blob : Blob
        A booster whose features have no names.
    first : int
        So many features are kept whether a tree looks at them or not.
    """
    document = to_document(blob)
    kept = np.unique(np.concatenate([np.arange(first), *map(_features, _trees(document))]))
    return _recoded(blob.kind, document, lambda split: np.searchsorted(kept, split), len(kept)), kept


def with_features(blob: Blob, places: np.ndarray, count: int) -> Blob:
    """Return a booster with the same scores that has `count` features, its own at these places among them."""
    return _recoded(blob.kind, to_document(blob), lambda split: places[split], count)


def _recoded(kind: str, document: Any, place: Callable[[np.ndarray], np.ndarray], count: int) -> Blob:
    """Return a booster whose features are at other places, of so many."""
    for tree in _trees(document):
        split = np.array(tree["split_indices"])
        known = np.where(split == _DELETED, 0, split)
        tree["split_indices"] = np.where(split == _DELETED, split, place(known)).tolist()
        tree["tree_param"]["num_feature"] = str(count)
    document["learner"]["learner_model_param"]["num_feature"] = str(count)
    return from_document(kind, document)


def _trees(document: Any) -> Sequence[dict[str, Any]]:
    """Return the trees of a ``gbtree`` booster, or of a ``dart`` one, which has one in it."""
    booster: Mapping[str, Any] = document["learner"]["gradient_booster"]
    return booster.get("gbtree", booster)["model"]["trees"]


def _features(tree: Mapping[str, Any]) -> np.ndarray:
    """Return the features at nodes; leaves have 0, or the feature of the split that was there before pruning."""
    split: np.ndarray = np.array(tree["split_indices"])
    return split[split != _DELETED]


def to_document(blob: Blob) -> Any:
    """Return a booster as XGBoost writes it in JSON."""
    import xgboost as xgb  # here, as a stage is made without it

    return json.loads(bytes(xgb.Booster(model_file=bytearray(blob.data)).save_raw("json")))


def from_document(kind: str, document: Any) -> Blob:
    """Return the booster of a document."""
    import xgboost as xgb

    booster = xgb.Booster(model_file=bytearray(json.dumps(document).encode()))
    return Blob(kind, bytes(booster.save_raw("ubj")))
