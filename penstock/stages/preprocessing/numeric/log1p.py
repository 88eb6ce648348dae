"""Logarithms of counts and amounts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np

from penstock import frames
from penstock.stages.base import Fitted, Tags
from penstock.stages.onnx_graph import OnnxGraph
from penstock.stages.preprocessing.elementwise import Elementwise


@dataclass(frozen=True)
class Log1p(Elementwise):
    """Replaces x by ``log(1 + x)``, the natural logarithm, in float64 and exact to rounding also for small x.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    SchemaError
        Before reading: a column is missing or not numeric.
    DataValueError
        When it runs: values of -1 or less, which have no logarithm; column, count, first file and row are named.

    Notes
    -----
    A null stays null, and infinity stays infinity. Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 1e-20, None]}))
    >>> ps.Pipeline(st.Log1p("x")).fit(data).transform(data).to_arrow()["x"].to_pylist()
    [0.0, 1e-20, None]
    """

    tags: ClassVar[Tags] = Tags(accepts="numeric", lazy=True)

    def compute(self, values: Any) -> Any:
        """Return the logarithm of one number, or of each of an array."""
        return math.log1p(values) if isinstance(values, float) else np.log1p(values)

    def computed(self, frame: nw.DataFrame) -> nw.DataFrame:
        """Take logarithms by Polars' own function, all columns at once, where the frame is one of Polars."""
        return super().computed(frame) if frames.is_gpu(frame) else frames.log1p(frame, dict(self.pairs()))

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        one = graph.constant(1.0)
        values = {out: graph.add("Add", graph.number(name), one) for name, out in self.pairs()}
        graph.assign({out: graph.add("Log", value) for out, value in values.items()})

    def outside(self, value: Any) -> Any:
        """Return whether it is -1 or less."""
        return value <= -1

    def refused(self, name: str) -> tuple[str, str]:
        """Tell of values of -1 or less."""
        hint = f"Put Clip({name!r}, lower=0) before this step, or filter these rows."
        return "of -1 or less, which have no log(1 + x)", hint
