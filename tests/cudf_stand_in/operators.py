"""Arithmetic and comparisons as libcudf has them: NumPy's types and overflow, null where either side is null."""

import datetime
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from cudf_stand_in import casts
from cudf_stand_in.dtypes import arrow_type, dtype_of
from cudf_stand_in.values import from_numpy, is_na, to_numpy

ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
BITWISE = ("and", "or", "xor")
_QUOTIENTS = dict.fromkeys(("bool", "int8", "int16", "int32", "uint8", "uint16"), "float32")
"""What these types become before a true division; the other integers become float64."""
_KERNELS: dict[str, Callable[[Any, Any], Any]] = {
    **{name: getattr(operator, name) for name in (*ARITHMETIC, *COMPARISONS, "xor")},
    "and": operator.and_,
    "or": operator.or_,
}
UFUNCS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "floor_divide": "floordiv",
    "remainder": "mod", "power": "pow", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
    "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
}  # fmt: skip
"""The operators that NumPy's functions of two arguments stand for."""
_ARROW = {
    "eq": pc.equal, "ne": pc.not_equal, "lt": pc.less, "le": pc.less_equal, "gt": pc.greater, "ge": pc.greater_equal,
    "add": pc.add, "sub": pc.subtract, "mul": pc.multiply, "truediv": pc.divide,
}  # fmt: skip


def unary(function: np.ufunc, values: pa.Array) -> pa.Array:
    """Return a function of NumPy's of each value, null where that is."""
    with np.errstate(all="ignore"):
        return from_numpy(function(to_numpy(values)), values.is_valid().to_numpy(False))


def binary(name: str, left: pa.Array, right: Any, reflect: bool = False) -> Any:
    """Return ``left <name> right``, or with `reflect` ``right <name> left``; NotImplemented where cuDF has nothing.

    Parameters
    ----------
    name : str
        As in the module `operator`.
    left : pyarrow.Array
    right : pyarrow.Array or scalar
    """
    made = _dispatched(name, left, right, reflect)
    if made is NotImplemented and isinstance(right, pa.Array):
        made = _dispatched(name, right, left, not reflect)
    if made is NotImplemented and isinstance(right, pa.Array) and name in ("eq", "ne"):
        valid = left.is_valid().to_numpy(False) & right.is_valid().to_numpy(False)
        return from_numpy(np.full(len(left), name == "ne"), valid)
    return made


def _dispatched(name: str, left: pa.Array, right: Any, reflect: bool) -> Any:
    if pa.types.is_string(left.type):
        return _text(name, left, right, reflect)
    if pa.types.is_nested(left.type):
        return NotImplemented
    if pa.types.is_decimal(left.type):
        return _decimal(name, left, right, reflect)
    return _number(name, left, right, reflect)


def _text(name: str, left: pa.Array, right: Any, reflect: bool) -> Any:
    if left.null_count == len(left):  # whatever the other is
        if name in COMPARISONS:
            return left.is_null() if name == "ne" else left.is_valid()
        return left if name in ARITHMETIC else NotImplemented
    if is_column := isinstance(right, pa.Array):
        if not pa.types.is_string(right.type):
            return NotImplemented
    elif not isinstance(right, str) and not is_na(right):
        unequal = from_numpy(np.full(len(left), name == "ne"), left.is_valid().to_numpy(False))
        return unequal if name in ("eq", "ne") else NotImplemented
    if name not in ("add", *COMPARISONS):
        return NotImplemented
    other = right if is_column else pa.scalar(None if is_na(right) else right, pa.string())
    first, second = (other, left) if reflect else (left, other)
    return pc.binary_join_element_wise(first, second, "") if name == "add" else _ARROW[name](first, second)


def _decimal(name: str, left: pa.Array, right: Any, reflect: bool) -> Any:
    if name not in _ARROW:
        return NotImplemented
    other = right if isinstance(right, pa.Array) else pa.scalar(right)
    first, second = (other, left) if reflect else (left, other)
    return _ARROW[name](first, second)


