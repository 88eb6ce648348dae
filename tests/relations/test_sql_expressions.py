"""What `engine.sql` computes of a row is what DuckDB computes: three-valued logic, arithmetic, texts, dates, types."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from sql_tables import ask, check

PARTS = ("year", "quarter", "month", "day", "dow", "isodow", "doy", "hour", "minute", "second")
DECIMALS = (125, -75, 0, 9999, 250, None, 5, 700, -110)
VALUES = pa.table(
    {
        "id": range(9),
        "p": pa.array([True, True, True, False, False, False, None, None, None]),
        "q": pa.array([True, False, None] * 3),
        "i": pa.array([-7, -1, 0, 1, 7, None, 3, 2**30, -3], pa.int32()),
        "j": pa.array([2, -2, 3, None, -2, 2, 3, 1, 2], pa.int64()),
        "f": pa.array([-2.5, -0.5, 0.5, 1.5, None, 2.5, 0.125, 1e6, 3.0]),
        "d": pa.array([None if x is None else Decimal(x) / 100 for x in DECIMALS], pa.decimal128(9, 2)),
        "t": ["abc", "", None, "a%c", "A_C", "Grüne", "x\ny", " pad ", "abcabc"],
        "day": [None, *(datetime.date(2024, 1, 31) + datetime.timedelta(days=29 * n) for n in range(8))],
        "moment": [
            None,
            *(datetime.datetime(2024, 2, 28, 23, 59, 58) + datetime.timedelta(hours=7 * n) for n in range(8)),
        ],
    }
)


def values(engine, expression):
    """Assert that an expression has the values of DuckDB, and return its type."""
    text = f"SELECT id, {expression} AS made FROM v ORDER BY id"
    check(engine, text, v=VALUES)
    return ask(engine, text, v=VALUES).schema.field("made").type


@pytest.mark.parametrize(
    "condition",
    [
        "p AND q",
        "p OR q",
        "NOT p",
        "p AND NULL",
        "p OR NULL",
        "NOT (p AND q)",
        "p = q",
        "p <> q",
        "p IS NULL",
        "p IS NOT NULL",
        "p IS TRUE",
        "p IS NOT TRUE",
        "p IS FALSE",
        "p IS NOT FALSE",
        "p IS DISTINCT FROM q",
        "p IS NOT DISTINCT FROM q",
        "i IS DISTINCT FROM j",
        "i IS NOT DISTINCT FROM NULL",
        "i = NULL",
        "i > j",
        "i >= 1.5",
        "i IN (1, 7)",
        "i IN (1, NULL)",
        "i NOT IN (1, 7)",
        "i NOT IN (1, NULL)",
        "i IN (j, 7)",
        "i BETWEEN j AND 5",
        "i NOT BETWEEN 0 AND j",
        "f < d",
        "d > 1.2",
        "d = 7",
        "d IN (7, 0.05)",
        "day > '2024-03-01'",
        "day = moment",
        "moment > '2024-02-29 14:00:00'",
        "t = 'abc'",
        "t < 'b'",
        "t IN ('abc', '')",
        "CASE WHEN p THEN q ELSE NOT q END",
        "CASE WHEN p THEN q END",
        "COALESCE(p, q)",
        "COALESCE(p, q, FALSE)",
        "NULL AND p",
        "(p OR q) AND NOT (p AND q)",
    ],
)
def test_a_condition_is_true_false_or_null_as_in_duckdb(local, condition):
    assert values(local, condition) == pa.bool_()


@pytest.mark.parametrize(
    "condition", ["p", "NOT p", "p OR q", "NOT (p AND q)", "i NOT IN (1, NULL)", "NOT (i > j)", "p IS NOT TRUE"]
)
def test_where_keeps_what_is_true_alone(local, condition):
    check(local, f"SELECT id FROM v WHERE {condition} ORDER BY id", v=VALUES)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "pattern",
    [
        "'abc'",
        "'a%'",
        "'%c'",
        "'%bc%'",
        "'a_c'",
        "'%'",
        "''",
        "'a%c%'",
        "'%a%c%'",
        "'x%y'",
        "'a#%c' ESCAPE '#'",
        "'gr__e'",
        "'_'",
        "'%%'",
    ],
)
def test_like_matches_as_in_duckdb(local, pattern):
    assert values(local, f"t LIKE {pattern}") == pa.bool_()
    assert values(local, f"t NOT LIKE {pattern}") == pa.bool_()
    assert values(local, f"t ILIKE {pattern}") == pa.bool_()


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("i + 1", pa.int64()),
        ("i - j", pa.int64()),
        ("i * j", pa.int64()),
        ("-i", pa.int64()),
        ("i // j", pa.int64()),
        ("i % j", pa.int64()),
        ("i / j", pa.float64()),
        ("i + 0.5", pa.float64()),
        ("f * i", pa.float64()),
        ("-f", pa.float64()),
        ("f / 3", pa.float64()),
        ("1 - f", pa.float64()),
        ("abs(i)", pa.int64()),
        ("abs(f)", pa.float64()),
        ("round(f)", pa.float64()),
        ("round(f, 1)", pa.float64()),
        ("round(f, -2)", pa.float64()),
        ("floor(f)", pa.float64()),
        ("ceil(f)", pa.float64()),
        ("sqrt(abs(f))", pa.float64()),
        ("exp(f / 1000000)", pa.float64()),
        ("power(f, 2)", pa.float64()),
        ("i + NULL", pa.float64()),
        ("COALESCE(i, 0)", pa.int32()),
        ("COALESCE(i, j)", pa.int64()),
        ("NULLIF(i, 7)", pa.int32()),
        ("greatest(i, j)", pa.int64()),
        ("least(i, j, 0)", pa.int64()),
        ("CASE WHEN p THEN i ELSE 0.5 END", pa.float64()),
        ("CASE i WHEN 1 THEN 'one' WHEN 7 THEN 'seven' ELSE 'more' END", pa.string()),
        ("if(p, 1, 2)", pa.int64()),
        ("CAST(f AS BIGINT)", pa.int64()),
        ("CAST(i AS DOUBLE)", pa.float64()),
        ("i::SMALLINT", None),
        ("CAST(p AS INT)", pa.int32()),
        ("CAST(i AS VARCHAR)", pa.string()),
        ("CAST(day AS VARCHAR)", pa.string()),
        ("CAST(NULL AS DATE)", pa.date32()),
        ("CAST(d AS DOUBLE)", pa.float64()),
        ("CAST(i AS DECIMAL(12, 1))", pa.decimal128(12, 1)),
        ("CAST(moment AS DATE)", pa.date32()),
        ("CAST(day AS TIMESTAMP)", pa.timestamp("us")),
        ("CAST('2024-03-01' AS DATE)", pa.date32()),
    ],
)
def test_a_value_is_that_of_duckdb_in_the_type_of_the_dialect(local, expression, kind):
    if kind is None:  # 2**30 is no SMALLINT: both say so, when it is read
        with pytest.raises(Exception, match=r"conversion|Conversion|range"):
            values(local, expression)
        return
    assert values(local, expression) == kind


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("d + 1", pa.decimal128(38, 2)),
        ("d - 0.005", pa.decimal128(38, 3)),
        ("d * d", pa.decimal128(38, 4)),
        ("d * 2", pa.decimal128(38, 2)),
        ("1 - d", pa.decimal128(38, 2)),
        ("d / 4", pa.float64()),
        ("-d", pa.decimal128(38, 2)),
        ("d * f", pa.float64()),
    ],
)
def test_decimals_are_exact_but_for_quotients(local, expression, kind):
    assert values(local, expression) == kind


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("upper(t)", pa.string()),
        ("lower(t)", pa.string()),
        ("trim(t)", pa.string()),
        ("length(t)", pa.int64()),
        ("substring(t, 2, 2)", pa.string()),
        ("substring(t FROM 2)", pa.string()),
        ("left(t, 2)", pa.string()),
        ("replace(t, 'b', 'xx')", pa.string()),
        ("t || '!'", pa.string()),
        ("concat(t, '!', t)", pa.string()),
        ("starts_with(t, 'a')", pa.bool_()),
        ("ends_with(t, 'c')", pa.bool_()),
        ("contains(t, 'ca')", pa.bool_()),
    ],
)
def test_a_function_of_texts_is_that_of_duckdb(local, expression, kind):
    assert values(local, expression) == kind


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        *((f"EXTRACT({part} FROM {column})", pa.int64()) for part in PARTS for column in ("day", "moment")),
        ("year(day)", pa.int64()),
        ("month(moment)", pa.int64()),
        ("day - DATE '2024-02-01'", pa.int64()),
        ("CAST(day + INTERVAL '1' MONTH AS DATE)", pa.date32()),
        ("CAST(day - INTERVAL 2 WEEK AS DATE)", pa.date32()),
        ("moment + INTERVAL 90 MINUTE", pa.timestamp("us")),
        ("CAST(date_trunc('month', day) AS DATE)", pa.date32()),
        ("date_trunc('hour', moment)", pa.timestamp("us")),
        ("CAST(DATE '2023-02-28' + INTERVAL '1' YEAR AS DATE)", pa.date32()),
    ],
)
def test_a_function_of_dates_is_that_of_duckdb(local, expression, kind):
    assert values(local, expression) == kind


@pytest.mark.parametrize("expression", ["f / 0", "i / 0", "i % 0", "i // 0", "f / (i - i)"])
def test_a_division_by_zero_is_null(local, expression):
    made = ask(local, f"SELECT {expression} AS made FROM v", v=VALUES).to_arrow()["made"]
    assert made.null_count == 9


AGGREGATES = {
    "count(*)": pa.int64(),
    "count(i)": pa.int64(),
    "count(DISTINCT i)": pa.int64(),
    "count(DISTINCT p)": pa.int64(),
    "CAST(sum(i) AS BIGINT)": pa.int64(),
    "sum(f)": pa.float64(),
    "sum(d)": pa.decimal128(38, 2),
    "avg(i)": pa.float64(),
    "avg(d)": pa.float64(),
    "min(i)": pa.int32(),
    "max(t)": pa.string(),
    "min(day)": pa.date32(),
    "max(d)": pa.decimal128(9, 2),
    "stddev(f)": pa.float64(),
    "stddev_samp(i)": pa.float64(),
    "stddev_pop(f)": pa.float64(),
    "variance(i)": pa.float64(),
    "var_pop(f)": pa.float64(),
    "median(f)": pa.float64(),
    "bool_and(p)": pa.bool_(),
    "bool_or(p)": pa.bool_(),
    "count(*) FILTER (WHERE i > 0)": pa.int64(),
    "sum(f) FILTER (WHERE p)": pa.float64(),
    "max(i) - min(j)": pa.int64(),
    "sum(CASE WHEN p THEN 1 ELSE 0 END)::BIGINT": pa.int64(),
    "min(DISTINCT j)": pa.int64(),
}


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("where", ["TRUE", "id > 99", "id = 4"])
def test_an_aggregate_is_that_of_duckdb_of_rows_of_one_and_of_none(local, aggregate, where):
    text = f"SELECT {aggregate} AS made FROM v WHERE {where}"
    check(local, text, v=VALUES)
    assert ask(local, text, v=VALUES).schema.field("made").type == AGGREGATES[aggregate]
