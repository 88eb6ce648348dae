"""Lags, leads and differences are those of pandas, on every engine, and leave rows as they are."""

import datetime
import gc
import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.dataset import Dataset
from penstock.dataset.lags.steps import Beside
from penstock.engines.base import Engine
from penstock.engines.local import results
from penstock.errors import ConfigError, DataValueError, RowCountError, SchemaError

ROWS = 60
RANDOM = np.random.default_rng(11)
DAY = datetime.datetime(2024, 2, 28)
MOMENTS = [DAY + datetime.timedelta(minutes=int(minutes)) for minutes in RANDOM.permutation(ROWS) * 90]
TABLE = pa.table(
    {
        "row": range(ROWS),
        "who": pa.array(RANDOM.choice(["ann", "bö", "cy"], ROWS)),
        "room": pa.array(RANDOM.integers(0, 2, ROWS), pa.int32()),
        "at": pa.array(MOMENTS, pa.timestamp("us")),
        "paid": pa.array(RANDOM.integers(-9, 9, ROWS), pa.int16()),
        "heat": pa.array([None if row % 6 == 1 else row / 7 for row in range(ROWS)], pa.float32()),
        "note": [f"note {row}" for row in range(ROWS)],
    }
)
FRAME = TABLE.to_pandas(types_mapper=pd.ArrowDtype)


def cut(engine: Engine, table: pa.Table = TABLE) -> Dataset:
    """The table in some fragments."""
    return engine.from_arrow(table, fragment_bytes=1200)


def by_pandas(frame: pd.DataFrame, by: Any, order: Any, column: str, periods: int, how: str = "shift") -> pd.Series:
    ordered = frame.sort_values(order, kind="stable")
    return getattr(ordered.groupby(by)[column], how)(periods).reindex(frame.index)


def same(found: pa.ChunkedArray, oracle: pd.Series) -> bool:
    """Return whether both have the same values and nulls, to the bit."""
    return found.to_pylist() == [None if pd.isna(value) else value for value in oracle]


# Values


def test_a_lag_is_that_of_pandas_to_the_bit_and_a_lead_looks_ahead(engine):
    columns = ["paid", "heat", "note", "at"]
    made = (
        cut(engine)
        .lag(columns, by="who", order_by="at", periods=[1, 3])
        .lead("paid", by="who", order_by="at", periods=2)
    )
    made = made.to_arrow()
    for column, periods in itertools.product(columns, (1, 3)):
        found = made[f"{column}_lag_{periods}"]
        assert found.type == TABLE.schema.field(column).type
        assert same(found, by_pandas(FRAME, "who", "at", column, periods))
    assert same(made["paid_lead_2"], by_pandas(FRAME, "who", "at", "paid", -2))


def test_a_difference_is_that_of_pandas(engine):
    made = cut(engine).diff(["paid", "heat", "at"], by=["who", "room"], order_by="at", unit="seconds").to_arrow()
    wide = FRAME.astype({"paid": "int64[pyarrow]"})
    assert same(made["paid_diff_1"], by_pandas(wide, ["who", "room"], "at", "paid", 1, "diff"))
    assert same(made["heat_diff_1"], by_pandas(FRAME, ["who", "room"], "at", "heat", 1, "diff"))
    passed = by_pandas(TABLE.to_pandas(), ["who", "room"], "at", "at", 1, "diff").dt.total_seconds()
    np.testing.assert_array_equal(made["at_diff_1"].to_numpy(), passed.to_numpy())
    types = [made[f"{column}_diff_1"].type for column in ("paid", "heat", "at")]
    assert types == [pa.int64(), pa.float32(), pa.float64()]


def test_a_difference_in_time_is_a_number_in_its_unit(local):
    for unit, seconds in {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}.items():
        made = cut(local).diff("at", by="who", order_by="at", unit=unit).to_arrow()["at_diff_1"]
        passed = by_pandas(TABLE.to_pandas(), "who", "at", "at", 1, "diff").dt.total_seconds() / seconds
        assert made.type == pa.float64()
        np.testing.assert_array_equal(made.to_numpy(), passed.to_numpy(), err_msg=unit)
    with pytest.raises(ConfigError, match=r"unit of diff is 'day', .* Did you mean 'days'"):
        cut(local).diff("at", by="who", order_by="at", unit="day")


