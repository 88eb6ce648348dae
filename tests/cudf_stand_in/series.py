"""A column with its labels and its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cudf_stand_in import operators
from cudf_stand_in.accessors import CategoricalAccessor, DatetimeProperties, ListMethods, StringMethods
from cudf_stand_in.conversions import Conversions
from cudf_stand_in.dtypes import dtype_of
from cudf_stand_in.index import Index, unlabelled
from cudf_stand_in.nulls import Nulls
from cudf_stand_in.reductions import Reductions
from cudf_stand_in.refusals import NotIterable
from cudf_stand_in.rows import Rows
from cudf_stand_in.selection import require_same_index
from cudf_stand_in.spec import Checked
from cudf_stand_in.values import is_scalar, values_of


class Arithmetic:
    """Operators between a column and another of the same labels, an array or a scalar."""

    def _binary(self, name: str, other: Any, reflect: bool = False) -> Any:
        if isinstance(other, Series) and name in operators.COMPARISONS and not self.index.equals(other.index):
            raise ValueError("Can only compare identically-labeled Series objects")
        require_same_index(self, other)
        given = other if is_scalar(other) else values_of(other, nan_as_null=False)
        made = operators.binary(name, self._values, given, reflect)
        return NotImplemented if made is NotImplemented else self._like(made)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Apply NumPy's function of one argument by CuPy, where nulls stay null; of two by the operator of its name."""
        if method != "__call__" or kwargs:
            return NotImplemented
        if ufunc.nin == 1:
            return self._like(operators.unary(ufunc, self._values))
        reflect = inputs[0] is not self
        return self._binary(operators.UFUNCS[ufunc.__name__], inputs[0 if reflect else 1], reflect)

    def __invert__(self) -> Any:
        return self._like(pc.invert(self._values))

    def __neg__(self) -> Any:
        return self._like(operators.unary(np.negative, self._values))

    def abs(self) -> Any:
        return self._like(pc.abs(self._values))

    def round(self, decimals: int = 0) -> Any:
        return self._like(pc.round(self._values, decimals, round_mode="half_to_even"))

    def clip(self, lower: Any = None, upper: Any = None) -> Any:
        """Bound values; a bound has to be of the column's type."""
        values = self._values
        for bound, function in ((lower, pc.max_element_wise), (upper, pc.min_element_wise)):
            if bound is not None:
                values = function(values, pa.scalar(bound, values.type), skip_nulls=False)
        return self._like(values)


def _operator(name: str, reflect: bool = False) -> Any:
    return lambda self, other: self._binary(name, other, reflect)


for _name in (*operators.ARITHMETIC, *operators.COMPARISONS, *operators.BITWISE):
    setattr(Arithmetic, f"__{_name}__", _operator(_name))
    if _name in operators.COMPARISONS:
        setattr(Arithmetic, _name, _operator(_name))
    else:
        setattr(Arithmetic, f"__r{_name}__", _operator(_name, reflect=True))


class Series(Arithmetic, Reductions, Nulls, Conversions, Rows, NotIterable, Checked, owner="cudf.Series"):
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, data: Any = None, index: Any = None, dtype: Any = None, name: Any = None) -> None:
        given = [] if data is None else data
        self._values = values_of(given, dtype, 1 if index is None else len(index))
        labels = data.index if index is None and isinstance(data, Series) else index
        self.index = unlabelled(len(self._values)) if labels is None else labels
        self.name = data.name if name is None and isinstance(data, Series) else name

    @classmethod
    def from_arrow(cls, array: pa.Array) -> Series:
        return cls(array)

    @classmethod
    def from_pylibcudf(cls, col: Any) -> Series:
        return cls(col._values)

    @staticmethod
    def _of(values: pa.Array, index: Index, name: Any) -> Series:
        made = Series.__new__(Series)
        made._values, made._index, made.name = values, index, name
        return made

    def _like(self, values: pa.Array) -> Series:
        return Series._of(values, self._index, self.name)

    def __repr__(self) -> str:
        return f"{self.name}: {self._values!r}"

    @property
    def dtype(self) -> Any:
        return self._category if hasattr(self, "_category") else dtype_of(self._values.type)

    @property
    def shape(self) -> tuple[int]:
        return (len(self),)

    @property
    def str(self) -> StringMethods:
        return StringMethods(self)

    @property
    def dt(self) -> DatetimeProperties:
        return DatetimeProperties(self)

    @property
    def list(self) -> ListMethods:
        return ListMethods(self)

    @property
    def cat(self) -> CategoricalAccessor:
        return CategoricalAccessor(self)

    def memory_usage(self, index: bool = True, deep: bool = False) -> int:
        return int(self._values.nbytes)

    def to_frame(self) -> Any:
        from cudf_stand_in.frame import DataFrame

        return DataFrame._of({self.name: self._values}, self._index)
