"""Row-wise steps: what they need, what they do to rows, and where their errors say they are."""

import pickle
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa
import pytest

from penstock import frames
from penstock.dataset.steps import Filter, MapPartitions, RowLog, SelectColumns, Step, placed, prune, run
from penstock.errors import DataValueError, PenstockError, RowCountError, SchemaError, UserCodeError
from penstock.frames import ROW
from penstock.io.fragments import Fragment, Piece

FRAME = frames.from_arrow(pa.table({"a": [1, 2, 3], "b": [1.0, None, -1.0], ROW: [10, 11, 12]}))
SCHEMA = pa.schema({"a": pa.int64(), "b": pa.float64(), "c": pa.string()})


@dataclass(frozen=True)
class Negative(Step):
    """Refuses negative values of a column."""

    column: str

    @property
    def label(self) -> str:
        return "Negative"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return schema

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        return wanted | {self.column}

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        bad = nw.col(self.column) < 0
        if len(frame.filter(bad)):
            error = DataValueError(f"column {self.column!r} is negative", column=self.column)
            error.predicate = bad
            raise error
        return frame


@dataclass(frozen=True)
class Loses(Negative):
    """Loses a row, though it says that it keeps them."""

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        return frame.head(len(frame) - 1)


def doubled(function: Any, form: str = "narwhals", **schema: pa.DataType) -> MapPartitions:
    return MapPartitions(function, pa.schema(schema or {"a": pa.int64()}), form, ("a",))


def test_a_filter_takes_null_as_false_and_counts_what_it_drops() -> None:
    log = RowLog()
    assert Filter(nw.col("b") > 0, pa.schema([SCHEMA.field("b")])).apply(FRAME, log)["a"].to_list() == [1]
    assert log.dropped == {"filter": 2}


def test_a_filter_travels_and_equals_no_other_because_expressions_cannot_be_compared() -> None:
    one, other = (Filter(kept, pa.schema([SCHEMA.field("a")])) for kept in (nw.col("a") > 1, nw.col("a") < 9))
    assert one != other
    assert pickle.loads(pickle.dumps(one)).apply(FRAME, RowLog())["a"].to_list() == [2, 3]


def test_map_partitions_counts_rows_it_adds_as_negative_and_gives_the_declared_types_only() -> None:
    log = RowLog()
    made = doubled(lambda frame: nw.concat([frame, frame]).with_columns(z=nw.lit(0)), a=pa.float64()).apply(FRAME, log)
    assert frames.to_arrow(made).schema == pa.schema({"a": pa.float64()})
    assert (len(made), log.dropped) == (6, {"map_partitions(<lambda>)": -3})


def test_what_is_no_frame_is_told_by_its_type() -> None:
    for result in (None, 3, [1, 2]):
        with pytest.raises(UserCodeError, match=f"gave {type(result).__name__}, expected a frame"):
            doubled(lambda frame, result=result: result).apply(FRAME, RowLog())


def test_columns_and_values_that_are_not_those_declared_are_told() -> None:
    with pytest.raises(SchemaError, match=r"gave columns \['b'\], but its declared schema has 'a'") as caught:
        doubled(lambda frame: frame.rename({"a": "b"})).apply(FRAME, RowLog())
    assert caught.value.column == "a"
    with pytest.raises(SchemaError, match="not of the declared types: conversion from `str` to `i64` failed"):
        doubled(lambda frame: frame.with_columns(a=nw.lit("x"))).apply(FRAME, RowLog())


def test_prune_keeps_the_steps_and_columns_that_matter() -> None:
    select, keep = SelectColumns(("a", "b")), Filter(nw.col("b") > 0, pa.schema([SCHEMA.field("b")]))
    assert prune([select, keep], ["a"]) == ((keep,), {"a", "b"})
    everything = MapPartitions(len, pa.schema({"z": pa.int64()}), "polars", ("a", "c"))
    assert prune([everything], ["z"])[1] == {"a", "c"}  # it sees every column


def test_a_step_that_loses_rows_without_a_word_is_caught() -> None:
    with pytest.raises(RowCountError, match="Negative made 2 rows of 3"):
        run([Loses("a")], FRAME, RowLog())


def test_an_error_names_its_step_and_the_first_bad_row_or_keeps_its_predicate() -> None:
    with pytest.raises(DataValueError) as caught:
        run([Filter(nw.col("a") > 1, pa.schema([SCHEMA.field("a")])), Negative("b")], FRAME, RowLog())
    assert (caught.value.stage, caught.value.row) == ("Negative", 12)
    with pytest.raises(DataValueError) as caught:
        run([Negative("b")], FRAME.drop(ROW), RowLog())
    assert caught.value.row is None
    assert caught.value.predicate is not None


def test_an_error_is_placed_in_its_file_or_in_all_that_it_may_be_of() -> None:
    fragment = Fragment(7, 100, (Piece("f1", 0, 10), Piece("f2", 20, 10)))
    error = placed(DataValueError("bad", row=112), fragment)
    assert (error.path, error.row, error.partition) == ("f2", 22, 7)
    assert placed(UserCodeError("bad"), fragment).path == "f1, f2"
    known: PenstockError = SchemaError("bad", path="g")
    assert placed(known, fragment) is known


def test_a_log_adds_counts_and_leaves_tables_where_they_are() -> None:
    one, two = RowLog(read=5, kept=3), RowLog(read=2, kept=1)
    one.drop("filter", 2)
    two.drop("filter", 0)
    two.quarantine("rule", pa.table({"x": [1]}))
    one.add(two)
    assert (one.read, one.kept, one.dropped, one.quarantined, one.tables) == (7, 4, {"filter": 2}, {"rule": 1}, [])
