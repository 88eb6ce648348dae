"""Parquet: by pyarrow and by Polars, on disk and in a store, with pages checked or not, cut anywhere."""

import pyarrow as pa
import pytest
from budget import differential
from consumers import CONSUMERS, OFTEN_ODD, fits
from hypothesis import assume
from hypothesis import strategies as st
from outcomes import assert_same, expected
from parquet_writers import WRITERS, write
from readers import SOME_WAYS, emptied, ways_to
from table_strategies import LARGE, NESTED, NUMBERS, RARE, TEXT, TIMES, tables


@pytest.mark.thorough
@differential(
    table=tables(LARGE, TIMES, NUMBERS, TEXT, RARE, NESTED),
    writer=WRITERS,
    ways=SOME_WAYS,
    size=st.sampled_from([1, 100, 1000]),
    checked=st.booleans(),
    consumer=st.sampled_from(OFTEN_ODD) | st.sampled_from(sorted(CONSUMERS)),
)
def test_every_way_to_a_parquet_file_gives_what_was_written(
    table, writer, ways, size, checked, consumer, local, folder, scratch
):
    path = emptied(folder / "parquet") / "a.parquet"
    stored = write(table, path, writer)
    wanted = expected(stored)
    for way, read in ways_to(local.read_parquet, path, size, ways, page_checksum_verification=checked).items():
        assert_same(read, wanted, way)
    assume(fits(consumer, stored))
    consume = CONSUMERS[consumer]
    assert_same(lambda: consume(local.read_parquet(path, fragment_bytes=size), scratch), wanted, consumer)


@pytest.mark.thorough
@differential(
    few=5,
    table=tables(LARGE, TIMES, NUMBERS, TEXT, RARE, NESTED),
    writer=WRITERS,
    at=st.integers(0, 9),
    size=st.sampled_from([1, 1000]),
)
def test_rows_of_two_files_are_those_of_one(table, writer, at, size, local, folder):
    parts = [emptied(folder / "two") / name for name in ("first.parquet", "second.parquet")]
    stored = pa.concat_tables([write(table.slice(0, at), parts[0], writer), write(table.slice(at), parts[1], writer)])
    assert_same(lambda: local.read_parquet(parts, fragment_bytes=size), expected(stored), "two files")


def _wider(kind: pa.DataType) -> pa.DataType:
    """Return a larger type that holds every value of one."""
    if pa.types.is_integer(kind) and kind.bit_width < 64:
        return pa.int64()
    return pa.float64() if pa.types.is_floating(kind) else kind


@pytest.mark.thorough
@differential(
    few=5,
    table=tables(NUMBERS, RARE),
    writer=WRITERS,
    ways=SOME_WAYS,
    size=st.sampled_from([1, 1000]),
    back=st.booleans(),
)
def test_every_way_to_a_parquet_file_of_declared_types_gives_them(table, writer, ways, size, back, local, folder):
    path = emptied(folder / "parquet") / "a.parquet"
    stored = write(table, path, writer)
    stored = stored.cast(pa.schema([(field.name, _wider(field.type)) for field in stored.schema]))
    stored = stored.select(stored.column_names[::-1]) if back else stored
    for way, read in ways_to(local.read_parquet, path, size, ways, schema=stored.schema).items():
        assert_same(read, expected(stored), way)
