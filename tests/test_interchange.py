"""A table of any library goes in by any door; what is none is refused with what is."""

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


def test_a_table_of_any_library_goes_in_by_any_door(local: Engine, subtests: pytest.Subtests):
    numbers = pd.array([2**53 + 1, None, 3], dtype="Int64")
    makes = {
        "table": lambda: TABLE,
        "reader": TABLE.to_reader,
        "batch": lambda: TABLE.to_batches()[0],
        "polars": lambda: pl.from_arrow(TABLE),
        "narwhals": lambda: nw.from_native(pl.from_arrow(TABLE)),
        "pandas": lambda: pd.DataFrame({"n": numbers, "s": ["a", None, "c"]}, index=[7, 3, 9]),
        "stream": Foreign,
    }
    for name, make in makes.items():
        for door in (local.from_arrow, local.from_pandas, local.from_polars):
            with subtests.test(name, door=door.__name__):
                assert door(make()).to_arrow().equals(TABLE)


def test_what_is_no_table_is_refused_with_what_is(local: Engine):
    for value in ({"n": [1]}, [1, 2], None, "table.parquet", pd.Series([1])):
        with pytest.raises((ConfigError, SchemaError), match="table"):
            local.from_arrow(value)
    for lazy in (pl.LazyFrame({"n": [1]}), nw.from_native(pl.LazyFrame({"n": [1]}))):
        with pytest.raises(ConfigError, match="lazy frame has no rows yet") as raised:
            local.from_polars(lazy)
        assert "collect()" in raised.value.hint


def test_a_type_of_polars_that_arrow_does_not_have_is_named(local: Engine):
    for dtype in (pl.Int128, pl.UInt128, pl.Object):
        frame = pl.DataFrame({"ok": [1], "n": pl.Series([1], dtype=dtype)})
        with pytest.raises(SchemaError, match=f"column 'n' of the Polars frame, {dtype}"):
            local.from_polars(frame)
