"""`engine.sql` gives the rows of DuckDB: FROM and joins, WHERE, GROUP BY and HAVING, ORDER BY and LIMIT."""

import pyarrow as pa
import pytest
from sql_tables import ask, check

from penstock.errors import PenstockError

JOINS = {
    "inner": "SELECT s.row, t.town, t.sold FROM sales s JOIN shops t ON s.shop = t.shop ORDER BY s.row, t.town",
    "comma": "SELECT row, town FROM sales s, shops t WHERE t.shop = s.shop AND t.sold < s.sold ORDER BY row, town",
    "left": "SELECT row, t.shop, town, s.shop m FROM sales s LEFT JOIN shops t ON s.shop = t.shop ORDER BY row, town",
    "left, of rows of the right": """SELECT row, town FROM sales s
        LEFT JOIN shops t ON s.shop = t.shop AND t.sold > 1 ORDER BY row, town""",
    "left, of rows of the left": """SELECT row, town FROM sales s
        LEFT JOIN shops t ON s.shop = t.shop AND s.sold > 4 ORDER BY row, town""",
    "right": """SELECT row, t.shop, town, s.shop mine FROM sales s
        RIGHT JOIN shops t ON s.shop = t.shop AND s.sold > 2 AND t.sold < 6 ORDER BY row, town""",
    "full": "SELECT row, t.shop, s.shop m, town FROM sales s FULL JOIN shops t ON s.shop = t.shop ORDER BY row, town",
    "cross": "SELECT row, town FROM sales CROSS JOIN shops ORDER BY row, town, shops.sold",
    "semi": "SELECT row FROM sales s SEMI JOIN shops t ON s.shop = t.shop AND t.sold < 4 ORDER BY row",
    "anti": "SELECT row FROM sales s ANTI JOIN shops t ON s.shop = t.shop AND s.sold > 2 ORDER BY row",
    "using": """SELECT * FROM (SELECT row, shop FROM sales) s JOIN (SELECT shop, town FROM shops) t USING (shop)
        ORDER BY 1, 3""",
    "of expressions": """SELECT row, town FROM sales s JOIN shops t ON s.shop + 1 = t.shop AND s.sold = t.sold
        ORDER BY row""",
    "of one column twice": """SELECT row, town FROM sales s JOIN shops t ON s.shop = t.shop AND s.shop = t.sold - 2
        ORDER BY row, town""",
    "of one column of the right twice": """SELECT s.row, t.row other FROM sales s
        JOIN sales t ON s.shop = t.sold AND s.sold = t.sold ORDER BY 1, 2""",
    "with, of subqueries": """WITH big AS (SELECT * FROM sales WHERE sold > 4),
        few (a, b) AS (SELECT shop, count(*) FROM big GROUP BY 1) SELECT big.row, few.b, q.n
        FROM big JOIN few ON big.shop = few.a, (SELECT count(*) AS n FROM shops) AS q ORDER BY row""",
    "of three": """SELECT a.row, b.row other, town FROM sales a, sales b, shops t
        WHERE a.shop = t.shop AND b.row = a.row + 1 AND b.sold > 2 ORDER BY 1, 2, 3""",
    "where after left": """SELECT row, town FROM sales s LEFT JOIN shops t ON s.shop = t.shop
        WHERE t.town IS NULL AND s.sold > 1 ORDER BY row""",
    "comma before left": """SELECT a.row, t.town FROM sales a, sales b LEFT JOIN shops t ON b.shop = t.shop
        WHERE a.row = b.row ORDER BY 1, 2""",
    "of branches": """SELECT row, town FROM sales s, shops t
        WHERE (s.shop = t.shop AND town = 'Aa') OR (s.shop = t.shop AND row > 30) ORDER BY 1, 2""",
    "less than": "SELECT row, town FROM sales JOIN shops ON shops.sold > row ORDER BY row, town",
}


@pytest.mark.thorough
def test_a_join_has_the_rows_of_duckdb(local, subtests):
    for text in JOINS.values():
        with subtests.test(text=text):
            assert check(local, text)


