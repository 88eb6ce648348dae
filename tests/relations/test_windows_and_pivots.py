"""Pivots, rolling windows and as-of joins have what DuckDB gives for them."""

import datetime

import narwhals as nw
import pyarrow as pa
import pytest
from duck_tables import SALES, duck

from penstock.errors import ConfigError, SchemaError

WEEK = datetime.timedelta(days=7)
QUOTES = pa.table(
    {
        "day": [None if row == 5 else datetime.date(2024, 3, 1 + row * 5 % 27) for row in range(24)],
        "shop": pa.array([row % 3 for row in range(24)], pa.int32()),
        "quote": list(range(24)),
    }
)


@pytest.fixture
def quotes(local):
    return local.from_arrow(QUOTES, fragment_bytes=200)


# Pivots


def test_a_pivot_is_that_of_duckdb(sales):
    made = sales.pivot("shop", index="day", values="sold", aggregate_function="sum", on_values=[0, 2]).to_arrow()
    query = 'SELECT day, sum(sold) FILTER (shop = {0})::BIGINT AS "0", sum(sold) FILTER (shop = {1})::BIGINT AS "2"'
    expected = duck(f"{query.format(0, 2)} FROM sales GROUP BY day ORDER BY day")
    none = duck("SELECT day, shop, count(*) AS n FROM sales WHERE sold IS NULL AND shop IN (0, 2) GROUP BY ALL")
    for row in expected:  # where all are null, SQL has null for their sum, and a sum of nothing is 0 here
        for other in (other for other in none if other["day"] == row["day"]):
            row[str(other["shop"])] = row[str(other["shop"])] or 0
    assert made.to_pylist() == expected


def test_values_of_a_pivot_are_found_in_order_and_null_is_none(sales):
    made = sales.pivot("shop", index="sold", values=["price", "row"], aggregate_function="max")
    assert made.schema.names == ["sold", *(f"{name}_{shop}" for shop in range(4) for name in ("price", "row"))]
    query = ", ".join(f'max({n}) FILTER (shop = {s}) AS "{n}_{s}"' for s in range(4) for n in ("price", "row"))
    assert made.to_arrow().to_pylist() == duck(
        f"SELECT sold, {query} FROM sales GROUP BY sold ORDER BY sold NULLS FIRST"
    )


def test_counts_of_a_pivot_are_0_where_there_is_no_row(sales):
    made = sales.pivot("shop", index="day", values="sold", aggregate_function="len", on_values=[1]).to_arrow()
    assert made.to_pylist() == duck(
        'SELECT day, count(*) FILTER (shop = 1) AS "1" FROM sales GROUP BY day ORDER BY day'
    )


def test_a_pivot_that_cannot_be_is_refused(sales):
    for options, problem in (
        ({"aggregate_function": "first"}, "aggregate_function of pivot is 'first'"),
        ({"on_values": []}, r"0 value\(s\)"),
        ({"on_values": [1, 1]}, r"2 value\(s\) of 'shop', which make 1 name"),
    ):
        with pytest.raises(ConfigError, match=problem):
            sales.pivot("shop", **{"index": "day", "values": "sold", "aggregate_function": "sum", **options})


def test_floats_are_no_names_of_columns(sales):
    with pytest.raises(SchemaError, match="'price' is double, whose values are no names"):
        sales.pivot("price", index="day", values="sold", aggregate_function="sum")


# Rolling windows

WINDOWS = {
    "total": nw.col("sold").sum(),
    "mean": nw.col("price").mean(),
    "least": nw.col("sold").min(),
    "most": nw.col("day").max(),
    "spread": nw.col("sold").std(),
    "n": nw.col("sold").count(),
    "rows": nw.len(),
    "share": (nw.col("price") * 2).sum() / nw.len(),
}
SQL_WINDOWS = """sum(sold) OVER w::BIGINT total, avg(price) OVER w mean, min(sold) OVER w least, max(day) OVER w most,
    stddev_samp(sold) OVER w spread, count(sold) OVER w n, count(*) OVER w AS rows,
    sum(price * 2) OVER w / count(*) OVER w share"""


def close(value):
    return pytest.approx(value, rel=1e-9, abs=1e-12) if isinstance(value, float) else value


