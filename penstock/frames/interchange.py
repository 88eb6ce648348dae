"""Tables of other libraries as Arrow: pandas, Polars, Narwhals, and whatever has Arrow's stream interface."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import polars as pl
import pyarrow as pa

from penstock.core.errors import ConfigError, PenstockError, SchemaError
from penstock.frames.pandas import from_pandas


def is_table(value: Any) -> bool:
    """Return whether `as_arrow` takes a value.

    Examples
    --------
    >>> is_table(pl.DataFrame({"x": [1]})), is_table([{"x": 1}])
    (True, False)
    """
    known = isinstance(value, pl.DataFrame | pa.Table | pa.RecordBatch | nw.DataFrame)
    return known or nw.dependencies.is_pandas_dataframe(value) or hasattr(value, "__arrow_c_stream__")


def as_arrow(value: Any) -> pa.Table:
    """Return a table of any library as Arrow; a stream is read to its end.

    Raises
    ------
    ConfigError
        It is no table, a lazy one, or a stream of Spark's.
    SchemaError
        A column has values that Arrow does not have; a name stands twice.

    Examples
    --------
    >>> as_arrow(pa.table({"x": [1, 2]}).to_reader()).to_pydict()
    {'x': [1, 2]}
    """
    value = value.to_native() if isinstance(value, nw.DataFrame | nw.LazyFrame) else value
    refuse_stream(value)
    if isinstance(value, pa.Table):
        return value
    if isinstance(value, pl.LazyFrame):
        raise ConfigError("a lazy frame has no rows yet", hint="Call its collect() before.")
    if nw.dependencies.is_pandas_dataframe(value):
        return from_pandas(value)
    if not is_table(value):
        raise ConfigError(
            f"found {type(value).__module__}.{type(value).__qualname__}, expected a table",
            hint="Tables are those of Arrow, pandas and Polars, and all that have __arrow_c_stream__.",
        )
    try:
        return pa.table(value) if not isinstance(value, pl.DataFrame) else _from_polars(value)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise SchemaError(f"{type(value).__qualname__} is no table of Arrow's: {error}") from error


def refuse_stream(value: Any) -> None:
    """Raise ConfigError, which says how to score its batches, for a streaming frame of Spark: it has no end."""
    if getattr(value, "isStreaming", False) is True:
        raise ConfigError(
            "the Spark frame is a stream, whose rows never end",
            hint="Score its batches: stream.writeStream.foreachBatch(score).start(), where score(batch, number) calls"
            ' model.transform(engine.from_spark(batch)).write_parquet(f"scores/{number}", overwrite=True).',
        )


def _from_polars(frame: pl.DataFrame) -> pa.Table:
    for name, dtype in frame.schema.items():
        if dtype == pl.Object:
            raise _foreign(name, dtype, "they are objects of Python's")
    try:
        return frame.to_arrow()
    except (pa.ArrowException, pl.exceptions.PolarsError) as error:
        raise _blamed(frame, error) from error


def _blamed(frame: pl.DataFrame, error: Exception) -> PenstockError:
    for name, dtype in frame.schema.items():
        try:
            frame.select(name).to_arrow()
        except (pa.ArrowException, pl.exceptions.PolarsError) as cause:
            return _foreign(name, dtype, str(cause))
    return SchemaError(f"the Polars frame cannot be read: {error}")


def _foreign(name: str, dtype: pl.DataType, cause: str) -> SchemaError:
    return SchemaError(
        f"column {name!r} of the Polars frame, {dtype}, has values that Arrow does not have: {cause}",
        hint="Cast it before.",
        column=name,
    )
