"""Casts change no value unnoticed: errors name the row, nulls are counted, rows are set aside with the reason."""

import datetime as dt
import itertools
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.testing.datasets import restricted

INF = float("inf")
UTC = dt.UTC


def one(values: list[Any], kind: pa.DataType) -> Dataset:
    return ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": pa.array(values, kind)}))


def cast_to_null(values: list[Any], found: pa.DataType, wanted: str, format: str | None = None) -> list[Any]:
    formats = None if format is None else {"x": format}
    table = one(values, found).cast({"x": wanted}, errors="null", formats=formats).to_arrow()
    return list(table["x"].to_pylist())


# Values: a closed form for each pair of types

NUMBERS = [
    (pa.int64(), "int8", [127, 128, -128, -129, None], [127, None, -128, None, None]),
    (pa.int8(), "uint64", [1, -1], [1, None]),
    (pa.uint64(), "int64", [2**63 - 1, 2**63], [2**63 - 1, None]),
    (pa.int64(), "float64", [2**53, 2**53 + 1, -(2**63), 2**63 - 1], [2.0**53, None, -(2.0**63), None]),
    (pa.int32(), "float32", [2**24, 2**24 + 1], [2.0**24, None]),
    (pa.float64(), "int64", [3.0, 3.7, INF, -(2.0**63), 2.0**63], [3, None, None, -(2**63), None]),
    (pa.float64(), "float32", [0.5, 1e300, INF], [0.5, None, INF]),
    (pa.float32(), "float64", [0.5, None], [0.5, None]),
    (pa.bool_(), "int8", [True, False, None], [1, 0, None]),
    (pa.int64(), "bool", [1, 0, 2], [True, False, None]),
    (pa.float64(), "decimal128(5, 2)", [1.25, 0.125, 1e9], [Decimal("1.25"), None, None]),
    (pa.decimal128(5, 2), "int8", [Decimal("3.00"), Decimal("3.50")], [3, None]),
    (pa.decimal128(5, 2), "float64", [Decimal("0.10")], [0.1]),
    (pa.null(), "string", [None], [None]),
    (pa.list_(pa.float64()), "list<item: int8>", [[1.0], [], None, [1.5], [300.0], [2.0, None]],
     [[1], [], None, None, None, [2, None]]),
]  # fmt: skip


def test_numbers_stay_what_they_are_or_are_null(subtests: pytest.Subtests) -> None:
    for found, wanted, values, expected in NUMBERS:
        with subtests.test(found=found, wanted=wanted, values=values):
            assert cast_to_null(values, found, wanted) == expected


TEXTS = [
    ("int64", [" 12", "+5", "-0", "5.0", "1e3", "0x5", "", "1_000", str(2**63)], [12, 5, 0] + [None] * 6),
    ("uint8", ["255", "256", "-1"], [255, None, None]),
    ("float64", ["1e3", ".5", "5.", "inf", "NaN", "1e999", str(2**53 + 1), "x"],
     [1000.0, 0.5, 5.0, INF, None, None, None, None]),
    ("float32", ["0.1", str(2**24 + 1)], [0.10000000149011612, None]),
    ("bool", ["true", "False", "1", "yes"], [True, False, True, None]),
    ("decimal128(5, 2)", ["1.230", "1.234", "1234.5", "-.5"], [Decimal("1.23"), None, None, Decimal("-0.50")]),
    ("date32", ["2024-02-29 ", "2024-02-30", "24-1-1"], [dt.date(2024, 2, 29), None, None]),
    ("timestamp", ["2024-02-29", "2024-02-29 01:02", "2024-02-29T01:02:03.25", "2024-02-29T24:00:00",
                   "2024-02-29T01:02:03Z", "2024-02-29T01:02:03.1234567"],
     [dt.datetime(2024, 2, 29), dt.datetime(2024, 2, 29, 1, 2), dt.datetime(2024, 2, 29, 1, 2, 3, 250_000)] +
     [None] * 3),
    ("timestamp[s]", ["2024-02-29T01:02:03.000", "2024-02-29T01:02:03.5"], [dt.datetime(2024, 2, 29, 1, 2, 3), None]),
    ("timestamp[us, tz=UTC]", ["2024-02-29T01:02:03Z", "2024-02-29T01:02+0200", "2024-02-29T01:02:03-05", "2024-02-29"],
     [dt.datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC), dt.datetime(2024, 2, 28, 23, 2, tzinfo=UTC),
      dt.datetime(2024, 2, 29, 6, 2, 3, tzinfo=UTC), None]),
]  # fmt: skip


