"""A column in another type, as another library's, or as numbers that stand for its values."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.utils import murmurhash3_32

from cudf_stand_in import casts
from cudf_stand_in.arrays import ndarray
from cudf_stand_in.arrow import to_arrow
from cudf_stand_in.dtypes import CategoricalDtype, arrow_type, dtype_of
from cudf_stand_in.values import is_null, to_numpy

_NO_DEFAULT = object()
_HASH_OF_NULL = 2**32 - 1


class Conversions:
    """Mixed into a series."""

    def astype(self, dtype: Any) -> Any:
        if not isinstance(dtype, CategoricalDtype):
            return self._like(casts.cast(self._values, arrow_type(dtype)))
        made = self._like(pc.index_in(self._values, dtype._categories._values, skip_nulls=True))
        made._category = dtype
        return made

    def hash_values(self, method: str = "murmur3", seed: int | None = None) -> Any:
        """Return a hash of each text; of null the largest number."""
        if method != "murmur3" or not pa.types.is_string(self._values.type):
            raise NotImplementedError("hashes other than murmur3 of strings are not in the stand-in")
        texts = self._values.to_pylist()
        hashes = [_HASH_OF_NULL if text is None else murmurhash3_32(text, seed or 0, positive=True) for text in texts]
        return self._of(pa.array(hashes, pa.uint32()), self._index, None)

    def to_arrow(self) -> pa.Array:
        return to_arrow(self._values)

    def to_pandas(self) -> pd.Series:
        return self._values.to_pandas().rename(self.name)

    def to_cupy(self, dtype: Any = None, copy: bool = False, na_value: Any = None) -> ndarray:
        return ndarray._of(self._numbers(dtype, na_value))

    def to_numpy(self, dtype: Any = None, copy: bool = True, na_value: Any = _NO_DEFAULT) -> np.ndarray:
        if not copy:
            raise ValueError("copy=False is not supported because conversion to a numpy array always copies the data.")
        if is_null(self._values).any() and dtype is not None and na_value is _NO_DEFAULT:
            raise ValueError(f"cannot convert to '{dtype}'-dtype NumPy array with missing values.")
        if pa.types.is_string(self._values.type) or pa.types.is_nested(self._values.type):
            return self._values.to_numpy(zero_copy_only=False)
        return self._numbers(dtype, None if na_value is _NO_DEFAULT else na_value)

    def _numbers(self, dtype: Any, na_value: Any) -> np.ndarray:
        """Return the values as numbers; nulls as `na_value`, or as NaN, for which integers become floating."""
        if pa.types.is_string(self._values.type) or pa.types.is_nested(self._values.type):
            raise TypeError(f"cupy does not support {dtype_of(self._values.type)}")
        values = (self if na_value is None else self.fillna(na_value))._values
        numbers = to_numpy(values)
        if values.null_count:
            numbers = _with_nan(numbers, values.is_null().to_numpy(zero_copy_only=False))
        return numbers.astype(numbers.dtype if dtype is None else dtype)


def _with_nan(numbers: np.ndarray, missing: np.ndarray) -> np.ndarray:
    if numbers.dtype.kind == "b":
        raise ValueError("Column must have no nulls for dtype=bool")
    if numbers.dtype.kind in "iu":
        numbers = numbers.astype("float64")
    return np.where(missing, numbers.dtype.type("nan"), numbers)
