"""Row-wise steps: what they need, what they do to rows, and where their errors say they are."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa
import pytest

from penstock import frames
from penstock.dataset import steps
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


def test_two_filters_are_not_equal_because_their_expressions_cannot_be_compared() -> None:
    assert Filter(nw.col("a") > 1, pa.schema([SCHEMA.field("a")])) != Filter(
        nw.col("a") < 9, pa.schema([SCHEMA.field("a")])
    )


def test_a_filter_travels() -> None:
    sent = pickle.loads(pickle.dumps(Filter(nw.col("a") > 1, pa.schema([SCHEMA.field("a")]))))
    assert sent.apply(FRAME, RowLog())["a"].to_list() == [2, 3]


def test_map_partitions_counts_rows_it_adds_as_negative() -> None:
    log = RowLog()
    made = doubled(lambda frame: nw.concat([frame, frame])).apply(FRAME, log)
    assert len(made) == 6
    assert log.dropped == {"map_partitions(<lambda>)": -3}


def test_map_partitions_gives_the_declared_types_only() -> None:
    step = doubled(lambda frame: frame.with_columns(z=nw.lit(0)), a=pa.float64())
    assert frames.to_arrow(step.apply(FRAME, RowLog())).schema == pa.schema({"a": pa.float64()})


def test_an_error_of_the_user_is_told_with_its_cause() -> None:
    with pytest.raises(UserCodeError, match=r"map_partitions\(<lambda>\) raised ZeroDivisionError") as caught:
        doubled(lambda frame: 1 / 0).apply(FRAME, RowLog())
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("result", [None, 3, [1, 2]])
def test_what_is_no_frame_is_told_by_its_type(result: object) -> None:
    with pytest.raises(UserCodeError, match=f"gave {type(result).__name__}, expected a frame"):
        doubled(lambda frame: result).apply(FRAME, RowLog())


def test_a_column_that_the_function_leaves_out_is_named() -> None:
    with pytest.raises(SchemaError, match=r"gave columns \['b'\], but its declared schema has 'a'") as caught:
        doubled(lambda frame: frame.rename({"a": "b"})).apply(FRAME, RowLog())
    assert caught.value.column == "a"


def test_values_that_are_not_of_the_declared_type_are_told() -> None:
    with pytest.raises(SchemaError, match="not of the declared types: conversion from `str` to `i64` failed"):
        doubled(lambda frame: frame.with_columns(a=nw.lit("x"))).apply(FRAME, RowLog())


def test_prune_keeps_the_steps_and_columns_that_matter() -> None:
    select, keep = SelectColumns(("a", "b")), Filter(nw.col("b") > 0, pa.schema([SCHEMA.field("b")]))
    kept, need = prune([select, keep], ["a"])
    assert kept == (keep,)
    assert need == {"a", "b"}


def test_prune_stops_at_map_partitions_which_sees_every_column() -> None:
    step = MapPartitions(len, pa.schema({"z": pa.int64()}), "polars", ("a", "c"))
    assert prune([step], ["z"])[1] == {"a", "c"}


def test_output_schema_follows_the_steps() -> None:
    made = MapPartitions(len, pa.schema({"z": pa.int64(), "y": pa.int8()}), "polars", ("a",))
    assert steps.output_schema([made, SelectColumns(("y",))], SCHEMA) == pa.schema({"y": pa.int8()})


def test_a_step_that_loses_rows_without_a_word_is_caught() -> None:
    with pytest.raises(RowCountError, match="Negative made 2 rows of 3"):
        run([Loses("a")], FRAME, RowLog())


def test_an_error_names_its_step_and_the_first_bad_row() -> None:
    with pytest.raises(DataValueError) as caught:
        run([Filter(nw.col("a") > 1, pa.schema([SCHEMA.field("a")])), Negative("b")], FRAME, RowLog())
    assert (caught.value.stage, caught.value.row) == ("Negative", 12)


def test_without_row_numbers_an_error_keeps_its_predicate() -> None:
    with pytest.raises(DataValueError) as caught:
        run([Negative("b")], FRAME.drop(ROW), RowLog())
    assert caught.value.row is None
    assert caught.value.predicate is not None


def test_placed_turns_the_row_of_the_dataset_into_that_of_a_file() -> None:
    fragment = Fragment(7, 100, (Piece("f1", 0, 10), Piece("f2", 20, 10)))
    error = placed(DataValueError("bad", row=112), fragment)
    assert (error.path, error.row, error.partition) == ("f2", 22, 7)


def test_placed_without_a_row_names_the_files() -> None:
    error = placed(UserCodeError("bad"), Fragment(7, 100, (Piece("f1", 0, 10), Piece("f2", 20, 10))))
    assert error.path == "f1, f2"


def test_placed_leaves_an_error_that_knows_its_file() -> None:
    error: PenstockError = SchemaError("bad", path="g")
    assert placed(error, Fragment(0, 0, (Piece("f", 0, 1),))) is error


def test_a_log_adds_counts_and_leaves_tables_where_they_are() -> None:
    one, two = RowLog(read=5, kept=3), RowLog(read=2, kept=1)
    one.drop("filter", 2)
    two.drop("filter", 0)
    two.quarantine("rule", pa.table({"x": [1]}))
    one.add(two)
    assert (one.read, one.kept, one.dropped, one.quarantined, one.tables) == (7, 4, {"filter": 2}, {"rule": 1}, [])
