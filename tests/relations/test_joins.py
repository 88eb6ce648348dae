"""A join has the rows that DuckDB gives, in the order of the left and then of the right."""

import itertools
from unittest import mock

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest
from duck_tables import SHOPS, duck

from penstock.dataset.relations.join import Join
from penstock.engines.local.query import PolarsQueries
from penstock.errors import ConfigError, SchemaError

COLUMNS = {
    "inner": "sales.row, sales.shop, sales.sold, price, day, town, shops.sold AS sold_right",
    "left": "sales.row, sales.shop, sales.sold, price, day, town, shops.sold AS sold_right",
    "right": "sales.row, shops.shop, sales.sold, price, day, town, shops.sold AS sold_right",
    "full": "row, coalesce(sales.shop, shops.shop) shop, sales.sold, price, day, town, shops.sold sold_right",
    "semi": "sales.*",
    "anti": "sales.*",
}
NUMBERED = pa.table({"right_row": range(SHOPS.num_rows), **{name: SHOPS[name] for name in SHOPS.column_names}})


@pytest.mark.thorough
def test_a_join_is_that_of_duckdb(sales, shops, subtests):
    for how in COLUMNS:
        for null_equal in (False, True):
            with subtests.test(how=how, null_equal=null_equal):
                equal = "IS NOT DISTINCT FROM" if null_equal else "="
                on = f"sales.shop {equal} shops.shop"
                order = "right_row, row" if how == "right" else "row NULLS LAST, right_row"
                order = "row" if how in ("semi", "anti") else order
                query = f"SELECT {COLUMNS[how]} FROM sales {how} JOIN shops ON {on} ORDER BY {order}"
                assert sales.join(shops, "shop", how=how, null_equal=null_equal).to_arrow().to_pylist() == duck(
                    query, shops=NUMBERED
                )


def test_a_cross_join_puts_each_row_beside_each(sales, shops):
    made = sales.select("row").join(shops.select("town"), how="cross").to_arrow().to_pylist()
    towns = SHOPS["town"].to_pylist()
    assert made == [{"row": row, "town": town} for row in range(40) for town in towns]


def test_keys_may_be_called_differently_and_have_several_columns(sales, shops):
    made = sales.join(shops, left_on=["shop", "sold"], right_on=["shop", "sold"], how="left").select("row", "town")
    query = "SELECT row, town FROM sales LEFT JOIN shops ON sales.shop = shops.shop AND sales.sold = shops.sold"
    assert made.to_arrow().to_pylist() == duck(f"{query} ORDER BY row, town NULLS FIRST")


def test_the_key_of_a_join_is_called_as_on_the_left(local):
    left, right = pa.table({"a": [1, 2]}), pa.table({"b": [2, 3], "c": [4, 5]})
    made = local.from_arrow(left).join(local.from_arrow(right), left_on="a", right_on="b", how="full").to_arrow()
    assert made.to_pylist() == [{"a": 1, "c": None}, {"a": 2, "c": 4}, {"a": 3, "c": 5}]


def test_keys_of_two_widths_are_compared_in_the_wider(sales, shops):
    assert sales.schema.field("shop").type != shops.schema.field("shop").type
    assert sales.join(shops, "shop").schema.field("shop").type == pa.int64()
    assert shops.join(sales, "shop").to_arrow().schema.field("shop").type == pa.int64()


def test_minus_zero_is_zero_in_a_key(local):
    left, right = pa.table({"x": [-0.0, 1.0]}), pa.table({"x": [0.0], "y": [7]})
    made = local.from_arrow(left).join(local.from_arrow(right), "x")
    assert made.to_arrow()["y"].to_pylist() == [7]


def test_splits_of_a_join_are_those_of_its_rows_in_memory(local, sales, shops):
    joined = sales.join(shops, "shop")
    here = local.from_arrow(joined.to_arrow())
    for mine, its in zip(joined.split([0.6, 0.4], seed=2), here.split([0.6, 0.4], seed=2), strict=True):
        assert mine.to_arrow().equals(its.to_arrow())


def test_a_join_without_order_has_the_same_rows(sales, shops):
    ordered, free = (sales.join(shops, "shop", maintain_order=keep).to_polars() for keep in (True, False))
    assert free.sort("row", "town").equals(ordered.sort("row", "town"))


def test_a_join_that_cannot_be_is_refused(sales, shops):
    for options, problem in (
        ({}, "is given no key"),
        ({"on": "shop", "left_on": "shop"}, "on and left_on"),
        ({"left_on": "shop"}, "is given left_on"),
        ({"on": "shop", "how": "cross"}, "cross' is given on"),
        ({"on": "shop", "how": "outer"}, "how of join is 'outer', expected one of inner"),
        ({"left_on": ["shop", "row"], "right_on": "shop"}, r"2 key\(s\) on the left"),
        ({"on": "shop", "suffix": ""}, "would make column 'sold' twice"),
    ):
        with pytest.raises(ConfigError, match=problem):
            sales.join(shops, **options)


def test_a_key_that_is_not_there_or_does_not_compare_is_named(sales, shops):
    with pytest.raises(SchemaError, match=r"column 'shap' is not in the data\. Did you mean 'shop'"):
        sales.join(shops, left_on="shap", right_on="shop")
    with pytest.raises(SchemaError, match="compares column 'shop', int64, with 'town', string"):
        sales.join(shops, left_on="shop", right_on="town")


HOWS_IN_ORDER = ("inner", "left", "right", "semi", "anti")


@pytest.mark.thorough
def test_joins_that_keep_an_order_give_the_one_that_a_sort_gives(local, monkeypatch, subtests):
    draw = np.random.default_rng(5)
    left, right, last = (
        local.from_arrow(
            pa.table({"key": draw.integers(0, 200, rows), name: range(rows), "more": draw.integers(0, 9, rows)}),
            fragment_bytes=4096,
        )
        for name, rows in (("a", 3000), ("b", 500), ("c", 400))
    )

    def made(first, second):
        joined = left.filter(nw.col("more") > 2).join(right.select("key", "b"), "key", how=first)
        return joined.join(last.filter(nw.col("more") > 5), "key", how=second).to_arrow()

    for hows in itertools.product(HOWS_IN_ORDER, repeat=2):
        with subtests.test(hows=hows):
            in_order = made(*hows)
            with monkeypatch.context() as patch:
                patch.setattr(PolarsQueries, "arrange", mock.Mock(side_effect=AssertionError("sorted")))
                assert made(*hows) == in_order
            with monkeypatch.context() as patch:
                patch.setattr(Join, "keeping_order", lambda operation: None)
                assert made(*hows) == in_order
