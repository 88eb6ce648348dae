"""Columns that an expression in text computes: those of DuckDB's SQL, or refused with what is wrong and where."""

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError, SchemaError
from penstock.expressions.row_values import row_value

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


def all_derived(expressions: list[str], table: pa.Table = TABLE) -> tuple[ps.PipelineModel, dict[str, list[Any]]]:
    """Return a model that derives each of the expressions, and the values by expression."""
    stages = [st.Derive(expression, as_=f"made {place}") for place, expression in enumerate(expressions)]
    data = ps.LocalEngine(device="cpu").from_arrow(table)
    model = ps.Pipeline(*stages).fit(data)
    made = model.transform(data).to_arrow()
    return model, {text: made[f"made {place}"].to_pylist() for place, text in enumerate(expressions)}


def derived(expression: str, table: pa.Table = TABLE) -> list[Any]:
    return all_derived([expression], table)[1][expression]


@pytest.mark.thorough
def test_values_are_those_of_sql(subtests: pytest.Subtests) -> None:
    import duckdb

    _, found = all_derived(list(SQL))
    queries = ", ".join(f'{sql} as "{place}"' for place, sql in enumerate(SQL.values()))
    expected = zip(*duckdb.arrow(TABLE).project(queries).fetchall(), strict=True)
    for expression, values in zip(SQL, expected, strict=True):
        with subtests.test(expression=expression):
            assert found[expression] == list(values)


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


@pytest.mark.thorough
def test_a_row_has_a_function_equal_to_the_bit(subtests: pytest.Subtests) -> None:
    model, together = all_derived(OF_ROWS, HARD)
    names = [f"made {place}" for place in range(len(OF_ROWS))]
    rows = [model.predict(row, columns=names) for row in HARD.to_pylist()]
    for name, expression in zip(names, OF_ROWS, strict=True):
        with subtests.test(expression=expression):
            assert row_value(expression, HARD.schema) is not None
            assert list(map(repr, (row[name] for row in rows))) == list(map(repr, together[expression]))


def test_what_libraries_compute_otherwise_goes_by_a_frame(subtests: pytest.Subtests) -> None:
    for expression in ["log(x)", "x ** 2", "x % 3", "lower(s)", "max(x, y)", "i in (1, 2)", "s[1:]"]:
        with subtests.test(expression=expression):
            assert row_value(expression, HARD.schema) is None
            assert row_value("x + 1", pa.schema({"x": pa.float32()})) is None


@pytest.mark.thorough
def test_what_has_no_value_is_null_also_inside() -> None:
    table = pa.table({"x": [0.0, 1.0, -1.0], "y": [0.0, 0.0, 4.0]})
    assert derived("x / y", table) == [None, float("inf"), -0.25]
    assert derived("coalesce(x / y, -1)", table) == [-1.0, float("inf"), -0.25]
    assert derived("coalesce(sqrt(x), 9)", table) == [0.0, 1.0, 9.0]
    assert derived("max(sqrt(x), -5)", table) == [0.0, 1.0, -5.0]


def test_what_is_wrong_is_told_before_anything_is_read(subtests: pytest.Subtests) -> None:
    for expression, kind, match in [
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
    ]:
        with subtests.test(expression=expression), pytest.raises(kind, match=match):
            derived(expression)
