"""What `engine.sql` computes of a row is what DuckDB computes: three-valued logic, arithmetic, texts, dates, types."""

import datetime
import zoneinfo
from decimal import Decimal

import pyarrow as pa
import pytest
from duck_tables import duck
from sql_tables import ask, check, close

from penstock.errors import ConfigError

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


def check_each(engine, subtests, expressions, where="TRUE", order="ORDER BY id"):
    """Assert that each expression has the values of DuckDB and its type; they are listed by type."""
    typed = [(each.strip(), kind) for kind, some in expressions.items() for each in some.split(";")]
    made = ", ".join(f"{each} AS c{place}" for place, (each, _) in enumerate(typed))
    text = f"SELECT {made} FROM v WHERE {where} {order}"
    mine, its = ask(engine, text, v=VALUES).to_arrow(), duck(text, v=VALUES)
    for place, (each, kind) in enumerate(typed):
        with subtests.test(each):
            assert mine[f"c{place}"].type == kind
            assert mine[f"c{place}"].to_pylist() == [close(row[f"c{place}"]) for row in its]


CONDITIONS = """p AND q; p OR q; NOT p; p AND NULL; p OR NULL; NOT (p AND q); p = q; p <> q; p IS NULL; p IS NOT NULL;
    p IS TRUE; p IS NOT TRUE; p IS FALSE; p IS NOT FALSE; p IS DISTINCT FROM q; p IS NOT DISTINCT FROM q;
    i IS DISTINCT FROM j; i IS NOT DISTINCT FROM NULL; i = NULL; i > j; i >= 1.5; i IN (1, 7); i IN (1, NULL);
    i NOT IN (1, 7); i NOT IN (1, NULL); i IN (j, 7); i BETWEEN j AND 5; i NOT BETWEEN 0 AND j; f < d; d > 1.2; d = 7;
    d IN (7, 0.05); day > '2024-03-01'; day = moment; moment > '2024-02-29 14:00:00'; t = 'abc'; t < 'b';
    t IN ('abc', ''); CASE WHEN p THEN q ELSE NOT q END; CASE WHEN p THEN q END; COALESCE(p, q); COALESCE(p, q, FALSE);
    NULL AND p; (p OR q) AND NOT (p AND q)"""


def test_a_condition_is_true_false_or_null_as_in_duckdb(local, subtests):
    check_each(local, subtests, {pa.bool_(): CONDITIONS})


@pytest.mark.thorough
def test_where_keeps_what_is_true_alone(local):
    for condition in ("p", "NOT p", "p OR q", "NOT (p AND q)", "i NOT IN (1, NULL)", "NOT (i > j)", "p IS NOT TRUE"):
        check(local, f"SELECT id FROM v WHERE {condition} ORDER BY id", v=VALUES)


PATTERNS = "'abc'; 'a%'; '%c'; '%bc%'; 'a_c'; '%'; ''; 'a%c%'; '%a%c%'; 'x%y'; 'a#%c' ESCAPE '#'; 'gr__e'; '_'; '%%'"


def test_like_matches_as_in_duckdb(local, subtests):
    for like in ("LIKE", "NOT LIKE", "ILIKE"):
        check_each(local, subtests, {pa.bool_(): "; ".join(f"t {like} {each}" for each in PATTERNS.split("; "))})


def test_a_value_is_that_of_duckdb_in_the_type_of_the_dialect(local, subtests):
    expressions = {
        pa.int64(): """i + 1; i - j; i * j; -i; i // j; i % j; abs(i); COALESCE(i, j); greatest(i, j); least(i, j, 0);
            if(p, 1, 2); CAST(f + 0.25 AS BIGINT)""",
        pa.float64(): """i / j; i + 0.5; f * i; -f; f / 3; 1 - f; abs(f); round(f); round(f, 1); round(f, -2); floor(f);
            ceil(f); sqrt(abs(f)); exp(f / 1000000); power(f, 2); i + NULL; CASE WHEN p THEN i ELSE 0.5 END;
            CAST(i AS DOUBLE); CAST(d AS DOUBLE)""",
        pa.int32(): "COALESCE(i, 0); NULLIF(i, 7); CAST(p AS INT)",
        pa.string(): """CASE i WHEN 1 THEN 'one' WHEN 7 THEN 'seven' ELSE 'more' END; CAST(i AS VARCHAR);
            CAST(day AS VARCHAR)""",
        pa.date32(): "CAST(NULL AS DATE); CAST(moment AS DATE); CAST('2024-03-01' AS DATE)",
        pa.decimal128(12, 1): "CAST(i AS DECIMAL(12, 1))",
        pa.timestamp("us"): "CAST(day AS TIMESTAMP)",
    }
    check_each(local, subtests, expressions)


def test_a_number_that_its_type_does_not_hold_is_refused_when_it_is_read(local):
    with pytest.raises(Exception, match=r"i \(column 'i'\) is 1073741824, which is beyond the values of int16"):
        ask(local, "SELECT i::SMALLINT AS made FROM v", v=VALUES).to_arrow()


def test_decimals_are_exact(local, subtests):
    expressions = {
        pa.decimal128(38, 2): "d + 1; d * 2; 1 - d; -d",
        pa.decimal128(38, 3): "d - 0.005",
        pa.decimal128(38, 4): "d * d",
        pa.decimal128(38, 0): "round(d); floor(d); ceil(d)",
        pa.decimal128(38, 1): "round(d, 1)",
        pa.decimal128(9, 2): "abs(d)",
        pa.float64(): "d * f",
    }
    check_each(local, subtests, expressions)


