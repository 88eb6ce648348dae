"""Tables in memory: as Arrow in pieces and slices, as Polars, as pandas of Arrow's types."""

from __future__ import annotations

from functools import partial

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from budget import differential
from consumers import CONSUMERS, OFTEN_ODD, fits
from hypothesis import assume
from hypothesis import strategies as st
from outcomes import assert_same, expected
from table_strategies import LARGE, NESTED, NUMBERS, RARE, TEXT, TIMES, tables


def _in_pieces(table: pa.Table, at: int) -> pa.Table:
    """Return the same rows as chunks and slices whose buffers begin elsewhere."""
    at = min(at, table.num_rows)
    return pa.concat_tables(
        [table.slice(0, 0), table.slice(0, at), pa.concat_tables([table, table]).slice(at, table.num_rows - at)]
    )


@pytest.mark.thorough
@differential(
    table=tables(LARGE, TIMES, NUMBERS, TEXT, RARE, NESTED),
    at=st.integers(0, 9),
    consumer=st.sampled_from(OFTEN_ODD) | st.sampled_from(sorted(CONSUMERS)),
    size=st.sampled_from([1, 100, 1000]),
)
def test_every_way_to_a_table_in_memory_gives_its_rows(table, at, consumer, size, local, scratch):
    wanted = expected(table)
    assert_same(partial(local.from_arrow, table), wanted, "from_arrow")
    assert_same(partial(local.from_arrow, _in_pieces(table, at), fragment_bytes=size), wanted, "from_arrow, in pieces")
    assume(fits(consumer, table))
    consume = CONSUMERS[consumer]
    assert_same(lambda: consume(local.from_arrow(table, fragment_bytes=size), scratch), wanted, consumer)
    assert_same(
        lambda: local.from_polars(pl.from_arrow(table)).to_arrow().cast(local.from_arrow(table).schema),
        wanted,
        "from_polars",
    )


@pytest.mark.thorough
@differential(table=tables(NUMBERS, TIMES, TEXT))
def test_every_way_to_a_pandas_frame_of_arrow_types_gives_its_rows(table, local):
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    assert_same(lambda: local.from_pandas(frame).to_arrow(), expected(table), "from_pandas")
