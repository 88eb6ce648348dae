"""Distinct rows and sorts: which row is kept, and where ties and null go."""

import pyarrow as pa
import pytest
from duck_tables import duck

from penstock.errors import ConfigError, SchemaError


def test_unique_keeps_a_row_by_its_number_in_the_order_of_the_rows(sales):
    for keep, chosen in (("first", "min"), ("any", "min"), ("last", "max")):
        made = sales.unique("shop", keep=keep).to_arrow().to_pylist()
        query = f"SELECT * FROM sales WHERE row IN (SELECT {chosen}(row) FROM sales GROUP BY shop) ORDER BY row"
        assert made == duck(query)


def test_unique_rows_are_as_duckdb_has_them(local):
    table = pa.table({"a": [1, None, 1, None, 2, 1], "b": ["x", "y", "x", "y", None, None]})
    made = local.from_arrow(table, fragment_bytes=60).unique().to_arrow()
    assert made.to_pylist() == [{"a": 1, "b": "x"}, {"a": None, "b": "y"}, {"a": 2, "b": None}, {"a": 1, "b": None}]


def test_unique_after_a_sort_keeps_by_its_order(sales):
    made = sales.sort("price", descending=True, nulls="last").unique("shop", keep="first").to_arrow()["row"].to_pylist()
    query = "SELECT arg_max(row, (coalesce(price, -1), -row)) AS row FROM sales GROUP BY shop"
    assert sorted(made) == sorted(row["row"] for row in duck(query))


def test_a_sort_is_that_of_duckdb_ties_by_row_number(sales):
    for descending in (False, True):
        for nulls in ("first", "last"):
            made = sales.sort("shop", "sold", descending=descending, nulls=nulls).to_arrow().to_pylist()
            way = f"{'DESC' if descending else 'ASC'} NULLS {nulls}"
            assert made == duck(f"SELECT * FROM sales ORDER BY shop {way}, sold {way}, row")


def test_columns_go_up_and_down_ties_stay_as_they_were_and_the_order_outlives_columns(sales):
    for made, order in (
        (sales.sort("shop", "day", descending=[True, False]), "shop DESC NULLS FIRST, day, row"),
        (sales.sort("day").sort("shop"), "shop NULLS FIRST, day, row"),
        (sales.sort("day").select("row"), "day, row"),
    ):
        assert made.to_arrow().to_pylist() == duck(f"SELECT {', '.join(made.columns)} FROM sales ORDER BY {order}")


def test_text_is_sorted_by_its_bytes(local):
    words = ["é", "z", "Z", "", "a", "中", None]
    made = local.from_arrow(pa.table({"word": words})).sort("word").to_arrow()["word"].to_pylist()
    assert made == [None, *sorted(words[:-1], key=str.encode)]


def test_options_of_a_sort_and_of_unique_are_checked(sales):
    for options, problem in (
        ({"nulls": "end"}, "nulls of sort is 'end'"),
        ({"descending": [True, False]}, "descending of sort is"),
    ):
        with pytest.raises(ConfigError, match=problem):
            sales.sort("shop", **options)
    with pytest.raises(ConfigError, match="keep of unique is 'none', expected one of any, first, last"):
        sales.unique("shop", keep="none")


def test_a_nested_column_is_neither_sorted_nor_compared(local):
    data = local.from_arrow(pa.table({"list": [[1], [2]]}))
    for verb in (data.sort, data.unique):
        with pytest.raises(SchemaError, match="column 'list' is list"):
            verb("list")


def test_rows_in_no_order_are_not_chosen_from(sales, shops):
    with pytest.raises(ConfigError, match="the row that is kept goes by it"):
        sales.join(shops, "shop", maintain_order=False).unique("shop")
    assert sales.join(shops, "shop", maintain_order=False).select("shop").unique().count() == 3


def test_a_limit_takes_rows_in_their_order(local):
    data = local.from_arrow(pa.table({"x": [3, 1, 2]}), fragment_bytes=8)
    assert data.sort("x").limit(1, offset=1).to_arrow()["x"].to_pylist() == [2]
    with pytest.raises(ConfigError, match="rows of limit is -1"):
        data.limit(-1)
