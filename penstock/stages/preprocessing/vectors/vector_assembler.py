"""Columns of numbers and vectors put together in one vector, or some of their elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.frames.elements import pack, packed
from penstock.stages.base import Fitted, RowFunction, Tags
from penstock.stages.onnx_graph import OnnxGraph
from penstock.stages.parameter_checks import wrong_parameter
from penstock.stages.preprocessing._added import AddedColumns


@dataclass(frozen=True)
class VectorAssembler(AddedColumns):
    """Adds a dense vector, a list of float64, of the numbers in columns and the elements of vectors, in their order.

    Trainers take columns by name, and need no vector: it is for what does, and for columns that are kept together.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1), and dense vectors: lists of numbers of one length. They stay.
    output : str, default="features"
        Name of the column that is added.

    Raises
    ------
    SchemaError, ConfigError
        Before reading: a column is missing or neither of numbers nor of lists of them, or `output` is there already.
    DataValueError
        The lists of a column are of several lengths; column, count, first file and row are named.

    Notes
    -----
    A number that is missing is null in the vector, and a row in which all are missing has no vector, null: put an
    :class:`Imputer` before. MLlib's refuses such rows, or has NaN in their place. Learned are the lengths of vectors
    among the columns, of which the first scan takes note; of numbers alone nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1, None], "v": [[0.5, 2.0], [3.0, 4.0]]}))
    >>> ps.Pipeline(st.VectorAssembler(["v", "x"])).fit(data).transform(data).to_arrow()["features"].to_pylist()
    [[0.5, 2.0, 1.0], [3.0, 4.0, None]]
    """

    _: KW_ONLY
    output: str = "features"

    made_type: ClassVar[pa.DataType | None] = pa.list_(pa.float64())
    tags: ClassVar[Tags] = Tags(accepts="numeric", vectors=True)

    def outputs(self) -> tuple[str, ...]:
        return (self.output,)

    @property
    def _elements(self) -> Sequence[str]:
        """The columns whose numbers are the elements, in order."""
        return self.number_columns

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        return frame.with_columns(pack(frame, self._elements, self.output))

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        graph.assign({self.output: graph.numbers(self._elements)})

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        return lambda row: row.update({self.output: packed(row, self._elements)})


@dataclass(frozen=True)
class VectorSlicer(VectorAssembler):
    """Adds a dense vector of some elements of others, or of columns of numbers, in the order in which they are named.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Dense vectors, lists of numbers of one length; the elements of several, and columns of numbers among them, are
        counted on. They stay.
    output : str, default="features"
        Name of the column that is added.
    indices : sequence of int
        Which elements, from 0; each once.

    Raises
    ------
    ConfigError
        An index is negative, stands twice, or no element has it: told once the length of vectors is known, at fit.
    SchemaError, DataValueError
        As of :class:`VectorAssembler`.

    Notes
    -----
    What is missing is null, as with :class:`VectorAssembler`. :class:`ListSlice` cuts lists of any lengths.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"v": [[0.5, 2.0, 7.0], None]}))
    >>> model = ps.Pipeline(st.VectorSlicer("v", indices=[2, 0], output="part")).fit(data)
    >>> model.transform(data).to_arrow()["part"].to_pylist()
    [[7.0, 0.5], None]
    """

    _: KW_ONLY
    indices: tuple[int, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        indices = tuple(self.indices) if isinstance(self.indices, Sequence) else ()
        whole = all(type(index) is int and index >= 0 for index in indices)
        if not indices or not whole or len(set(indices)) < len(indices):
            raise wrong_parameter(self, "indices", "integers of 0 or more, each once, and one at least")
        object.__setattr__(self, "indices", indices)

    def check_count(self) -> None:
        """Raise ConfigError for an index that no element has."""
        elements = len(self.number_columns)
        if max(self.indices) >= elements:
            raise ConfigError(
                f"indices of {self.title} have {max(self.indices)}, and there are {elements} elements, from 0",
                stage=self.title,
            )

    @property
    def _elements(self) -> Sequence[str]:
        return [self.number_columns[index] for index in self.indices]
