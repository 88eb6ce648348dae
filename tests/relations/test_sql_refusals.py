"""What `engine.sql` has not is refused before anything runs: by name, with its place in the text, and what to do."""

import pyarrow as pa
import pytest
from sql_tables import ask, check

from penstock.errors import ConfigError, MissingExtraError, SchemaError

REFUSED = {
    "SELECT row FROM sale": "line 1, column 17: there is no table 'sale'. Did you mean 'sales'?",
    "SELECT\n  rwo FROM sales": "line 2, column 3: column 'rwo' is not there. Did you mean 'row'?",
    "SELECT s.rwo FROM sales AS s": "column 'rwo' is not there. Did you mean 'row'?",
    "SELECT t.row FROM sales AS s": "there is no table 't'",
    "SELECT sales.row FROM sales AS s": "there is no table 'sales'",
    "SELECT shop FROM sales, shops": "column 'shop' is ambiguous: sales.shop, shops.shop",
    "SELECT * FROM sales, shops": "* has two columns 'shop'",
    "SELECT row, sold AS row FROM sales": "two columns are called 'row'",
    "SELECT row FROM sales, sales": "two tables of FROM are called 'sales'",
    'SELECT "Row" FROM sales': "column 'Row' is not there",
    "SELECT 'a' FROM main.sales": "is more than a table's name",
    "SELECT * FROM read_csv('a.csv')": "is a function or file in FROM",
    "SELECT * FROM 'a.parquet'": "there is no table 'a.parquet'",
    "SELECT * FROM sales TABLESAMPLE 10%": "is more than a table's name",
    "DROP TABLE sales": "engine.sql runs queries, found DROP",
    "INSERT INTO sales SELECT * FROM sales": "engine.sql runs queries, found INSERT",
    "COPY sales TO 'a.csv'": "engine.sql runs queries, found COPY",
    "DELETE FROM sales": "engine.sql runs queries, found DELETE",
    "SET x = 1": "engine.sql runs queries, found SET",
    "SELECT row FROM sales; SELECT 1": "2 statements, expected one",
    "": "0 statements, expected one",
    "SELECT FROM WHERE": "the text cannot be parsed",
    "SELECT row FROM sales WHERE (row > 1": "the text cannot be parsed",
    "SELECT 1": "SELECT has no FROM",
    "SELECT sum(sold) OVER (PARTITION BY shop) AS s FROM sales": "column 8: window functions are not supported",
    "SELECT row FROM sales QUALIFY row > 1": "QUALIFY is not supported",
    "SELECT shop, count(*) FROM sales GROUP BY ROLLUP (shop)": "ROLLUP is not supported in GROUP BY",
    "WITH RECURSIVE a AS (SELECT 1 AS x FROM sales) SELECT * FROM a": "WITH RECURSIVE is not supported",
    "SELECT DISTINCT ON (shop) row FROM sales": "DISTINCT ON is not supported",
    "SELECT DISTINCT shop FROM sales ORDER BY row": "ORDER BY row is not in SELECT DISTINCT",
    "SELECT row FROM sales WHERE sum(sold) > 1": "column 29: WHERE has an aggregate",
    "SELECT sum(max(sold)) FROM sales": "an aggregate stands in another",
    "SELECT shop, sold FROM sales GROUP BY shop": "column 'sold' is neither in GROUP BY nor in an aggregate",
    "SELECT shop FROM sales GROUP BY count(*)": "GROUP BY has an aggregate",
    "SELECT shop FROM sales GROUP BY 2": "GROUP BY 2 is no place in the list of 1",
    "SELECT shop FROM sales ORDER BY 0": "ORDER BY 0 is no place in the list of 1",
    "SELECT string_agg(town, ',') FROM shops": "is not supported|takes one argument|there is no aggregate",
    "SELECT sum(town) FROM shops": "sum(town) takes numbers, found string",
    "SELECT sum(DISTINCT sold) FROM sales": "sum(DISTINCT sold) is not supported",
    "SELECT row FROM sales LIMIT row": "LIMIT is row, expected a whole number",
    "SELECT row FROM sales OFFSET 2": "stands without LIMIT",
    "SELECT nope(row) FROM sales": "there is no function 'nope'",
    "SELECT substrin(town, 1) FROM shops": "there is no function 'substrin'. Did you mean 'substring'?",
    "SELECT TRY_CAST(town AS INT) FROM shops": "TRY_CAST is not supported",
    "SELECT CAST(row AS DECIMAL(50, 2)) FROM sales": "has more digits than the widest type, DECIMAL(38, 2)",
    "SELECT CAST(row AS UUID) FROM sales": "UUID is no type here",
    "SELECT CAST(day AS INT) FROM sales": "date32[day] cannot be cast to int32",
    "SELECT now() FROM sales": "would give other rows at another time",
    "SELECT NULL AS x FROM sales": "NULL has no type",
    "SELECT price + town FROM sales, shops": "price + town takes numbers, found string",
    "SELECT row FROM sales WHERE day > 5": "have no type in common",
    "SELECT row FROM sales WHERE day > 'soon'": "'soon' is no date32[day]",
    "SELECT row FROM sales WHERE row": "row is int64, expected a condition",
    "SELECT town FROM shops WHERE town LIKE shop": "LIKE takes a text between single quotes",
    "SELECT EXTRACT(epoch FROM day) FROM sales": "EXTRACT has no part 'epoch'",
    "SELECT row FROM sales WHERE row = ?": "parameters are not supported",
    "SELECT row FROM sales NATURAL JOIN shops": "NATURAL JOIN is not supported",
    "SELECT row FROM sales ASOF JOIN shops ON row = shops.sold": "ASOF JOIN is not supported",
    "SELECT row FROM sales s LEFT JOIN shops t ON s.row < t.sold": "LEFT JOIN on row < sold is not supported",
    "SELECT row FROM sales JOIN shops USING (rwo)": "column 'rwo' is not there",
    "SELECT * FROM (VALUES (1)) AS t": "in FROM, where tables",
    "SELECT row FROM sales WHERE row > 99999999999999999999": "is beyond 64 bits",
    "SELECT row FROM sales WHERE row BETWEEN SYMMETRIC 5 AND 1": "has SYMMETRIC, which is not supported",
    "SELECT sum(sold ORDER BY row) FROM sales": "ORDER",
    "SELECT * EXCLUDE (row) FROM sales": "is not supported",
}  # fmt: skip


