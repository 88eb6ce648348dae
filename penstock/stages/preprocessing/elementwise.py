"""What stages share that make a number of each number by a mathematical function."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import DataValueError
from penstock.stages.base import ColumnStage, Fitted, Tags
from penstock.stages.number_columns import values_of, with_results
from penstock.stages.preprocessing.columns import by_block, refuse_rows


@dataclass(frozen=True)
class Elementwise(ColumnStage):
    """A stage with a function of one number, in float64, that refuses the numbers for which it has no value."""

    made_type: ClassVar[pa.DataType | None] = pa.float64()
    tags: ClassVar[Tags] = Tags(accepts="numeric")

    @abstractmethod
    def compute(self, values: Any) -> Any:
        """Return the function of an array (NumPy or CuPy), NaN of NaN, or of one number; equal to the bit."""

    def outside(self, value: Any) -> Any:
        """Return whether the function has no value at a float, or the expression that tells it of one.

        None, as here, where it has one everywhere.
        """
        return None

    def refused(self, name: str) -> tuple[str, str]:
        """Return how an error describes the values that are outside, and a hint what to do about them."""
        return "without a result", "Filter these rows."

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Check the values of all columns in one select, then compute."""
        checked = self.inputs() if self.outside(math.nan) is not None else ()
        return self.computed(refuse_rows(frame, dict.fromkeys(checked, self._test), self._error))

    def computed(self, frame: nw.DataFrame) -> nw.DataFrame:
        """Return the frame with the results; its values have been checked."""
        if frames.is_gpu(frame):
            return by_block(self, frame, self.compute)
        return with_results(frame, {out: self.compute(values_of(frame, name)) for name, out in self.pairs()})

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Compute one value."""

        def compute(value: Any) -> float | None:
            if value is None:
                return None
            number = float(value)
            if self.outside(number):
                raise self._error(name, 1)
            return float(self.compute(number))

        return compute

    def _test(self, column: Any) -> Any:
        return self.outside(column.cast(nw.Float64))

    def _error(self, name: str, count: int) -> DataValueError:
        described, hint = self.refused(name)
        problem = f"column {name!r} has {count} values {described}"
        return DataValueError(problem, hint=hint, column=name, predicate=self._test(nw.col(name)))
