"""A table of any library goes in by any door; what is none is refused with what is."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from penstock.engines.base import Engine
from penstock.errors import ConfigError, SchemaError

TABLE = pa.table({"n": pa.array([2**53 + 1, None, 3]), "s": ["a", None, "c"]})


class Foreign:
    """A table that is known by Arrow's stream interface alone."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return TABLE.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("door", ["from_arrow", "from_pandas", "from_polars"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: TABLE,
        lambda: TABLE.to_reader(),
        lambda: TABLE.to_batches()[0],
        lambda: pl.from_arrow(TABLE),
        lambda: nw.from_native(pl.from_arrow(TABLE)),
        lambda: pd.DataFrame(
            {"n": pd.array([2**53 + 1, None, 3], dtype="Int64"), "s": ["a", None, "c"]}, index=[7, 3, 9]
        ),
        Foreign,
    ],
    ids=["table", "reader", "batch", "polars", "narwhals", "pandas", "stream"],
)
def test_a_table_of_any_library_goes_in_by_any_door(local: Engine, door: str, make: Any):
    assert getattr(local, door)(make()).to_arrow().equals(TABLE)


@pytest.mark.parametrize("value", [{"n": [1]}, [1, 2], None, "table.parquet", pd.Series([1])], ids=repr)
def test_what_is_no_table_is_refused_with_what_is(local: Engine, value: Any):
    with pytest.raises((ConfigError, SchemaError), match="table"):
        local.from_arrow(value)


@pytest.mark.parametrize("lazy", [pl.LazyFrame({"n": [1]}), nw.from_native(pl.LazyFrame({"n": [1]}))])
def test_a_lazy_frame_is_refused_with_what_to_call(local: Engine, lazy: Any):
    with pytest.raises(ConfigError, match="lazy frame has no rows yet") as raised:
        local.from_polars(lazy)
    assert "collect()" in raised.value.hint


@pytest.mark.parametrize("dtype", [pl.Int128, pl.UInt128, pl.Object])
def test_a_type_of_polars_that_arrow_does_not_have_is_named(local: Engine, dtype: Any):
    frame = pl.DataFrame({"ok": [1], "n": pl.Series([1], dtype=dtype)})
    with pytest.raises(SchemaError, match=f"column 'n' of the Polars frame, {dtype}"):
        local.from_polars(frame)
