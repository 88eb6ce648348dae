"""Columns of numbers on a GPU as one array, for few calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.frames import cudf, matrices

EXACT: Mapping[nw.dtypes.DType, pa.DataType] = {
    nw.Float64(): pa.float64(), nw.Float32(): pa.float32(), nw.Boolean(): pa.bool_(),
    nw.Int32(): pa.int32(), nw.Int16(): pa.int16(), nw.Int8(): pa.int8(),
    nw.UInt32(): pa.uint32(), nw.UInt16(): pa.uint16(), nw.UInt8(): pa.uint8(),
}  # fmt: skip
"""Types of which float64 holds each value."""


@dataclass(frozen=True, eq=False)
class Block:
    """Array of several columns, with methods of a Narwhals expression.

    A formula over ``nw.col`` computes all columns of a block at once.

    Parameters
    ----------
    values : array of shape (n_columns, n_rows)
        float64, or bool: true only where the number is known.
    numbers : Block, optional
        The numbers that `values` were computed from, NaN for null; the block itself unless given.
    """

    values: Any
    numbers: Block | None = None

    @cached_property
    def null(self) -> Any:
        """Where the number is null."""
        return np.isnan(self.values) if self.numbers is None else self.numbers.null

    @cached_property
    def known(self) -> Any:
        """Where the number is not null."""
        return ~self.null if self.numbers is None else self.numbers.known

    def cast(self, dtype: Any) -> Block:
        """Round to float32, or return the block itself, which is of float64."""
        if dtype == nw.Float64:
            return self
        if dtype != nw.Float32:
            raise NotImplementedError(f"a block holds floating numbers, not {dtype}")
        return self._made(self.values.astype(np.float32).astype(np.float64))

    def abs(self) -> Block:
        return self._made(np.abs(self.values))

    def is_null(self) -> Block:
        return Block(self.null)

    def is_in(self, values: Sequence[Any]) -> Block:
        return self._made(np.isin(self.values, matrices.to_device(np.array(values, np.float64), "gpu")))

    def __invert__(self) -> Block:
        return self._made(~self.values & self.known) if self.numbers is not None else Block(~self.values)

    def __ne__(self, other: object) -> Block:  # type: ignore[override]  # as of an expression
        return self._made((self.values != _values(other)) & self.known)

    def _made(self, values: Any) -> Block:
        return Block(values, self if self.numbers is None else self.numbers)


def _values(other: Any) -> Any:
    return other.values if isinstance(other, Block) else other


def _operator(name: str) -> Callable[[Block, Any], Block]:
    return lambda block, other: block._made(getattr(block.values, name)(_values(other)))


for _name in ("sub", "mul", "rmul", "mod", "lt", "le", "gt", "ge", "eq", "and", "or"):
    setattr(Block, f"__{_name}__", _operator(f"__{_name}__"))


def fits_block(frame: Any, names: Iterable[str], *, exact: bool = True) -> bool:
    """Return whether columns are on a GPU and of types within float64, or of any integers if not `exact`."""
    if not frame.implementation.is_cudf():
        return False
    schema = frame.collect_schema()
    return all(schema[name] in EXACT or (not exact and schema[name].is_integer()) for name in names)


def block(frame: nw.DataFrame[Any], names: Sequence[str]) -> Block:
    """Return columns of numbers of a frame on a GPU as a block."""
    return Block(cudf.to_rows(nw.to_native(frame), names))


def with_rows(
    frame: nw.DataFrame[Any],
    pairs: Sequence[tuple[str, str]],
    function: Callable[[Any], Any],
    kinds: Mapping[str, pa.DataType],
) -> nw.DataFrame[Any]:
    """Return a frame on a GPU with outputs of types `kinds`, computed by a function of the array of their inputs.

    The function takes and returns an array of shape (n_pairs, n_rows), NaN for null.
    """
    names, outputs = zip(*pairs, strict=True)
    rows = function(cudf.to_rows(nw.to_native(frame), names))
    dtypes = {out: np.dtype(kind.to_pandas_dtype()) for out, kind in kinds.items()}
    return nw.from_native(cudf.with_rows(nw.to_native(frame), outputs, rows, dtypes), eager_only=True)


def device_parameters(numbers: Sequence[Sequence[float]]) -> Any:
    """Return parameters of each column of a block as an array on the GPU, of shape (n_columns, n_parameters)."""
    return matrices.to_device(np.array(numbers, np.float64), "gpu")
