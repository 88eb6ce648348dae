"""Types of columns: NumPy's and pandas' where cuDF has those, and its own for what is nested or decimal."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from cudf_stand_in.spec import Checked

STRING = pd.StringDtype(na_value=np.nan)
_PLAIN = {
    kind: np.dtype(kind.to_pandas_dtype())
    for kind in (
        pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
        pa.float32(), pa.float64(),
    )
}  # fmt: skip


class _OfArrow(Checked):
    """A type for each of a family of Arrow types."""

    name: str
    kind = "O"

    def __init__(self, arrow: pa.DataType) -> None:
        self._arrow = arrow

    @classmethod
    def from_arrow(cls, typ: pa.DataType) -> Any:
        made = cls.__new__(cls)
        made._arrow = typ
        return made

    def to_arrow(self) -> pa.DataType:
        return self._arrow

    def __eq__(self, other: object) -> bool:
        return other == self.name if isinstance(other, str) else self._key() == getattr(other, "_key", tuple)()

    def _key(self) -> tuple[type, pa.DataType]:
        return type(self), self._arrow

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        return self.name


class ListDtype(_OfArrow, owner="cudf.ListDtype"):
    name = "list"

    def __init__(self, element_type: Any) -> None:
        super().__init__(pa.list_(arrow_type(element_type)))

    @property
    def element_type(self) -> Any:
        return dtype_of(self._arrow.value_type)


class StructDtype(_OfArrow, owner="cudf.StructDtype"):
    name = "struct"

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__(pa.struct({name: arrow_type(dtype) for name, dtype in fields.items()}))


class Decimal128Dtype(_OfArrow, owner="cudf.Decimal128Dtype"):
    name = "decimal128"

    def __init__(self, precision: int, scale: int = 0) -> None:
        super().__init__(pa.decimal128(precision, scale))


class CategoricalDtype(Checked, owner="cudf.CategoricalDtype"):
    """The type of codes of `categories`, a series."""

    name = "category"
    kind = "O"

    def __init__(self, categories: Any = None) -> None:
        self._categories = categories

    def __str__(self) -> str:
        return self.name


def held_type(kind: pa.DataType) -> pa.DataType:
    """Return the type in which cuDF has a column of an Arrow type: dates as seconds, what is nothing but null as text.

    Raises
    ------
    TypeError
        It has none, as for binary columns.
    """
    if pa.types.is_date32(kind):
        return pa.timestamp("s")
    if pa.types.is_null(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(held_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, held_type(field.type)) for field in kind])
    dtype_of(kind)
    return kind


def dtype_of(kind: pa.DataType) -> Any:
    """Return the type of a column as cuDF says it."""
    if (plain := _PLAIN.get(kind)) is not None:
        return plain
    if pa.types.is_string(kind):
        return STRING
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pd.DatetimeTZDtype(kind.unit, kind.tz)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return np.dtype(f"{'M' if pa.types.is_timestamp(kind) else 'm'}8[{kind.unit}]")
    for is_family, family in _FAMILIES:
        if is_family(kind):
            return family.from_arrow(kind)
    raise TypeError(f"Unsupported type: {kind}")


_FAMILIES = (
    (pa.types.is_list, ListDtype), (pa.types.is_struct, StructDtype), (pa.types.is_decimal128, Decimal128Dtype),
)  # fmt: skip


def arrow_type(dtype: Any) -> pa.DataType:
    """Return the Arrow type of what `astype` and the constructors take: a name, a NumPy, pandas or cuDF type."""
    if isinstance(dtype, _OfArrow):
        return dtype.to_arrow()
    if dtype in (str, object) or isinstance(dtype, pd.StringDtype) or str(dtype) in ("str", "object", "string"):
        return pa.string()
    if "[pyarrow]" in str(dtype):
        raise TypeError(f"Unsupported type: {dtype}")
    known = pd.api.types.pandas_dtype(dtype)
    if isinstance(known, pd.DatetimeTZDtype):
        return pa.timestamp(known.unit, str(known.tz))
    if known not in _PLAIN.values() and known.kind not in "mM":
        raise TypeError(f"Unsupported type {known}")
    return pa.from_numpy_dtype(known)
