"""Subqueries and set operations of `engine.sql` have the rows of DuckDB, with NULL in them and without."""

import pyarrow as pa
import pytest
from sql_tables import ask, check

from penstock.errors import ConfigError, SchemaError

SUBQUERIES = {
    "in": "SELECT row FROM sales WHERE shop IN (SELECT shop FROM shops WHERE sold > 1) ORDER BY row",
    "not in": "SELECT row FROM sales WHERE shop NOT IN (SELECT shop FROM shops WHERE sold > 4) ORDER BY row",
    "not in nothing": "SELECT row FROM sales WHERE shop NOT IN (SELECT shop FROM shops WHERE sold > 99) ORDER BY row",
    "in, of both": """SELECT row FROM sales s WHERE sold + 1 IN (SELECT t.sold FROM shops t WHERE t.shop = s.shop)
        ORDER BY row""",
    "in, of groups": """SELECT row FROM sales WHERE shop IN (SELECT shop FROM sales GROUP BY 1 HAVING count(*) > 8)
        ORDER BY row""",
    "in, within another": """SELECT row FROM sales WHERE row IN (SELECT row FROM sales u WHERE sold > 1 AND EXISTS
        (SELECT 1 FROM shops t WHERE t.shop = u.shop AND t.sold > 2)) ORDER BY row""",
    "exists": "SELECT row FROM sales s WHERE EXISTS (SELECT * FROM shops t WHERE t.shop = s.shop) ORDER BY row",
    "not exists": """SELECT row FROM sales s WHERE NOT EXISTS
        (SELECT * FROM shops t WHERE t.shop = s.shop AND t.town > 'Aa') ORDER BY row""",
    "exists, of more than equality": """SELECT row FROM sales s WHERE EXISTS
        (SELECT * FROM shops t WHERE t.shop = s.shop AND t.sold > s.sold) ORDER BY row""",
    "not exists, of more than equality": """SELECT row FROM sales s WHERE NOT EXISTS
        (SELECT * FROM shops t WHERE t.shop = s.shop AND t.sold > s.sold) ORDER BY row""",
    "exists, of no equality": """SELECT row FROM sales s WHERE EXISTS
        (SELECT 1 FROM shops t WHERE t.sold < s.sold AND s.row > 3) ORDER BY row""",
    "exists, by itself": "SELECT row FROM sales WHERE EXISTS (SELECT 1 FROM shops WHERE sold > 1) ORDER BY row",
    "exists, or": """SELECT row FROM sales s WHERE s.row > 30 OR EXISTS
        (SELECT 1 FROM shops t WHERE t.shop = s.shop AND town = 'Aa') OR s.row = 3 ORDER BY row""",
    "a value": "SELECT row FROM sales WHERE sold = (SELECT max(sold) FROM sales) ORDER BY row",
    "a value of both": """SELECT row FROM sales s WHERE sold > (SELECT avg(sold) FROM sales u WHERE u.shop = s.shop)
        ORDER BY row""",
    "a first value": "SELECT row FROM sales WHERE day > (SELECT day FROM sales ORDER BY row LIMIT 1) ORDER BY row",
    "values beside rows": """SELECT row, (SELECT count(*) FROM shops t WHERE t.shop = s.shop) AS n,
        (SELECT max(town) FROM shops t WHERE t.shop = s.shop) AS town,
        (SELECT count(*) * 2 + coalesce(max(t.sold), -1) FROM shops t WHERE t.shop = s.shop) AS k
        FROM sales s ORDER BY row""",
    "values beside groups": """SELECT shop, (SELECT max(town) FROM shops t WHERE t.shop = s.shop) AS town, count(*) AS n
        FROM sales s GROUP BY shop HAVING sum(sold) > (SELECT avg(sold) * 6 FROM sales) ORDER BY shop""",
    "union": "SELECT shop, sold FROM sales UNION SELECT shop, sold FROM shops ORDER BY 1, 2",
    "union all": """SELECT shop, sold FROM sales UNION ALL SELECT shop, sold FROM shops
        ORDER BY shop NULLS FIRST, sold DESC LIMIT 30""",
    "union of types": "SELECT shop AS a FROM shops UNION ALL SELECT price FROM sales ORDER BY a DESC",
    "intersect": "SELECT shop FROM sales INTERSECT SELECT shop FROM shops ORDER BY shop",
    "except": "SELECT shop, sold FROM shops EXCEPT SELECT shop, sold FROM sales ORDER BY sold",
    "in parentheses": """(SELECT shop AS a FROM shops ORDER BY a LIMIT 2) UNION ALL (SELECT 7 FROM sales LIMIT 1)
        ORDER BY a""",
    "of unions": """SELECT count(*) AS n, max(a) AS most FROM
        (SELECT shop AS a FROM sales UNION ALL SELECT sold FROM sales UNION SELECT shop FROM shops)""",
}


@pytest.mark.thorough
def test_a_subquery_or_set_operation_has_the_rows_of_duckdb(local, subtests):
    for text in SUBQUERIES.values():
        with subtests.test(text=text):
            assert check(local, text)


def test_what_is_open_or_false_for_every_row_keeps_none(local):
    for text in (
        "SELECT row FROM sales WHERE shop NOT IN (SELECT shop FROM shops) ORDER BY row",
        "SELECT row FROM sales WHERE NOT EXISTS (SELECT 1 FROM shops WHERE sold > 1) ORDER BY row",
        "SELECT row FROM sales WHERE sold > (SELECT max(sold) FROM shops WHERE sold > 99) ORDER BY row",
    ):
        assert check(local, text) == []