def test_a_window_is_that_of_duckdb(sales, subtests):
    for window, frame in (
        (3, "ORDER BY day, row ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"),
        (WEEK, "ORDER BY day RANGE BETWEEN INTERVAL 6 DAYS PRECEDING AND CURRENT ROW"),
    ):
        with subtests.test(window=window, frame=frame):
            made = sales.rolling(window, by="shop", order_by="day").agg(**WINDOWS)
            assert made.schema.names == [*SALES.column_names, *WINDOWS]
            query = f"SELECT *, {SQL_WINDOWS} FROM sales WHERE shop IS NOT NULL WINDOW w AS (PARTITION BY shop {frame})"
            rows = made.to_arrow()
            assert rows.schema == made.schema
            keyed = [row for row in rows.to_pylist() if row["shop"] is not None]
            for mine, its in zip(keyed, duck(f"{query} ORDER BY row"), strict=True):
                assert mine == {name: close(value) for name, value in its.items()}


def test_a_row_without_a_key_has_no_window(sales):
    made = sales.rolling(2, by="shop", order_by="day").agg(total=nw.col("sold").sum(), n="len").to_arrow()
    without = [row for row in made.to_pylist() if row["shop"] is None]
    assert without
    assert {(row["total"], row["n"]) for row in without} == {(None, None)}
    assert made["row"].to_pylist() == list(range(40))


def test_a_window_that_cannot_be_is_refused(sales):
    for window, order_by, problem in (
        (0, "day", "window of rolling is 0"),
        (datetime.timedelta(0), "day", "expected more than nothing"),
        ("7d", "day", "window of rolling is '7d'"),
    ):
        with pytest.raises(ConfigError, match=problem):
            sales.rolling(window, order_by=order_by)


def test_a_window_of_time_needs_one_time(sales):
    with pytest.raises(SchemaError, match="over sold, expected one column of dates or timestamps"):
        sales.rolling(WEEK, order_by="sold")


def test_what_has_no_window_is_refused_by_name(sales):
    with pytest.raises(ConfigError, match=r"rolling is given n_unique\(\), which has no window"):
        sales.rolling(3, order_by="day").agg(x=nw.col("sold").n_unique())
    with pytest.raises(ConfigError, match="column 'sold', which is there already"):
        sales.rolling(3, order_by="day").agg(sold="sum")


# As-of joins


def test_an_as_of_join_is_a_search_of_all_rows(sales, quotes, subtests):
    for tolerance in (None, 2):
        for strategy, compare, first in (("backward", "<=", "DESC"), ("forward", ">=", "ASC")):
            with subtests.test(tolerance=tolerance, strategy=strategy, compare=compare, first=first):
                within = None if tolerance is None else datetime.timedelta(days=tolerance)
                made = sales.join_asof(quotes, "day", by="shop", strategy=strategy, tolerance=within)
                near = "" if tolerance is None else f"AND abs(q.day - s.day) <= {tolerance}"
                found = f"SELECT q.* FROM quotes q WHERE q.shop = s.shop AND q.day {compare} s.day {near}"
                query = f"""SELECT s.*, f.day day_right, f.quote FROM sales s
                    LEFT JOIN LATERAL ({found} ORDER BY q.day {first}, q.quote {first} LIMIT 1) f ON true
                    ORDER BY s.row"""
                assert made.to_arrow().to_pylist() == duck(query, quotes=QUOTES)


def test_the_nearest_row_is_found_on_both_sides(local):
    left = local.from_arrow(pa.table({"at": [0.0, 4.0, 11.0, None]}))
    right = local.from_arrow(pa.table({"place": [3.0, 10.0, 1.0], "x": [1, 2, 3]}))
    made = left.join_asof(right, left_on="at", right_on="place", strategy="nearest").to_arrow()
    assert made["x"].to_pylist() == [3, 1, 2, None]
    assert made["place"].to_pylist() == [1.0, 3.0, 10.0, None]


def test_an_as_of_join_that_cannot_be_is_refused(sales, quotes):
    for options, problem in (
        ({"on": "day", "strategy": "after"}, "strategy of join_asof is 'after'"),
        ({}, "not given one column of the place"),
        ({"on": "day", "tolerance": 3}, "tolerance of join_asof is 3, and the place, 'day', is date32"),
    ):
        with pytest.raises(ConfigError, match=problem):
            sales.join_asof(quotes, **options)


def test_text_is_no_place(shops, quotes):
    with pytest.raises(SchemaError, match="'town' is string, which join_asof takes for no place"):
        shops.join_asof(shops, "town")