def test_differences_of_every_kind_of_time_are_in_days(local):
    kinds = {pa.date32(): 86400, pa.timestamp("ns"): 1e-9, pa.timestamp("ms", "UTC"): 1e-3, pa.duration("us"): 1e-6}
    for kind, ticks in kinds.items():
        times = pa.array([0, 3, None, 10], pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
        data = local.from_arrow(pa.table({"t": times, "row": range(4)}))
        made = data.diff("t", by=(), order_by="row").to_arrow()["t_diff_1"].to_pylist()
        assert made == [None, pytest.approx(3 * ticks / 86400, rel=1e-15), None, None], kind


def test_whole_days_are_whole_numbers(local):
    days = [datetime.date(2000, 1, 1) + datetime.timedelta(days=3 * place) for place in range(400)]
    moments = pa.array(days).cast(pa.timestamp("us"))
    data = local.from_arrow(pa.table({"day": days, "moment": moments}))
    made = data.diff(["day", "moment"], by=(), order_by="day").to_arrow()
    assert set(made["day_diff_1"].to_pylist()[1:]) == set(made["moment_diff_1"].to_pylist()[1:]) == {3.0}


def test_rows_that_agree_in_the_order_or_without_an_order_go_by_their_numbers(engine):
    made = cut(engine).lag("row", by="who", order_by="room", output_columns="agree")
    made = made.lag("row", by="who", order_by=(), output_columns="numbers")
    made = made.lag("row", by=(), order_by="at", output_columns="one series").to_arrow()
    assert same(made["agree"], by_pandas(FRAME, "who", ["room", "row"], "row", 1))
    assert same(made["numbers"], FRAME.groupby("who")["row"].shift(1))
    assert same(made["one series"], FRAME.sort_values("at")["row"].shift(1).reindex(FRAME.index))


def test_rows_without_a_key_or_a_place_in_the_order_have_no_neighbours(engine):
    keys = [None if row % 4 == 2 else row % 3 for row in range(ROWS)]
    when = [None if row % 5 == 0 else MOMENTS[row] for row in range(ROWS)]
    table = TABLE.append_column("key", pa.array(keys)).append_column("when", pa.array(when))
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    made = cut(engine, table).lag("row", by=["key", "room"], order_by="at", output_columns="of keys")
    made = made.lag("row", by="who", order_by="when", output_columns="placed").to_arrow()
    assert same(made["of keys"], by_pandas(frame, ["key", "room"], "at", "row", 1))
    placed = by_pandas(frame.dropna(subset="when"), "who", "when", "row", 1)
    assert same(made["placed"], placed.reindex(FRAME.index))


def test_minus_zero_is_the_key_zero(engine):
    data = engine.from_arrow(pa.table({"key": [0.0, -0.0, 0.0], "row": [0, 1, 2]}), fragment_bytes=16)
    assert data.lag("row", by="key", order_by="row").to_arrow()["row_lag_1"].to_pylist() == [None, 0, 1]


def test_types_that_not_every_engine_has_come_back_as_they_are(engine):
    table = pa.table(
        {
            "row": range(3),
            "u8": pa.array([1, None, 255], pa.uint8()),
            "u64": pa.array([2**64 - 1, None, 1], pa.uint64()),
            "ns": pa.array([1, None, 2**60 + 1], pa.timestamp("ns")),
            "zone": pa.array([1, None, 5], pa.timestamp("ms", "Europe/Berlin")),
            "span": pa.array([1, None, 5], pa.duration("us")),
            "time": pa.array([1, None, 5], pa.time64("us")),
            "flag": pa.array([True, None, False]),
            "bytes": pa.array([b"\xff", None, b""]),
        }
    )
    names = table.column_names[1:]
    made = engine.from_arrow(table, fragment_bytes=60).lag(names, by=(), order_by="row").to_arrow()
    for name in names:
        assert made[f"{name}_lag_1"].type == table.schema.field(name).type
        assert made[f"{name}_lag_1"].combine_chunks()[1:].equals(table[name].combine_chunks()[:-1])


def test_columns_may_have_any_name(engine):
    table = pa.table({"a.b": ["x", "x"], "größe `in` m²": [1, 2], "row": [1, 0], "C0": [5, 6], "c0": [7, 8]})
    made = engine.from_arrow(table).lag(["größe `in` m²", "C0", "c0"], by="a.b", order_by="row").to_arrow()
    assert made["größe `in` m²_lag_1"].to_pylist() == [2, None]
    assert (made["C0_lag_1"].to_pylist(), made["c0_lag_1"].to_pylist()) == ([6, None], [8, None])


def test_no_rows_are_no_rows_with_the_new_columns(engine):
    made = cut(engine, TABLE.slice(0, 0)).lag("paid", by="who", order_by="at")
    assert made.to_arrow().equals(TABLE.slice(0, 0).append_column("paid_lag_1", pa.array([], pa.int16())))


# Rows


def test_all_rows_and_columns_stay_as_they_are_and_rows_keep_their_numbers(engine):
    data = cut(engine)
    made = data.lag("paid", by="who", order_by="at")
    assert made.columns == [*TABLE.column_names, "paid_lag_1"]
    assert made.count() == ROWS
    assert made.to_arrow().select(TABLE.column_names).equals(TABLE)
    assert made.schema == made.to_arrow().schema
    for mine, its in zip(made.split([0.6, 0.4], seed=2), data.split([0.6, 0.4], seed=2), strict=True):
        assert mine.to_arrow()["row"].to_pylist() == its.to_arrow()["row"].to_pylist()


def test_rows_that_were_left_out_are_nobodys_history(engine):
    kept = cut(engine).filter(nw.col("paid") > 0).split([0.7, 0.3], seed=4)[0]
    made = kept.lag("row", by="who", order_by="at").to_arrow()
    frame = made.to_pandas(types_mapper=pd.ArrowDtype)
    assert frame["row"].tolist() == kept.to_arrow()["row"].to_pylist()
    assert same(made["row_lag_1"], by_pandas(frame, "who", "at", "row", 1))


def test_a_lag_of_a_lag_goes_on(local):
    once = cut(local).lag("row", by="who", order_by="at")
    twice = once.lag("row_lag_1", by="who", order_by="at").to_arrow()["row_lag_1_lag_1"]
    assert same(twice, by_pandas(FRAME, "who", "at", "row", 2))


def test_only_the_columns_that_a_scan_needs_are_made(local):
    data = cut(local).diff("paid", by="who", order_by="at").lag("note", by="who", order_by="at")
    kept, columns = data.scan(["note_lag_1"]).plan()
    assert [step.label for step in kept] == ["lag"]
    assert set(columns) == {"__row__"}
    assert data.select("note_lag_1").to_arrow().num_rows == ROWS


@pytest.mark.thorough
def test_files_go_with_the_last_dataset(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(results, "TABLE_BYTES", 0)
    if engine.name == "dask":
        monkeypatch.setattr("penstock.engines.dask.query.TABLE_BYTES", 0)
    made = cut(engine).lag("paid", by="who", order_by="at", staging_dir=tmp_path).select("paid_lag_1")
    gc.collect()
    assert len(list(tmp_path.glob("penstock-*"))) == 1
    assert made.to_arrow().num_rows == ROWS
    del made
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_rows_that_were_not_there_when_the_lag_was_made_are_told(local):
    made = cut(local).lag("paid", by="who", order_by="at")
    (step,) = made.steps
    assert isinstance(step, Beside)
    fewer = cut(local).with_step(Beside(step.lags, replace(step.rows, parts=())))
    with pytest.raises(RowCountError, match="lag has no value for some of the rows 0 to"):
        fewer.to_arrow()


# What is refused


def test_periods_that_are_not_positive_integers_are_refused(local):
    for periods in (0, -1, [], [1, 0], 1.5, True, "1"):
        with pytest.raises(ConfigError, match="periods of lag is"):
            cut(local).lag("paid", by="who", order_by="at", periods=periods)


def test_a_column_that_is_not_there_is_named(local):
    for argument in ("columns", "by", "order_by"):
        given = {"columns": "paid", "by": "who", "order_by": "at", argument: "Paid"}
        with pytest.raises(SchemaError, match="column 'Paid' is not in the data"):
            cut(local).lag(**given)


def test_output_columns_are_new_and_one_for_each_column_and_period(local):
    once = cut(local).lag("paid", by="who", order_by="at")
    with pytest.raises(ConfigError, match="would make column 'paid_lag_1', which is there already"):
        once.lag("paid", by="room", order_by="at")
    named = once.lag("paid", by="room", order_by="at", output_columns="paid_in_room")
    assert named.columns[-2:] == ["paid_lag_1", "paid_in_room"]
    few = r"output_columns of diff has 1 name\(s\), expected 2: paid_diff_1, paid_diff_2"
    with pytest.raises(ConfigError, match=few):
        cut(local).diff("paid", by="who", order_by="at", periods=[1, 2], output_columns="d")


def test_what_cannot_be_subtracted_or_lagged_is_refused(local):
    for values in (pa.array(["a"]), pa.array([True]), pa.array([1], pa.uint64())):
        with pytest.raises(SchemaError, match="of which there is no difference"):
            local.from_arrow(pa.table({"x": values})).diff("x", by=(), order_by=())
    with pytest.raises(SchemaError, match="column 'x' is list"):
        local.from_arrow(pa.table({"x": [[1], [2]], "row": [0, 1]})).lag("x", by=(), order_by="row")


def test_a_difference_that_overflows_is_an_error_with_its_column_and_that_of_infinities_null(local):
    data = local.from_arrow(pa.table({"x": [-(2**63), 2**63 - 1]})).diff("x", by=(), order_by=())
    with pytest.raises(DataValueError, match="difference of column 'x' does not fit") as caught:
        data.to_arrow()
    assert (caught.value.column, caught.value.stage) == ("x", "diff")
    data = local.from_arrow(pa.table({"x": [float("inf"), float("inf")]})).diff("x", by=(), order_by=())
    assert data.to_arrow()["x_diff_1"].to_pylist() == [None, None]


def test_rows_of_a_function_have_no_lag(local):
    made = cut(local).map_partitions(lambda frame: frame, TABLE.schema)
    with pytest.raises(ConfigError, match="rows have no numbers after map_partitions"):
        made.lag("paid", by="who", order_by="at")


def test_a_failure_leaves_no_files(local, tmp_path):
    strict = ps.Pipeline(st.Expect("row < 30")).fit(cut(local)).transform(cut(local))
    with pytest.raises(Exception, match="row < 30"):
        strict.lag("paid", by="who", order_by="at", staging_dir=tmp_path)
    assert list(Path(tmp_path).iterdir()) == []
