"""What a column is reduced to: NumPy scalars of the types that cuDF gives, NaN where there is no value."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from cudf_stand_in.dtypes import STRING, dtype_of
from cudf_stand_in.values import is_null, nans_to_nulls, scalar, to_numpy

_NUMBERS: dict[str, Callable[..., pa.Scalar]] = {
    "sum": pc.sum, "mean": pc.mean, "std": pc.stddev, "var": pc.variance,
}  # fmt: skip
_ALWAYS_FLOATING = ("mean", "std", "var")


def reduced(name: str, values: pa.Array, **options: Any) -> Any:
    """Return a reduction of the values that are not null.

    Raises
    ------
    TypeError
        The type has none, as a mean of strings.
    """
    known = nans_to_nulls(values).drop_null()
    if name in ("min", "max"):
        return _extreme(name, known)
    if name == "sum" and pa.types.is_string(values.type):
        return "".join(known.to_pylist())
    if pa.types.is_string(values.type):
        raise TypeError(f"Series.{name} does not support StringColumn")
    if not _is_number(values.type):
        raise NotImplementedError(f"{name} of {dtype_of(values.type)} is not in the stand-in")
    dtype = _dtype(name, values.type)
    if not len(known):
        return dtype.type(0 if name == "sum" else "nan")
    numbers = known.cast(pa.int8()) if pa.types.is_boolean(known.type) else known
    return dtype.type(_NUMBERS[name](numbers, **options).as_py())


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)


def _dtype(name: str, kind: pa.DataType) -> np.dtype:
    dtype: np.dtype = dtype_of(kind)
    if dtype.kind == "f":
        return dtype
    return np.dtype("float64" if name in _ALWAYS_FLOATING else "uint64" if dtype.kind == "u" else "int64")


def _extreme(name: str, known: pa.Array) -> Any:
    if not len(known):
        dtype = dtype_of(known.type)
        return pd.NaT if dtype.kind in "mM" else STRING.na_value if dtype is STRING else np.float64("nan")
    found = pc.min_max(known.cast(pa.int8()) if pa.types.is_boolean(known.type) else known)[name]
    return scalar(pa.repeat(found, 1).cast(known.type), 0)


class Reductions:
    """Mixed into a series."""

    def min(self) -> Any:
        return reduced("min", self._values)

    def max(self) -> Any:
        return reduced("max", self._values)

    def sum(self) -> Any:
        return reduced("sum", self._values)

    def mean(self) -> Any:
        return reduced("mean", self._values)

    def std(self, ddof: int = 1) -> Any:
        return reduced("std", self._values, ddof=ddof)

    def var(self, ddof: int = 1) -> Any:
        return reduced("var", self._values, ddof=ddof)

    def any(self) -> bool:
        return bool(_truths(self._values).any())

    def all(self) -> bool:
        return bool(_truths(self._values).all())

    def count(self) -> int:
        return len(self) - int(is_null(self._values).sum())

    def nunique(self, dropna: bool = True) -> int:
        values = nans_to_nulls(self._values)
        return int(pc.count_distinct(values, mode="only_valid" if dropna else "all").as_py())


def _truths(values: pa.Array) -> np.ndarray:
    known = nans_to_nulls(values).drop_null()
    if not _is_number(known.type) and len(known):
        raise NotImplementedError(f"`any` and `all` of {dtype_of(known.type)}")
    return to_numpy(known.cast(pa.bool_())) if len(known) else np.array([], bool)
