"""Each number times one of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.stages.base import ColumnStage, Fitted, Tags
from penstock.stages.features import is_dense
from penstock.stages.onnx_graph import OnnxGraph
from penstock.stages.parameter_checks import wrong_parameter
from penstock.stages.preprocessing.scaling.affine import Affine


@dataclass(frozen=True)
class ElementwiseProduct(ColumnStage):
    """Multiplies columns of numbers, and the elements of dense vectors, each by a number of its own; in float64.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1), and dense vectors: lists of numbers of one length.
    scaling_vec : sequence of float
        A finite number for each column, and for each element of a vector, in their order.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        There are not as many numbers as columns and elements, or one is infinite or NaN. Where there are vectors, their
        length is known at fit.
    SchemaError
        Before reading: a column is missing or neither of numbers nor of lists of them.

    Notes
    -----
    What is null stays null, also times 0; an infinity times 0 is 0. Of columns of numbers nothing is learned, of
    vectors their length.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"v": [[1.0, 2.0], [3.0, None]]}))
    >>> model = ps.Pipeline(st.ElementwiseProduct("v", scaling_vec=[0.0, 10.0])).fit(data)
    >>> model.transform(data).to_arrow()["v"].to_pylist()
    [[0.0, 20.0], [0.0, None]]
    """

    _: KW_ONLY
    scaling_vec: tuple[float, ...]

    made_type: ClassVar[pa.DataType | None] = pa.float64()
    tags: ClassVar[Tags] = Tags(accepts="numeric", lazy=True, vectors=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        given = tuple(self.scaling_vec) if isinstance(self.scaling_vec, Sequence) else ()
        if not given or not all(type(each) in (int, float) and math.isfinite(each) for each in given):
            raise wrong_parameter(self, "scaling_vec", "finite numbers, and one at least")
        object.__setattr__(self, "scaling_vec", tuple(map(float, given)))

    def bind(self, schema: pa.Schema) -> Self:
        bound = super().bind(schema)
        columns = bound.number_columns
        if not any(is_dense(name, schema) for name in columns) and len(columns) != len(self.scaling_vec):
            given, wanted = len(self.scaling_vec), len(columns)
            raise ConfigError(
                f"scaling_vec of {self.title} has {given} numbers for {wanted} columns or elements",
                hint="Give one for each column, and for each element of a vector, in their order.",
                stage=self.title,
            )
        return bound

    def _lines(self) -> dict[str, Affine]:
        return {out: Affine(factor=factor) for out, factor in zip(self.outputs(), self.scaling_vec, strict=True)}

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        lines = self._lines()
        return frame.with_columns(*[lines[out].expression(name).alias(out) for name, out in self.pairs()])

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        return self._lines()[dict(self.pairs())[name]]

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        lines = self._lines()
        graph.assign({out: lines[out].nodes(graph, name) for name, out in self.pairs()})
