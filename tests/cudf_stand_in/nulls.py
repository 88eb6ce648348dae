"""Nulls of a column: found, filled, dropped; and values chosen by a mask, where null counts as false."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cudf_stand_in import casts
from cudf_stand_in.dtypes import arrow_type, dtype_of
from cudf_stand_in.selection import require_same_index
from cudf_stand_in.values import is_na, is_null, is_scalar, nans_to_nulls, to_numpy, values_of

_MIXED = "cudf does not support mixed types, please type-cast the column of dataframe/series and other to same dtypes."


class Nulls:
    """Mixed into a series."""

    def isna(self) -> Any:
        return self._like(pa.array(is_null(self._values)))

    def notna(self) -> Any:
        return self._like(pa.array(~is_null(self._values)))

    def nans_to_nulls(self) -> Any:
        return self._like(nans_to_nulls(self._values))

    def dropna(self) -> Any:
        return self._taken(np.flatnonzero(~is_null(self._values)))

    def fillna(self, value: Any) -> Any:
        require_same_index(self, value)
        return self._like(filled(self._values, value))

    def where(self, cond: Any, other: Any = None) -> Any:
        for each in (cond, other):
            require_same_index(self, each)
        return self._like(chosen(self._values, values_of(cond), other))

    def mask(self, cond: Any, other: Any = None) -> Any:
        return self.where(~cond, other)


def filled(values: pa.Array, value: Any) -> pa.Array:
    """Return a column with a value, or those of another column, in place of null and NaN.

    Raises
    ------
    TypeError
        The column's type does not hold the value.
    """
    if (is_scalar(value) and is_na(value)) or not is_null(values).any():
        return values
    given = values_of(value, nan_as_null=False)
    if not _fits(given, values.type):
        raise TypeError(f"Cannot safely cast non-equivalent {given.type} to {dtype_of(values.type)}")
    return pc.fill_null(nans_to_nulls(values), _as_operand(value, casts.cast(given, values.type)))


def chosen(values: pa.Array, condition: pa.Array, other: Any) -> pa.Array:
    """Return `values` where the condition holds, and `other` elsewhere."""
    known = condition.fill_null(False)
    if is_scalar(other) and is_na(other):
        return pc.if_else(known, values, pa.scalar(None, values.type))
    given = values_of(other, nan_as_null=not is_scalar(other))
    if values.type != given.type and not pa.types.is_temporal(values.type):
        values, given = _of_common_type(values, given, other)
    return pc.if_else(known, values, _as_operand(other, casts.cast(given, values.type)))


def _as_operand(value: Any, values: pa.Array) -> Any:
    return values[0] if is_scalar(value) else values


def _of_common_type(values: pa.Array, given: pa.Array, other: Any) -> tuple[pa.Array, pa.Array]:
    kinds = [_kind(values.type), _kind(given.type)]
    if "O" in kinds or ("b" in kinds and kinds[0] != kinds[1]):
        raise TypeError(_MIXED)
    if isinstance(other, float) and kinds[0] in "iu" and not other.is_integer():
        raise TypeError(f"Cannot safely cast non-equivalent {type(other).__name__} to {dtype_of(values.type)}")
    if _fits(given, values.type):
        return values, casts.cast(given, values.type)
    smallest = np.min_scalar_type(other) if is_scalar(other) else dtype_of(given.type)
    common = arrow_type(np.result_type(dtype_of(values.type), smallest))
    return casts.cast(values, common), casts.cast(given, common)


def _kind(kind: pa.DataType) -> str:
    return str(dtype_of(kind).kind)


def _fits(values: pa.Array, kind: pa.DataType) -> bool:
    """Return whether each value is one of a type; booleans are no numbers, and digits of floats may be lost."""
    if values.type == kind or not len(values):
        return True
    kinds = _kind(values.type), _kind(kind)
    if not set(kinds) <= set("iuf"):
        return set(kinds) <= set("mM")
    numbers = to_numpy(values)[values.is_valid().to_numpy(False)]
    with np.errstate(all="ignore"):
        made = numbers.astype(dtype_of(kind))
        return kinds == ("f", "f") or bool(((made == numbers) & (made.astype(numbers.dtype) == numbers)).all())
