"""What the evaluators of two columns of lists share: the columns, and the check of their types."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from penstock.core.schemas import require
from penstock.core.selectors import is_numeric
from penstock.frames.lists import element_type
from penstock.stages.base import wrong_type
from penstock.stages.evaluation.base import CONVERT, Evaluator


@dataclass(frozen=True)
class ListPairEvaluator(Evaluator, ABC):
    """An evaluator of predicted lists beside true ones."""

    label: str = "label"
    prediction: str = "prediction"
    weight: str | None = None

    def columns(self) -> tuple[str, ...]:
        """Return the prediction, the labels, and the weight if there is one."""
        return (self.prediction, self.label, *self._weights)

    def bind(self, schema: pa.Schema) -> Self:
        """Return the evaluator, checked against the columns to evaluate.

        Raises
        ------
        SchemaError
            A column is missing, is not one of lists of numbers or strings, the elements of the two cannot be compared,
            or the weights are not numbers.
        """
        require(schema, self.columns(), stage=self.title)
        prediction, label, *weights = (schema.field(name).type for name in self.columns())
        for name, kind in ((self.prediction, prediction), (self.label, label)):
            if element_type(kind, kind) is None:
                raise wrong_type(self.title, name, kind, "lists of numbers or of strings", CONVERT)
        if element_type(prediction, label) is None:
            expected = f"lists of the type of column {self.prediction!r}, which is {prediction}"
            raise wrong_type(self.title, self.label, label, expected, CONVERT)
        for name, kind in zip(self._weights, weights, strict=True):
            if not is_numeric(kind):
                raise wrong_type(self.title, name, kind, "numbers or booleans as weights", CONVERT)
        return self