def test_a_function_of_texts_is_that_of_duckdb(local, subtests):
    expressions = {
        pa.string(): """upper(t); lower(t); trim(t); substring(t, 2, 2); substring(t FROM 2); left(t, 2);
            replace(t, 'b', 'xx'); t || '!'; concat(t, '!', t)""",
        pa.int64(): "length(t)",
        pa.bool_(): "starts_with(t, 'a'); ends_with(t, 'c'); contains(t, 'ca')",
    }
    check_each(local, subtests, expressions)


def test_a_function_of_dates_is_that_of_duckdb(local, subtests):
    parts = "; ".join(f"EXTRACT({part} FROM {column})" for part in PARTS for column in ("day", "moment"))
    expressions = {
        pa.int64(): f"{parts}; year(day); month(moment); day - DATE '2024-02-01'",
        pa.date32(): """CAST(day + INTERVAL '1' MONTH AS DATE); CAST(day - INTERVAL 2 WEEK AS DATE);
            CAST(date_trunc('month', day) AS DATE); CAST(DATE '2023-02-28' + INTERVAL '1' YEAR AS DATE)""",
        pa.timestamp("us"): "moment + INTERVAL 90 MINUTE; date_trunc('hour', moment)",
    }
    check_each(local, subtests, expressions)


def test_a_division_by_zero_is_null(local):
    divided = "f / 0 AS a, i / 0 AS b, i % 0 AS c, i // 0 AS d, f / (i - i) AS e"
    made = ask(local, f"SELECT {divided} FROM v", v=VALUES).to_arrow()
    assert [column.null_count for column in made.columns] == [9] * 5


AGGREGATES = {
    pa.int64(): """count(*); count(i); count(DISTINCT i); count(DISTINCT p); CAST(sum(i) AS BIGINT);
        count(*) FILTER (WHERE i > 0); max(i) - min(j); sum(CASE WHEN p THEN 1 ELSE 0 END)::BIGINT; min(DISTINCT j)""",
    pa.float64(): """sum(f); avg(i); avg(d); stddev(f); stddev_samp(i); stddev_pop(f); variance(i); var_pop(f);
        median(f); sum(f) FILTER (WHERE p)""",
    pa.decimal128(38, 2): "sum(d)",
    pa.decimal128(9, 2): "max(d)",
    pa.int32(): "min(i)",
    pa.string(): "max(t)",
    pa.date32(): "min(day)",
    pa.bool_(): "bool_and(p); bool_or(p)",
}


@pytest.mark.thorough
def test_an_aggregate_is_that_of_duckdb_of_rows_of_one_and_of_none(local, subtests):
    for where in ("TRUE", "id > 99", "id = 4"):
        check_each(local, subtests, AGGREGATES, where, order="")


SKIPPED = [("America/Sao_Paulo", 2018, 11, 4), ("Asia/Beirut", 2024, 3, 31), ("America/Havana", 2024, 3, 10)]
"""Zones, and days there that have no midnight."""
ZONED = [*SKIPPED, ("America/New_York", 2024, 3, 10), ("Atlantic/Azores", 2024, 3, 31)]


@pytest.mark.parametrize(("zone", "year", "month", "day"), ZONED)
def test_a_time_in_a_zone_is_compared_with_a_day_by_the_clocks_there(local, zone, year, month, day):
    first = datetime.datetime(year, month, day - 1, 12, tzinfo=datetime.UTC)
    times = [first + datetime.timedelta(minutes=30 * place) for place in range(96)]
    table = local.from_arrow(pa.table({"at": pa.array(times, pa.timestamp("us", zone))}))
    wanted = datetime.date(year, month, day)
    right = [time for time in times if time.astimezone(zoneinfo.ZoneInfo(zone)).date() >= wanted]
    for text in (f"'{wanted}'", f"DATE '{wanted}'"):
        made = local.sql(f"SELECT at FROM t WHERE at >= {text}", t=table).to_arrow()["at"]
        assert made.cast(pa.timestamp("us", "UTC")).to_pylist() == right


def test_a_text_with_an_offset_is_that_instant_and_without_one_a_time_of_the_zone(local):
    moment = datetime.datetime(2024, 3, 10, 7, tzinfo=datetime.UTC)  # when clocks in New York go from 2 to 3
    table = local.from_arrow(pa.table({"at": pa.array([moment], pa.timestamp("us", "America/New_York"))}))
    for time in ("07:00:00+00:00", "02:00:00-05:00", "02:00:00", "03:00:00"):
        assert local.sql(f"SELECT at FROM t WHERE at = '2024-03-10 {time}'", t=table).count() == 1, time


def test_an_offset_beside_a_time_without_a_zone_is_refused(local):
    with pytest.raises(ConfigError, match=r"SQL, line 1, column .*has an offset, and timestamp\[us\] has no zone"):
        ask(local, "SELECT id FROM v WHERE moment > '2024-03-01 00:00:00+01:00'", v=VALUES)


def test_union_all_takes_lists_and_structs_and_what_compares_them_is_refused(engine):
    rows = pa.table({"k": [1, 2], "l": [[1], None], "s": pa.array([{"a": 1}, None])})
    table = engine.from_arrow(rows)
    made = engine.sql("SELECT k, l, s FROM t UNION ALL SELECT k + 2, l, s FROM t", t=table).to_arrow()
    assert made.to_pylist() == [*rows.to_pylist(), *({**row, "k": row["k"] + 2} for row in rows.to_pylist())]
    for how in ("UNION", "INTERSECT", "EXCEPT"):
        with pytest.raises(ConfigError, match=rf"SQL, line 1.*{how} compares rows, and column 'l' is list"):
            engine.sql(f"SELECT l FROM t {how} SELECT l FROM t", t=table)