def _number(name: str, left: pa.Array, right: Any, reflect: bool) -> Any:
    """Return an operation on numbers, booleans, times or durations."""
    dtype = dtype_of(left.type)
    if name == "truediv" and dtype.kind in "biu":
        return _number(name, casts.cast(left, arrow_type(_QUOTIENTS.get(dtype.name, "float64"))), right, reflect)
    if type(right) is datetime.date and name in ("eq", "ne"):  # a day is no time
        return pa.array(np.full(len(left), name == "ne"))
    if _is_of_another_kind(right, dtype.kind):
        return NotImplemented
    other, valid = _operand(right, left)
    first, second = (other, to_numpy(left)) if reflect else (to_numpy(left), other)
    made = from_numpy(_computed(name, first, second, valid), valid)
    return made.cast(left.type) if pa.types.is_timestamp(made.type) and pa.types.is_timestamp(left.type) else made


def _is_of_another_kind(right: Any, kind: str) -> bool:
    """Return whether one side is a text, a list or a decimal, or a time where the other is a number."""
    if isinstance(right, pa.Array):
        other = dtype_of(right.type).kind
        return other not in "biufmM" or (other in "biuf" and kind == "M") or (other == "M" and kind in "biuf")
    return isinstance(right, str) or (kind == "M" and isinstance(right, int | float | np.number | np.bool_))


def _operand(right: Any, left: pa.Array) -> tuple[Any, np.ndarray]:
    """Return the other side as NumPy, and the rows where both sides are valid."""
    valid = left.is_valid().to_numpy(False)
    if isinstance(right, pa.Array):
        return to_numpy(right), valid & right.is_valid().to_numpy(False)
    return (to_numpy(left), np.zeros_like(valid)) if is_na(right) else (_scalar(right, left), valid)


def _scalar(value: Any, like: pa.Array) -> Any:
    """Return a scalar as NumPy's, Python's numbers in the type that NumPy gives them beside the column."""
    if not isinstance(value, int | float | np.number | np.bool_):
        stamp = pd.Timestamp(value) if pa.types.is_timestamp(like.type) else pd.Timedelta(value)
        return stamp.to_numpy()
    if isinstance(value, np.number) and not isinstance(value, float):
        value = value.item()
    is_boolean = pa.types.is_boolean(like.type) and not isinstance(value, bool | np.bool_)
    return _smallest_signed(value) if is_boolean else value


def _smallest_signed(value: Any) -> Any:
    """Return a number beside booleans: an integer of as few bytes as hold it, so that a fraction is lost."""
    kinds = (np.int8, np.int16, np.int32, np.int64)
    kind = next(kind for kind in kinds if np.iinfo(kind).min <= value <= np.iinfo(kind).max)
    return kind(pa.scalar(value, pa.from_numpy_dtype(kind)).as_py())


def _computed(name: str, first: Any, second: Any, valid: np.ndarray) -> np.ndarray:
    kinds = [np.result_type(each).kind for each in (first, second)]
    if name in BITWISE and "f" in kinds:
        raise TypeError(f"Operation 'bitwise {name}' not supported between kinds {' and '.join(kinds)}")
    if name in BITWISE and "b" in kinds:
        first, second = np.asarray(first) != 0, np.asarray(second) != 0
    if name in ("floordiv", "mod"):
        first, second = _guarded(first, second, valid)
    with np.errstate(all="ignore"):
        return _KERNELS[name](first, second)


def _guarded(first: Any, second: Any, valid: np.ndarray) -> tuple[Any, Any]:
    """Return operands of a division of integers, floating where one is divided by zero."""
    divisor = np.asarray(second)
    if divisor.dtype.kind in "iu" and (divisor[valid] == 0 if divisor.ndim else divisor == 0).any():
        return np.asarray(first, dtype="float64"), np.asarray(second, dtype="float64")
    return first, second
