"""What stages share that make a number of each number by a mathematical function."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import DataValueError
from penstock.frames import matrices
from penstock.stages.base import ColumnStage, Fitted, Tags
from penstock.stages.preprocessing.columns import refuse_rows


def values_of(frame: nw.DataFrame, name: str) -> Any:
    """Return a column of numbers as a float64 array, on the device of the frame, with NaN for null.

    Examples
    --------
    >>> values_of(frames.from_arrow(pa.table({"x": [1, None]})), "x")
    array([ 1., nan])
    """
    return matrices.to_matrix(frame, [name], "float64")[:, 0]


def with_results(frame: nw.DataFrame, results: Mapping[str, Any]) -> nw.DataFrame:
    """Return the frame with float64 arrays as columns, by name; NaN becomes null.

    Examples
    --------
    >>> frame = frames.from_arrow(pa.table({"x": [1, None]}))
    >>> with_results(frame, {"y": values_of(frame, "x") + 1}).rows()
    [(1, 2.0), (None, None)]
    """
    made = frames.nan_to_null(frame.select(*[matrices.column(frame, out, values) for out, values in results.items()]))
    return frame.with_columns(*[made[out] for out in results])


@dataclass(frozen=True)
class Elementwise(ColumnStage):
    """A stage with a function of one number, in float64, that refuses the numbers for which it has no value."""

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

    def output_type(self, kind: pa.DataType) -> pa.DataType:
        """Return float64."""
        return pa.float64()

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Check the values of all columns in one select, then compute."""
        outside = {name: found for name in self.inputs() if (found := self._outside(name)) is not None}
        refuse_rows(frame, outside, self._error)
        return self.computed(frame)

    def computed(self, frame: nw.DataFrame) -> nw.DataFrame:
        """Return the frame with the results; its values have been checked."""
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

    def _outside(self, name: str) -> nw.Expr | None:
        found: nw.Expr | None = self.outside(nw.col(name).cast(nw.Float64))
        return found

    def _error(self, name: str, count: int) -> DataValueError:
        described, hint = self.refused(name)
        problem = f"column {name!r} has {count} values {described}"
        return DataValueError(problem, hint=hint, column=name, predicate=self._outside(name))
