"""Learners that take a sparse vector among their features."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Self

import pyarrow as pa

from penstock.core.selectors import resolve
from penstock.frames import sparse
from penstock.stages.base import with_fields
from penstock.stages.training._learner import Learner
from penstock.stages.training._vector_features import vector_among


class VectorLearner(Learner):
    """A learner of numbers, and beside them or alone both columns of one sparse vector, where features name these."""

    def bind(self, schema: pa.Schema) -> Self:
        if self.features is None:
            return super().bind(schema)
        names = resolve(self.features, schema, self.title)
        vector = vector_among(names, schema, self.title)
        if vector is None:
            return super().bind(schema)
        # Its two columns are checked, and are numbers to what checks each feature.
        numbers = with_fields(schema, dict.fromkeys(sparse.columns(vector), pa.float64()))
        return super(VectorLearner, dataclasses.replace(self, features=names)).bind(numbers)  # type: ignore[type-var]

    def _check_vectors(self, schema: pa.Schema, features: Sequence[str]) -> None:
        """Leave them to `vector_among`."""

    def _numbers(self, vector: str | None) -> tuple[str, ...]:
        """Return the features that are numbers."""
        held = () if vector is None else sparse.columns(vector)
        return tuple(name for name in self.inputs() if name not in held)