@pytest.mark.thorough
def test_a_text_is_read_by_itself(subtests: pytest.Subtests) -> None:
    for wanted, texts, expected in TEXTS:
        with subtests.test(wanted=wanted, texts=texts):
            assert cast_to_null(texts, pa.string(), wanted) == expected
            assert [cast_to_null([text], pa.string(), wanted)[0] for text in texts] == expected


def test_nanoseconds_of_texts_are_whole_or_null() -> None:
    texts = ["2024-02-29T01:02:03.123456789", "1600-01-01", "2300-01-01T00:00:00"]
    table = one(texts, pa.string()).cast({"x": "timestamp[ns]"}, errors="null").to_arrow()
    assert table["x"].cast(pa.int64()).to_pylist() == [1709168523123456789, None, None]


def test_texts_are_read_and_written_in_a_format() -> None:
    days = cast_to_null(["29.02.2024", "1.3.2024", "2024-02-29"], pa.string(), "date32", "%d.%m.%Y")
    assert days == [dt.date(2024, 2, 29), dt.date(2024, 3, 1), None]
    moments = cast_to_null(["29/02/24 17:05 +0100"], pa.string(), "timestamp[ms, tz=UTC]", "%d/%m/%y %H:%M %z")
    assert moments == [dt.datetime(2024, 2, 29, 16, 5, tzinfo=UTC)]
    assert cast_to_null([dt.date(2024, 2, 9), None], pa.date32(), "string", "%d.%m.%Y") == ["09.02.2024", None]


def test_times_of_other_units_stay_what_they_are_or_are_null() -> None:
    moments = [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 0, 0, 0, 1), dt.datetime(2500, 1, 1)]
    assert cast_to_null(moments, pa.timestamp("us"), "timestamp[ms]") == [moments[0], None, moments[2]]
    assert pc.is_null(
        one(moments, pa.timestamp("us")).cast({"x": "timestamp[ns]"}, errors="null").to_arrow()["x"]
    ).to_pylist() == [False, False, True]
    assert cast_to_null(moments, pa.timestamp("us"), "date32") == [dt.date(2024, 1, 1), None, dt.date(2500, 1, 1)]
    assert cast_to_null([dt.date(2024, 1, 1)], pa.date32(), "timestamp") == [dt.datetime(2024, 1, 1)]


WHOLE = ["int8", "uint64", "int64", "float32", "float64", "decimal128(10, 0)", "string"]


@pytest.mark.thorough
def test_small_whole_numbers_go_everywhere_and_back(subtests: pytest.Subtests) -> None:
    for found, wanted in [*itertools.permutations(WHOLE, 2)]:
        with subtests.test(found=found, wanted=wanted):
            start = one([0, 1, 100, None], pa.int64()).cast({"x": found})
            assert start.cast({"x": wanted}).cast({"x": "int64"}).to_arrow()["x"].to_pylist() == [0, 1, 100, None]


# Errors


def files(folder: Path) -> Path:
    for place, texts in enumerate((["1", "2", None], ["3", "4"], ["5", "six", "7", "eight"])):
        pq.write_table(pa.table({"x": texts, "id": [10 * place + row for row in range(len(texts))]}),
                       folder / f"{place}.parquet")  # fmt: skip
    return folder


def test_the_first_bad_value_is_named_with_file_and_row(local: Engine, tmp_path: Path) -> None:
    data = local.read_parquet(files(tmp_path), allow_unmanifested=True)
    with pytest.raises(DataValueError, match=r"column 'x' has 2 value\(s\) that int64 does not hold: 'six'") as caught:
        data.cast({"x": "int64"}).to_arrow()
    assert (caught.value.place["path"], caught.value.row) == (str(tmp_path / "2.parquet"), 1)