def test_rows_of_a_union_come_in_the_order_of_its_parts(local):
    made = ask(local, "SELECT town FROM shops UNION ALL SELECT 'last' FROM shops WHERE sold = 1").to_arrow()
    assert made["town"].to_pylist() == ["Bé", "Aa", None, "nowhere", "Za", "Ab", "last"]


def test_a_union_keeps_rows_that_are_alike_and_null(local):
    table = pa.table({"a": pa.array([1, 1, None, None], pa.int8())})
    text = "SELECT a FROM t UNION ALL SELECT a FROM t ORDER BY a"
    assert [row["a"] for row in check(local, text, t=table)] == [1] * 4 + [None] * 4
    assert ask(local, text, t=table).schema.field("a").type == pa.int8()


REFUSED = {
    "SELECT row FROM sales s WHERE shop NOT IN (SELECT t.shop FROM shops t WHERE t.sold = s.sold)": "is not supported",
    "SELECT row FROM sales WHERE shop IN (SELECT shop, sold FROM shops)": "a subquery has several columns",
    "SELECT row FROM sales WHERE shop = (SELECT shop FROM shops)": "may have several rows",
    "SELECT row FROM sales s WHERE shop = (SELECT t.shop FROM shops t WHERE t.sold = s.sold)": "may have several rows",
    "SELECT row FROM sales WHERE shop IN (SELECT shop FROM shops) OR row = 1": "is not supported here",
    "SELECT row FROM sales s WHERE EXISTS (SELECT max(sold) FROM shops t WHERE t.shop = s.shop)": "is always there",
    "SELECT row FROM sales s WHERE 3 < (SELECT count(*) FROM shops t WHERE t.sold < s.sold)": "is no equality",
    "SELECT row FROM sales s WHERE EXISTS (SELECT 1 FROM shops t WHERE t.shop = s.shop LIMIT 1)": "has LIMIT",
    "SELECT (SELECT max(t.sold + s.sold) FROM shops t WHERE t.shop = s.shop) FROM sales s": "is of the query around",
    "SELECT row FROM sales WHERE shop IN (SELECT shop FROM shop)": "there is no table 'shop'. Did you mean 'shops'?",
    "SELECT row FROM sales WHERE shop IN (SELECT shp FROM shops)": "column 'shp' is not there",
    "SELECT row FROM sales s, (SELECT town FROM shops t WHERE t.shop = s.shop) q": "there is no table 's'",
    "SELECT row FROM sales s, LATERAL (SELECT town FROM shops t WHERE t.shop = s.shop) q": "LATERAL",
    "SELECT row FROM sales WHERE sold > ALL (SELECT sold FROM shops)": "may have several rows",
    "SELECT shop FROM sales UNION SELECT town FROM shops": "have no type in common",
    "SELECT shop, row FROM sales UNION SELECT shop FROM shops": "UNION has 2 columns and 1",
    "SELECT shop FROM sales EXCEPT ALL SELECT shop FROM shops": "EXCEPT ALL is not supported",
    "SELECT shop FROM sales UNION BY NAME SELECT shop FROM shops": "BY_NAME of UNION is not supported",
    "SELECT shop FROM sales UNION SELECT shop FROM shops ORDER BY shop + 1": "is no column of the result",
    "(SELECT row FROM sales) LIMIT 3": "LIMIT behind parentheses is not supported",
}


def test_a_refusal_names_what_and_says_what_to_do(local, subtests):
    for text in REFUSED:
        with subtests.test(text=text):
            with pytest.raises((ConfigError, SchemaError), match="line 1, column") as caught:
                ask(local, text)
            assert REFUSED[text] in caught.value.message
            assert caught.value.hint


ONE_ROW = (
    "WITH m AS (SELECT max(sold) AS top FROM sales) SELECT row FROM sales WHERE sold = (SELECT top FROM m)",
    "SELECT row FROM sales WHERE sold > (SELECT a FROM (SELECT avg(sold) AS a FROM sales) AS x) ORDER BY row",
    "SELECT row FROM sales WHERE sold > (SELECT max(t.sold) FROM shops t WHERE t.sold = 3 GROUP BY t.sold)",
    "SELECT row FROM sales WHERE sold > (SELECT DISTINCT sold FROM shops WHERE sold = 3) ORDER BY row",
    "SELECT row FROM sales WHERE (SELECT DISTINCT sold FROM shops WHERE sold = 99) IS NULL ORDER BY row",
)


def test_a_subquery_that_has_no_second_row_by_its_text_is_a_value(local, subtests):
    for text in ONE_ROW:
        with subtests.test(text=text):
            check(local, text)


@pytest.mark.parametrize("column", ["l", "s"])
def test_lists_and_structs_are_put_together_and_not_compared(local, column):
    nested = pa.table({"k": [1, 2], "l": [[1], None], "s": [{"a": 1}, None]})
    check(local, f"SELECT k, {column} FROM n UNION ALL SELECT k, {column} FROM n ORDER BY k", n=nested)
    with pytest.raises(ConfigError, match=rf"line 1, column .*UNION compares rows, and column '{column}'"):
        ask(local, f"SELECT {column} FROM n UNION SELECT {column} FROM n", n=nested)
