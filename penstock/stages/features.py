"""What a model learns from: columns of numbers, and beside them or alone the two columns of a sparse vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from penstock.core.errors import SchemaError
from penstock.core.selectors import is_vector
from penstock.frames import sparse

if TYPE_CHECKING:
    from penstock.stages.base import Stage


@dataclass(frozen=True)
class Features:
    """The features of a bound stage.

    Parameters
    ----------
    columns : tuple of str
        All of them, in order.
    vector : str, optional
        The name of the sparse vector whose two columns are among them.

    Examples
    --------
    >>> schema = pa.schema([("x", pa.int64()), *sparse.fields(["tf"]).items()])
    >>> features = Features.of(("x", "tf_indices", "tf_values"), schema, "XGBoostRegressor")
    >>> features.vector, features.numbers
    ('tf', ('x',))
    """

    columns: tuple[str, ...]
    vector: str | None = None

    @classmethod
    def of(cls, columns: Sequence[str], schema: pa.Schema, stage: str) -> Self:
        """Return the features that these columns of a schema are.

        Raises
        ------
        SchemaError
            Lists that are not the two columns of one vector, or not of their types.
        """
        lists = [name for name in columns if pa.types.is_list(schema.field(name).type)]
        lists = [name for name in lists if not is_dense(name, schema)]
        if not lists:
            return cls(tuple(columns))
        vector = lists[0].rpartition("_")[0]
        if not set(lists) <= set(sparse.columns(vector)) <= set(columns):
            raise SchemaError(
                f"features of {stage} have lists, {', '.join(map(repr, lists))}, expected numbers, or beside them"
                " the two columns of one sparse vector, <name>_indices and <name>_values",
                hint="Name both columns of one vector; to have several, hash all words into one.",
                column=lists[0], stage=stage,
            )  # fmt: skip
        return cls(tuple(columns), sparse.resolve(vector, schema, stage)[0])

    @property
    def numbers(self) -> tuple[str, ...]:
        """Those that are numbers."""
        return tuple(name for name in self.columns if self.vector is None or name not in sparse.columns(self.vector))


def is_dense(name: str, schema: pa.Schema) -> bool:
    """Return whether a column holds dense vectors: lists of numbers that are no part of a sparse vector.

    Examples
    --------
    >>> schema = pa.schema([("v", pa.list_(pa.float32())), *sparse.fields(["tf"]).items()])
    >>> [is_dense(name, schema) for name in schema.names]
    [True, False, False]
    """
    if not is_vector(schema.field(name).type):
        return False
    of_sparse = sparse.columns(name.rpartition("_")[0])
    return name not in of_sparse or not set(of_sparse) <= set(schema.names)


def refuse_vectors(stage: Stage, columns: Sequence[str], schema: pa.Schema) -> None:
    """Raise SchemaError for the columns of a sparse vector, which not every stage takes."""
    for vector in sparse.among(columns):
        name = sparse.columns(vector)[0]
        if pa.types.is_list(schema.field(name).type):
            raise SchemaError(
                f"column {name!r} is {schema.field(name).type}, of a sparse vector, which {stage.title} does not take",
                hint="LinearRegression, LogisticRegression, NaiveBayes and XGBoost do.",
                column=name, stage=stage.title,
            )  # fmt: skip
