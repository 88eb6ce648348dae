"""Tables to pandas and back, every value as it was; the type of a column in pandas depends on its type alone."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.core.errors import MissingExtraError, PenstockError, SchemaError
from penstock.core.schemas import check_unique

if TYPE_CHECKING:
    import pandas as pd

_NULLABLE = {
    pa.bool_(): "boolean",
    pa.int8(): "Int8", pa.int16(): "Int16", pa.int32(): "Int32", pa.int64(): "Int64",
    pa.uint8(): "UInt8", pa.uint16(): "UInt16", pa.uint32(): "UInt32", pa.uint64(): "UInt64",
}  # fmt: skip
"""What pandas would otherwise make float64 or Python objects of as soon as a null is among the values."""


def require_pandas() -> None:
    """Raise MissingExtraError, which says how to install it, unless pandas can be imported."""
    if importlib.util.find_spec("pandas") is None:
        raise MissingExtraError("pandas is not installed", hint="pip install pandas")


def to_pandas(table: pa.Table) -> pd.DataFrame:
    """Return a table as a pandas frame: nullable integers and booleans, all else as pyarrow has it.

    Null is NaN in a floating column, NaT in one of times, NA in the nullable ones, and None in lists and other objects.

    Raises
    ------
    MissingExtraError
        pandas is not installed.
    SchemaError
        pandas cannot hold a value of a column.

    Examples
    --------
    >>> frame = to_pandas(pa.table({"n": [2**53 + 1, None], "x": [0.5, None]}))
    >>> frame.dtypes.astype(str).tolist(), frame["n"][0]
    (['Int64', 'float64'], np.int64(9007199254740993))
    """
    require_pandas()
    try:
        frame: pd.DataFrame = table.to_pandas(types_mapper=_dtype, integer_object_nulls=True)
    except pa.ArrowException as error:
        raise _blamed(table, error) from error
    return frame


def _dtype(kind: pa.DataType) -> Any:
    import pandas as pd

    name = _NULLABLE.get(kind)
    return None if name is None else pd.api.types.pandas_dtype(name)


def _blamed(table: pa.Table, error: Exception) -> PenstockError:
    """Return the error that names the column of a table that pandas does not hold."""
    for name in table.column_names:
        try:
            table.select([name]).to_pandas(types_mapper=_dtype, integer_object_nulls=True)
        except pa.ArrowException as cause:
            return SchemaError(
                f"column {name!r}, {table.schema.field(name).type}, has no like in pandas: {cause}",
                hint="Leave it out with select, or take the rows with to_arrow or to_polars.",
                column=name,
            )
    return SchemaError(f"the rows have no like in pandas: {error}")


def from_pandas(frame: pd.DataFrame) -> pa.Table:
    """Return a pandas frame as a table, without its index; NaN and NA are null.

    Raises
    ------
    SchemaDriftError
        A column name stands twice.
    SchemaError
        A column has values of several kinds, or of one that Arrow does not have.

    Examples
    --------
    >>> import pandas as pd
    >>> from_pandas(pd.DataFrame({"n": pd.array([2**53 + 1, None], dtype="Int64")}))["n"].to_pylist()
    [9007199254740993, None]
    """
    check_unique([str(name) for name in frame.columns], "the pandas frame")
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise _refused(frame, error) from error


def _refused(frame: pd.DataFrame, error: Exception) -> PenstockError:
    """Return the error that names the column of a pandas frame that Arrow does not hold."""
    for place, name in enumerate(frame.columns):
        try:
            pa.Table.from_pandas(frame.iloc[:, [place]], preserve_index=False)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as cause:
            return SchemaError(
                f"column {str(name)!r} of the pandas frame, {frame.dtypes.iloc[place]}, has values of several kinds, or"
                f" of one that Arrow does not have: {cause.args[0] if cause.args else cause}",
                hint='Make them of one type before: frame.astype({"' + str(name) + '": "string"}), say.',
                column=str(name),
            )
    return SchemaError(f"the pandas frame cannot be read: {error}")