def test_nulls_are_counted_where_the_rows_are_written(local: Engine, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    data = local.read_parquet(files(tmp_path / "in"), allow_unmanifested=True)
    result = data.cast({"x": "int64"}, errors="null").write(tmp_path / "out")
    assert (result.rows, result.nulled) == (9, {"cast 'x' from string to int64": 2})
    assert local.read_parquet(tmp_path / "out").to_arrow()["x"].to_pylist() == [1, 2, None, 3, 4, 5, None, 7, None]


def test_rows_are_set_aside_as_they_came_with_the_reason(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    data = engine.read_parquet(files(tmp_path / "in"), allow_unmanifested=True)
    result = data.cast({"x": "int64", "id": "float32"}, errors="quarantine").write(tmp_path / "out")
    reason = "cast 'x' from string to int64"
    assert (result.read, result.rows, result.quarantined) == (9, 7, {reason: 2})
    assert engine.read_parquet(result.quarantine).to_arrow().to_pylist() == [
        {"row": 6, "reason": reason, "x": "six", "id": 21}, {"row": 8, "reason": reason, "x": "eight", "id": 23},
    ]  # fmt: skip


def test_a_row_with_two_bad_values_is_set_aside_once() -> None:
    table = pa.table({"x": ["1", "a", "2"], "y": ["b", "c", "3"]})
    data = ps.LocalEngine(device="cpu").from_arrow(table).cast({"x": "int8", "y": "int8"}, errors="quarantine")
    assert data.to_arrow().to_pydict() == {"x": [2], "y": [3]}
    _, log = data.gather(())
    assert log.quarantined == {"cast 'x' from string to int8": 1, "cast 'y' from string to int8": 1}


def test_rows_are_the_same_whichever_columns_are_read() -> None:
    table = pa.table({"x": ["1", "a"], "y": [1, 2]})
    data = ps.LocalEngine(device="cpu").from_arrow(table)
    assert data.cast({"x": "int8"}, errors="quarantine").select("y").to_arrow()["y"].to_pylist() == [1]
    assert restricted(data, ["y"]).cast({"x": "int8"}).select("y").count() == 2


def test_types_without_a_way_between_them_are_refused_before_reading(subtests: pytest.Subtests) -> None:
    for found, wanted in [
        (pa.int64(), "timestamp"), (pa.timestamp("us"), "int64"), (pa.timestamp("us"), "timestamp[us, tz=UTC]"),
        (pa.timestamp("us", "UTC"), "date32"), (pa.string(), "list<item: int8>"), (pa.list_(pa.int8()), "string"),
        (pa.bool_(), "date32"), (pa.string(), "time64[us]"), (pa.int8(), "null"),
    ]:  # fmt: skip
        told = "cast cannot turn column 'x' from"
        with subtests.test(found=found, wanted=wanted), pytest.raises(SchemaError, match=told):
            one([], found).cast({"x": wanted})


def test_mistakes_in_a_cast_are_named_before_reading(subtests: pytest.Subtests) -> None:
    for arguments, kind, match in [
        (({"x": "int9"},), ConfigError, "type 'int9' of column 'x' is not known"),
        (({"y": "int8"},), SchemaError, "column 'y' is not in the data"),
        (({},), ConfigError, "takes a mapping"),
        (({"x": "int8"}, "ignore"), ConfigError, "errors is 'ignore'"),
        (({"x": "int8"}, "raise", {"x": "%Y"}), SchemaError, "format for column 'x'"),
        (({"x": "date32"}, "raise", {"x": "%H:%M"}), ConfigError, "does not read date32"),
        (({"x": "timestamp"}, "raise", {"x": "%Y-%m-%d %H:%M %z"}), ConfigError, "does not read timestamp"),
    ]:
        with subtests.test(arguments=arguments, kind=kind):
            types, *rest = arguments
            with pytest.raises(kind, match=match):
                one(["1"], pa.string()).cast(types, **dict(zip(("errors", "formats"), rest, strict=False)))
