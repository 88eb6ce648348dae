"""What the evaluators of two columns of lists share: the columns, and the check of their types."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from penstock.core.errors import SchemaError
from penstock.core.schemas import require
from penstock.frames.lists import element_type
from penstock.stages.evaluation.base import Evaluator


@dataclass(frozen=True)
class ListPairEvaluator(Evaluator, ABC):
    """An evaluator of predicted lists beside true ones."""

    label: str = "label"
    prediction: str = "prediction"
    weight: str | None = None

    def columns(self) -> tuple[str, ...]:
        """Return the prediction, the labels, and the weight if there is one."""
        return (self.prediction, self.label, *([self.weight] if self.weight is not None else []))

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
                self._refuse(name, kind, "lists of numbers or of strings")
        if element_type(prediction, label) is None:
            self._refuse(self.label, label, f"lists of the type of column {self.prediction!r}, which is {prediction}")
        for kind in weights:
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
                self._refuse(str(self.weight), kind, "numbers or booleans as weights")
        return self

    def _refuse(self, name: str, kind: pa.DataType, expected: str) -> None:
        raise SchemaError(
            f"column {name!r} is {kind}, but {self.title} takes {expected}",
            hint="Convert it before.",
            column=name,
            stage=self.title,
        )
