"""A graph in ONNX that stages add their part to: a tensor of shape (rows, 1) for each column of numbers or strings.

That of a dense vector is of shape (rows, length).

Null is NaN in a floating tensor, and the empty string in one of strings; integers and booleans have none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError

ML = "ai.onnx.ml"
OPSETS = {"": 19, ML: 3}
"""From 19 on strings can be compared; onnxruntime has had them since 1.17."""


@dataclass(frozen=True)
class Tensor:
    """A value of the graph, by its name and the NumPy type of its elements; "str" is a string."""

    name: str
    dtype: str
    width: int = 1
    """How many numbers an input has for each row."""

    @property
    def is_floating(self) -> bool:
        return self.dtype.startswith("float")


class OnnxGraph:
    """Nodes and constants, and the tensors that columns are in.

    Parameters
    ----------
    inputs : mapping of str to pyarrow.DataType
        The columns that come in; of strings, booleans and numbers, and dense vectors.
    sizes : mapping of str to int
        The lengths of those that are vectors.

    Attributes
    ----------
    columns : dict of str to Tensor
        The columns there are so far.
    schema : pyarrow.Schema
        Their types, as the stage at hand has them.
    """

    def __init__(self, inputs: Mapping[str, pa.DataType], sizes: Mapping[str, int] = MappingProxyType({})) -> None:
        kinds = {name: kind.value_type if name in sizes else kind for name, kind in inputs.items()}
        self.columns = {name: Tensor(name, dtype_of(name, kind), sizes.get(name, 1)) for name, kind in kinds.items()}
        self.inputs = dict(self.columns)
        self.schema = pa.schema(list(inputs.items()))
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, op: str, *inputs: Tensor, dtype: str | None = None, domain: str = "", **attributes: Any) -> Tensor:
        """Add a node of one output, whose elements are of `dtype`, or else of the type of the first input."""
        from onnx import helper

        made = Tensor(f"#{len(self.nodes)}", dtype or inputs[0].dtype)
        names = [each.name for each in inputs]
        self.nodes.append(helper.make_node(op, names, [made.name], domain=domain, **attributes))
        return made

    def constant(self, values: Any, dtype: str = "float64") -> Tensor:
        """Add a constant; a number is of shape (1, 1)."""
        from onnx import helper, numpy_helper

        name = f"#c{len(self.constants)}"
        array = np.array(values, dtype=object if dtype == "str" else dtype, ndmin=2)
        if dtype == "str":
            texts = [str(each).encode() for each in array.ravel()]
            self.constants.append(helper.make_tensor(name, element_type(dtype), array.shape, texts))
        else:
            self.constants.append(numpy_helper.from_array(array, name))
        return Tensor(name, dtype)

    def axes(self, *axes: int) -> Tensor:
        """Add a constant that names axes, of shape (n,)."""
        from onnx import numpy_helper

        name = f"#c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(axes, np.int64), name))
        return Tensor(name, "int64")

    def cast(self, tensor: Tensor, dtype: str) -> Tensor:
        """Return the tensor in another type."""
        if tensor.dtype == dtype:
            return tensor
        return self.add("Cast", tensor, dtype=dtype, to=element_type(dtype))

    def number(self, name: str, dtype: str = "float64") -> Tensor:
        """Return a column of numbers in a floating type."""
        return self.cast(self.columns[name], dtype)

    def numbers(self, names: Sequence[str], dtype: str = "float64") -> Tensor:
        """Return columns of numbers side by side, of shape (rows, columns)."""
        found = [self.number(name, dtype) for name in names]
        return found[0] if len(found) == 1 else self.add("Concat", *found, axis=1)

    def parts(self, tensor: Tensor, count: int) -> list[Tensor]:
        """Return the columns of a matrix that has so many, each of shape (rows, 1)."""
        from onnx import helper

        made = [Tensor(f"#{len(self.nodes)}.{place}", tensor.dtype) for place in range(count)]
        names = [each.name for each in made]
        self.nodes.append(helper.make_node("Split", [tensor.name], names, axis=1, num_outputs=count))
        return made

    def part(self, tensor: Tensor, place: int) -> Tensor:
        """Return one column of a matrix, of shape (rows, 1)."""
        return self.add("Gather", tensor, self.axes(place), axis=1)

    def missing(self, name: str) -> Tensor:
        """Return where a column is null."""
        tensor = self.columns[name]
        if tensor.is_floating:
            return self.add("IsNaN", tensor, dtype="bool")
        if tensor.dtype == "str":
            return self.add("Equal", tensor, self.constant("", "str"), dtype="bool")
        number = self.number(name)
        return self.add("Less", number, number, dtype="bool")

    def where(self, condition: Tensor, then: Tensor, otherwise: Tensor) -> Tensor:
        """Return `then` where the condition holds, and `otherwise` elsewhere."""
        return self.add("Where", condition, then, otherwise, dtype=then.dtype)

    def codes(self, name: str, values: Sequence[Any], *, first: int, unseen: int, missing: int) -> Tensor:
        """Return int64: `first` and on for the values of a column in their order, and for what is none of them."""
        tensor, texts = self.columns[name], self.columns[name].dtype == "str"
        null = self.missing(name)
        if not texts:
            safe = self.where(null, self.constant(0.0), self.number(name)) if tensor.is_floating else tensor
            tensor = self.cast(safe, "int64")
        keys = {"keys_strings" if texts else "keys_int64s": [each if texts else int(each) for each in values]}
        places = list(range(first, first + len(values)))
        if not values:
            found = self.add("Where", null, *[self.constant(unseen, "int64")] * 2, dtype="int64")
        else:
            found = self.add(
                "LabelEncoder", tensor, dtype="int64", domain=ML, values_int64s=places, default_int64=unseen, **keys
            )
        # A vocabulary may have the empty string itself.
        return found if "" in values else self.where(null, self.constant(missing, "int64"), found)

    def sum(self, tensor: Tensor, op: str = "ReduceSum", axis: int = 1, *, keep: bool = True) -> Tensor:
        """Return the sum along an axis, or another reduction."""
        return self.add(op, tensor, self.axes(axis), keepdims=int(keep))

    def assign(self, columns: Mapping[str, Tensor]) -> None:
        """Make or replace columns, all at once."""
        self.columns.update(columns)


def dtype_of(name: str, kind: pa.DataType) -> str:
    """Return the type of elements for a column of a type.

    Raises
    ------
    ConfigError
        ONNX has no tensor of such values.

    Examples
    --------
    >>> dtype_of("x", pa.float64()), dtype_of("city", pa.string()), dtype_of("n", pa.int32())
    ('float64', 'str', 'int32')
    """
    if pa.types.is_string(kind):
        return "str"
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return str(np.dtype(kind.to_pandas_dtype()))
    raise ConfigError(
        f"column {name!r} is {kind}, and ONNX has tensors of numbers, booleans and strings",
        hint="Export the stages after those that read it.",
        column=name,
    )


def element_type(dtype: str) -> int:
    """Return what ONNX calls a type."""
    from onnx import TensorProto, helper

    return int(TensorProto.STRING if dtype == "str" else helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def not_in_onnx(stage: Any, what: str, instead: str) -> ConfigError:
    """Return the error about a parameter, or a type, that ONNX cannot express."""
    return ConfigError(f"{stage.title} has {what}, which ONNX cannot express", hint=instead, stage=stage.title)