def test_a_refusal_names_what_and_says_what_to_do(local, subtests):
    for text in REFUSED:
        with subtests.test(text=text):
            with pytest.raises((ConfigError, SchemaError)) as caught:
                ask(local, text)
            assert any(part in caught.value.message for part in REFUSED[text].split("|"))
            assert caught.value.hint
            assert "statement" in caught.value.message or "line " in caught.value.message


def test_what_is_no_dataset_no_table_or_no_text_is_refused(local, sales):
    with pytest.raises(ConfigError, match=r"engine.sql takes a Dataset, found pyarrow.Table"):
        local.sql("SELECT x FROM t", t=pa.table({"x": [1]}))
    with pytest.raises(ConfigError, match=r"engine.sql is given no table"):
        local.sql("SELECT 1")
    with pytest.raises(ConfigError, match=r"the query of engine.sql is int, expected text"):
        local.sql(1, sales=sales)


def test_without_sqlglot_the_command_that_installs_it_is_told(local, sales, hide_modules):
    hide_modules("sqlglot")
    with pytest.raises(MissingExtraError, match=r"sqlglot cannot be imported"):
        local.sql("SELECT row FROM sales", sales=sales)


NAMED = pa.table({"Fare": [1, 2], "fare_2": [3, 4], "select": [5, 6], "a b": [7, 8], 'q"q': [9, 10], "é": [11, 12]})
CASES = pa.table({"fare": [1], "FARE": [2]})


def test_a_column_is_called_by_its_alias_or_as_in_the_data(local, subtests):
    for text, names in (
        ("SELECT FARE FROM t", ["Fare"]),
        ("SELECT T.fare AS Sum FROM t", ["Sum"]),
        ('SELECT "Fare" FROM t', ["Fare"]),
        ('SELECT "select", "a b", "q""q", É FROM t', ["select", "a b", 'q"q', "é"]),
        ("SELECT fare + 1 FROM t", ["fare + 1"]),
        ("SELECT SUM(fare), Count(*) FROM t", ["sum(fare)", "count(*)"]),
        ('SELECT fare AS "from", 1 AS "Größe" FROM t', ["from", "Größe"]),
        ("SELECT fare_2 AS fare, fare AS fare_2 FROM t", ["fare", "fare_2"]),
        ("SELECT t.*, fare + 1 AS more FROM t", [*NAMED.column_names, "more"]),
    ):
        with subtests.test(text=text, names=names):
            assert ask(local, text, t=NAMED).to_arrow().column_names == names


def test_columns_can_change_names(local):
    check(local, "SELECT fare_2 AS fare, fare AS fare_2 FROM t ORDER BY t.fare DESC", t=NAMED)


def test_names_that_differ_in_case_alone_are_told_apart_by_quotes_or_as_they_are_written(local):
    assert ask(local, 'SELECT fare, "FARE" AS other FROM t', t=CASES).to_arrow().to_pylist() == [
        {"fare": 1, "other": 2}
    ]
    with pytest.raises(ConfigError, match=r"column 'Fare' is ambiguous: t.fare, t.FARE"):
        ask(local, "SELECT Fare FROM t", t=CASES)


def test_tables_are_found_without_regard_to_case_unless_they_are_quoted(local):
    assert ask(local, "SELECT count(*) AS n FROM SALES").to_arrow().to_pylist() == [{"n": 40}]
    with pytest.raises(ConfigError, match=r"there is no table 'SALES'. Did you mean 'sales'"):
        ask(local, 'SELECT row FROM "SALES"')


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT {'(' * 400}row{')' * 400} AS x FROM sales",
        f"SELECT row FROM sales WHERE {' OR '.join(f'row = {n}' for n in range(2000))}",
        f"SELECT {'+'.join(['row'] * 3000)} AS x FROM sales",
        f"SELECT {'9' * 5000} AS x FROM sales",
        f"SELECT round(row, {'9' * 5000}) AS x FROM sales",
    ],
    ids=["parentheses", "ORs", "terms", "digits", "digits of an argument"],
)
def test_what_is_too_deep_or_too_long_is_refused_with_its_line(local, text):
    with pytest.raises(ConfigError, match="SQL, line 1, column"):
        ask(local, text)
