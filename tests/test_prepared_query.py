"""A query that is planned once gives what it gives each frame by itself, and takes no frame of another schema."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import narwhals as nw
import polars as pl
import pyarrow as pa
import pytest

from penstock import frames
from penstock.frames.columns import arrow_schema
from penstock.frames.prepared_query import PreparedQuery

SCHEMA = pa.schema({"x": pa.int64(), "s": pa.string()})


def doubled(frame: nw.LazyFrame) -> nw.LazyFrame:
    return frame.with_columns(nw.col("x") * 2).with_columns((nw.col("x") + 1).alias("y"))


def frame_of(*values: int | None) -> nw.DataFrame:
    return frames.from_arrow(pa.table({"x": values, "s": ["a"] * len(values)}, schema=SCHEMA))


def test_each_frame_gets_its_own_result():
    query = PreparedQuery(doubled, SCHEMA)
    for values in ([1, None, 3], [], [7], list(range(10_000))):
        expected = doubled(frame_of(*values).lazy()).collect()
        assert query(frame_of(*values)).to_native().equals(expected.to_native())


def test_it_is_planned_once():
    planned = []
    query = PreparedQuery(lambda frame: planned.append(1) or doubled(frame), SCHEMA)
    for value in range(5):
        query(frame_of(value))
    assert planned == [1]


def test_neither_a_query_nor_its_frames_are_held_when_nobody_asks_any_more():
    query = PreparedQuery(doubled, SCHEMA)
    frame = frame_of(1, 2)
    query(frame)
    held = [weakref.ref(frame.to_native()), weakref.ref(query), weakref.ref(query._idle[0])]
    del frame
    assert held[0]() is None
    del query
    gc.collect()
    assert [each() for each in held] == [None, None, None]


@pytest.mark.thorough
def test_threads_that_ask_at_the_same_time_do_not_mix_their_frames():
    query = PreparedQuery(doubled, SCHEMA)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda value: query(frame_of(*[value] * 2_000))["x"].unique().to_list(), range(200)))
    assert made == [[2 * value] for value in range(200)]


def test_a_frame_of_another_schema_is_an_error_and_the_next_one_none():
    query = PreparedQuery(doubled, SCHEMA)
    for other in ({"x": [1.5], "s": ["a"]}, {"s": ["a"], "x": [1]}, {"x": [1]}):
        with pytest.raises(pl.exceptions.PolarsError):
            query(nw.from_native(pl.DataFrame(other), eager_only=True))
        assert query(frame_of(1))["y"].to_list() == [3]


def test_types_of_columns_are_those_of_arrow_whether_the_frame_is_lazy():
    eager = frame_of(1)
    assert arrow_schema(eager, ["s", "x"]) == arrow_schema(eager.lazy(), ["s", "x"]) == pa.schema(list(SCHEMA)[::-1])