@pytest.mark.thorough
def test_a_group_by_has_the_rows_of_duckdb(local, subtests):
    for text in (
        "SELECT shop, count(*) AS n, count(sold) AS c, avg(price) AS a FROM sales GROUP BY shop ORDER BY shop",
        "SELECT shop + 1 AS k, max(sold) AS m FROM sales GROUP BY shop + 1 ORDER BY k",
        "SELECT year(day) * 100 AS y, day > '2024-03-10' AS late, count(*) n FROM sales GROUP BY 1, late ORDER BY 1, 2",
        "SELECT shop, sold, count(*) AS n FROM sales GROUP BY ALL ORDER BY 1, 2",
        "SELECT shop FROM sales GROUP BY shop HAVING count(*) > 8 AND max(sold) > 7 ORDER BY shop",
        "SELECT shop, min(sold) AS low FROM sales GROUP BY shop HAVING low > 0 ORDER BY max(row) DESC",
        "SELECT max(price) / min(row + 1) + 1 AS made FROM sales",
        "SELECT shop FROM sales GROUP BY shop ORDER BY shop NULLS FIRST",
        "SELECT DISTINCT shop, sold > 4 AS many FROM sales ORDER BY shop, many",
    ):
        with subtests.test(text=text):
            assert check(local, text)


def test_all_rows_are_one_group_also_where_there_are_none(local):
    rows = check(local, "SELECT count(*) AS n, sum(sold) AS s, max(day) AS m FROM sales WHERE row = -1")
    assert rows == [{"n": 0, "s": None, "m": None}]


def test_a_group_by_of_no_rows_has_none(local):
    assert check(local, "SELECT shop, count(*) AS n FROM sales WHERE row = -1 GROUP BY shop") == []


def test_null_goes_where_order_by_says_and_else_last(local, subtests):
    for order, expected in (
        ("x", [1, 2, None]),
        ("x DESC", [2, 1, None]),
        ("x NULLS FIRST", [None, 1, 2]),
        ("x DESC NULLS FIRST", [None, 2, 1]),
        ("1", [1, 2, None]),
        ("-x", [2, 1, None]),
        ("y", [None, 2, 1]),
        ("x IS NULL DESC, y", [None, 2, 1]),
    ):
        with subtests.test(order=order, expected=expected):
            table = pa.table({"x": [2, None, 1], "y": [2, 1, 3]})
            rows = check(local, f"SELECT x FROM t ORDER BY {order}", t=table)
            assert [row["x"] for row in rows] == expected


def test_rows_that_agree_stay_in_their_order(local):
    made = ask(local, "SELECT row FROM sales WHERE shop IS NULL ORDER BY shop").to_arrow()["row"].to_pylist()
    assert made == sorted(made)


def test_limit_and_offset_keep_rows_in_order(local):
    check(local, "SELECT row FROM sales ORDER BY sold DESC, row LIMIT 4 OFFSET 3")
    assert ask(local, "SELECT row FROM sales LIMIT 2").to_arrow()["row"].to_pylist() == [0, 1]


@pytest.mark.thorough
def test_a_name_of_with_hides_a_table(local):
    assert check(local, "WITH shops AS (SELECT 1 AS one FROM sales WHERE row = 0) SELECT * FROM shops") == [{"one": 1}]


def test_an_empty_table_gives_no_rows_in_the_same_types(local):
    text = "SELECT t.k, s.row, s.price FROM t LEFT JOIN sales s ON t.k = s.shop ORDER BY t.k"
    made = ask(local, text, t=pa.table({"k": pa.array([], pa.int16())})).to_arrow()
    assert made.num_rows == 0
    assert made.schema.types == [pa.int16(), pa.int64(), pa.float64()]


@pytest.mark.thorough
def test_a_constant_condition_keeps_all_rows_or_none(local):
    assert len(check(local, "SELECT row FROM sales WHERE 1 = 1 AND TRUE")) == 40
    assert check(local, "SELECT row FROM sales WHERE 1 > 1") == []
    assert check(local, "SELECT row FROM sales, shops WHERE NULL") == []


def test_nothing_is_read_before_rows_are_asked_for(local, tmp_path):
    data = local.from_arrow(pa.table({"x": [1, 2]})).write_parquet(tmp_path / "data")
    assert data
    made = local.sql("SELECT x, count(*) AS n FROM t GROUP BY x", t=local.read_parquet(tmp_path / "data"))
    for file in (tmp_path / "data").glob("*.parquet"):
        file.unlink()
    assert made.schema.names == ["x", "n"]
    with pytest.raises(PenstockError):
        made.to_arrow()


def test_a_result_is_a_table_of_another_query(local):
    totals = ask(local, "SELECT shop, sum(sold) AS total FROM sales GROUP BY shop")
    made = local.sql("SELECT max(total) AS most FROM totals", totals=totals)
    text = "SELECT max(total) AS most FROM (SELECT sum(sold)::BIGINT AS total FROM sales GROUP BY shop)"
    assert made.to_arrow().to_pylist() == check(local, text)


def test_what_infinities_leave_open_is_no_match(local):
    made = ask(local, "SELECT x FROM t WHERE x - x > -1", t=pa.table({"x": [float("inf"), 1.0]}))
    assert made.to_arrow()["x"].to_pylist() == [1.0]
