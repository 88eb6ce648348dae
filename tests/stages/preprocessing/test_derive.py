"""Columns that an expression in text computes: those of DuckDB's SQL, or refused with what is wrong and where."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError, SchemaError
from penstock.expressions.row_values import row_value
from penstock.stages.base import Stage

TABLE = pa.table(
    {
        "i": pa.array([3, -7, None, 0, 12], pa.int64()),
        "x": [1.5, -2.25, 0.0, None, 1e10],
        "y": [0.5, 4.0, 0.0, 2.0, None],
        "s": ["  Ulm ", "BONN", None, "", "grün"],
        "t": [dt.datetime(2024, 2, 29, 17, 5, 9), dt.datetime(1999, 12, 31, 23), None, dt.datetime(2024, 1, 1), None],
        "d": [dt.date(2024, 2, 29), None, dt.date(2023, 1, 1), dt.date(1969, 7, 20), dt.date(2024, 12, 31)],
        "b": [True, False, None, True, False],
        "odd name": [1, 2, 3, 4, 5],
    }
)
SQL = {
    "x / 4": "x / 4",
    "x + y * 2 - i": "x + y * 2 - i",
    "abs(x) + floor(y) + ceil(x)": "abs(x) + floor(y) + ceil(x)",
    "sqrt(abs(x))": "sqrt(abs(x))",
    "coalesce(i, 0)": "coalesce(i, 0)",
    "coalesce(x, y)": "coalesce(x, y)",
    "x if x > y else y": "case when x > y then x else y end",
    "'up' if x > 0 else 'down' if x < 0 else None": "case when x > 0 then 'up' when x < 0 then 'down' end",
    "1 if b else 0": "cast(case when b then 1 else 0 end as bigint)",
    "x > 0": "x > 0",
    "x > 0 and y > 0": "x > 0 and y > 0",
    "x > 0 or y > 0": "x > 0 or y > 0",
    "not b": "not b",
    "i in (3, 12)": "i in (3, 12)",
    "s is None": "s is null",
    "min(x, y)": "least(x, y)",
    "max(i, 1)": "greatest(i, 1)",
    "lower(strip(s))": "lower(trim(s))",
    "upper(s)": "upper(s)",
    "len(s)": "length(s)",
    "replace(s, 'N', 'nn')": "replace(s, 'N', 'nn')",
    "concat(s, '-', s)": "s || '-' || s",
    "s[0:3]": "substring(s, 1, 3)",
    "s[2:]": "substring(s, 3)",
    "contains(s, 'l')": "contains(s, 'l')",
    "startswith(s, 'B') or endswith(s, 'e')": "starts_with(s, 'B') or ends_with(s, 'e')",
    "year(d)": "year(d)",
    "month(t)": "month(t)",
    "day(d)": "day(d)",
    "weekday(d)": "isodow(d)",
    "hour(t) * 60 + minute(t)": "hour(t) * 60.0 + minute(t)",
    "second(t)": "second(t)",
    "date(t)": "cast(t as date)",
    "`odd name` + 1": '"odd name" + 1',
    "i % 5": "i % 5 + case when i % 5 < 0 then 5 else 0 end",
}


def derived(expression: str, table: pa.Table = TABLE) -> pa.ChunkedArray:
    data = ps.LocalEngine(device="cpu").from_arrow(table)
    return ps.Pipeline(st.Derive(expression, as_="made")).fit(data).transform(data).to_arrow()["made"]


@pytest.mark.parametrize(("expression", "sql"), SQL.items())
def test_values_are_those_of_sql(expression: str, sql: str) -> None:
    expected = duckdb.arrow(TABLE).project(f"{sql} as made").fetchall()
    assert derived(expression).to_pylist() == [row[0] for row in expected]


HARD = pa.table(
    {
        "x": [0.0, -0.0, 1e308, -1e308, 5e-324, float("inf"), None, 0.1, 2.0**53],
        "y": [0.0, 5.0, 10.0, -0.0, 3.0, float("inf"), 1.0, 0.2, None],
        "i": [0, 2**53 + 1, -(2**63), 2**63 - 1, None, 7, -7, 1, 2**53],
        "b": [True, False, None] * 3,
        "s": ["", "a", None, "aé", "\U0001f600", "é", "ab", " ", "a b"],
    }
)
OF_ROWS = [
    "x + y", "x - y * 3", "x * y", "x / y", "-x / -y", "i / 3", "i * i", "abs(x) + sqrt(y) + floor(i) + ceil(x)", "-x",
    "x > y", "i > x", "i == 9007199254740992.0", "i == 9007199254740993", "0 <= x < 1 or b", "not b and x > 0",
    "x / y > 1", "x / y is None", "coalesce(x / y, i)", "coalesce(i, 3)", "i if b else x", "x if x / y > 0 else None",
    "'u' if b else 'v'", "len(s) + 1", "contains(s, 'a') or endswith(s, 'é')", "not startswith(s, 'a')", "s < 'b'", "b",
    "1 if b else 0", "coalesce(sqrt(x), -1)", "b == (x > 0)", "i", "coalesce(b, False)", "float(i) - x",
    "x == -x", "coalesce(i, -3)", "i > -5", "-2.5 if b else x", "len(s) > -1",
]  # fmt: skip


@pytest.mark.parametrize("expression", OF_ROWS)
def test_a_row_has_a_function_equal_to_the_bit(expression: str) -> None:
    assert row_value(expression, HARD.schema) is not None
    model = ps.Pipeline(st.Derive(expression, as_="made")).fit(ps.LocalEngine(device="cpu").from_arrow(HARD))
    columns = list(model.stages[0].inputs())
    rows = [model.predict(row, columns=["made"])["made"] for row in HARD.select(columns).to_pylist()]
    assert list(map(repr, rows)) == list(map(repr, derived(expression, HARD).to_pylist()))


@pytest.mark.parametrize("expression", ["log(x)", "x ** 2", "x % 3", "lower(s)", "max(x, y)", "i in (1, 2)", "s[1:]"])
def test_what_libraries_compute_otherwise_goes_by_a_frame(expression: str) -> None:
    assert row_value(expression, HARD.schema) is None
    assert row_value("x + 1", pa.schema({"x": pa.float32()})) is None


@pytest.mark.thorough
def test_what_has_no_value_is_null_also_inside() -> None:
    table = pa.table({"x": [0.0, 1.0, -1.0], "y": [0.0, 0.0, 4.0]})
    assert derived("x / y", table).to_pylist() == [None, float("inf"), -0.25]
    assert derived("coalesce(x / y, -1)", table).to_pylist() == [-1.0, float("inf"), -0.25]
    assert derived("coalesce(sqrt(x), 9)", table).to_pylist() == [0.0, 1.0, 9.0]
    assert derived("max(sqrt(x), -5)", table).to_pylist() == [0.0, 1.0, -5.0]


@pytest.mark.parametrize(
    ("expression", "kind", "match"),
    [
        ("x + s", SchemaError, "'s' is String, expected a number, in the expression 'x . s'"),
        ("x if b else s", SchemaError, "'x' is Float64 and 's' String, expected one type"),
        ("coalesce(s, 0)", SchemaError, "expected one type"),
        ("hour(d)", SchemaError, "'d' is Date, expected a timestamp"),
        ("year(s)", SchemaError, "'s' is String, expected a date"),
        ("x if y else 0", SchemaError, "'y' is Float64, expected a condition"),
        ("xx + 1", SchemaError, "column 'xx' is not in the data. Did you mean 'x'"),
        ("__import__('os')", ConfigError, "this call is not allowed in an expression"),
        ("x.y", ConfigError, "an attribute is not allowed"),
        ("lower(s, s)", ConfigError, "2 argument.s. for 1"),
        ("replace(s, s, 'a')", ConfigError, "no text between quotes"),
        ("s[::2]", ConfigError, "indexing is not allowed"),
        ("s[-3:-1]", ConfigError, "a slice that is not"),
        ("x +", ConfigError, "cannot be read"),
        ("1 + 1", ConfigError, "reads no column"),
        (3, ConfigError, "expected text"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_read(expression: Any, kind: type[Exception], match: str) -> None:
    with pytest.raises(kind, match=match):
        derived(expression)


@pytest.mark.thorough
def test_columns_are_derived_of_derived_ones_saved_and_scored(tmp_path: Path) -> None:
    steps: tuple[Stage, ...] = (
        st.Cast({"fare": "float64"}, errors="null"),
        st.CleanText("town", case="lower", empty_to_null=True),
        st.Rename({"fare": "paid", "km": "fare"}),
        st.Derive("paid / fare", as_="rate"),
        st.Derive("rate * 2 if town == 'ulm' else rate", as_="rate"),
        st.Drop("fare"),
        st.Select(("rate", "town")),
    )
    table = pa.table({"fare": ["12", "free", " 6 "], "km": [4.0, 2.0, None], "town": [" Ulm", "BONN", " "]})
    data = ps.LocalEngine(device="cpu").from_arrow(table)
    ps.Pipeline(*steps).fit(data).save(tmp_path / "m")
    model = ps.PipelineModel.load(tmp_path / "m")
    expected = [{"rate": 6.0, "town": "ulm"}, {"rate": None, "town": "bonn"}, {"rate": None, "town": None}]
    assert model.transform(data).to_arrow().to_pylist() == expected
    assert [model.predict(row) for row in table.to_pylist()] == expected
    assert model.predict(table.to_pylist() * 5) == expected * 5
