"""Aggregates are those of DuckDB, in the types that the documentation says."""

from decimal import Decimal

import narwhals as nw
import pyarrow as pa
import pytest
from duck_tables import duck
from sql_tables import close

from penstock.errors import ConfigError, SchemaError

FLAG = nw.col("sold") > 4
AGGREGATES = {
    "total": (nw.col("sold").sum(), "coalesce(sum(sold), 0)::BIGINT", "int64"),
    "exact": (nw.col("price").sum(), "coalesce(sum(price), 0)", "float64"),
    "mean": (nw.col("price").mean(), "avg(price)", "float64"),
    "least": (nw.col("sold").min(), "min(sold)", "int32"),
    "most": (nw.col("day").max(), "max(day)", "date32[day]"),
    "n": (nw.col("sold").count(), "count(sold)", "int64"),
    "rows": (nw.len(), "count(*)", "int64"),
    "kinds": (nw.col("sold").n_unique(), "count(DISTINCT sold) + max((sold IS NULL)::INT)", "int64"),
    "spread": (nw.col("price").std(), "stddev_samp(price)", "float64"),
    "variance": (nw.col("price").var(ddof=0), "var_pop(price)", "float64"),
    "middle": (nw.col("sold").median(), "median(sold)", "float64"),
    "tenth": (nw.col("sold").quantile(0.1, "linear"), "quantile_cont(sold, 0.1)", "float64"),
    "first": (nw.col("sold").first(), "arg_min_null(sold, row)", "int32"),
    "last": (nw.col("sold").last(), "arg_max_null(sold, row)", "int32"),
    "some": (FLAG.any(), "coalesce(bool_or(sold > 4), false)", "bool"),
    "every": (FLAG.all(), "coalesce(bool_and(sold > 4), true)", "bool"),
    "revenue": ((nw.col("price") * nw.col("sold")).sum(), "coalesce(sum(price * sold), 0)", "float64"),
    "share": (nw.col("price").sum() / nw.len(), "coalesce(sum(price), 0) / count(*)", "float64"),
    "range": (nw.col("sold").max() - nw.col("sold").min() + 1, "max(sold) - min(sold) + 1", "int32"),
}


def sql(keys: str = "shop") -> str:
    made = ", ".join(f"{text} AS {name}" for name, (_, text, _) in AGGREGATES.items())
    return f"SELECT {keys}, {made} FROM sales GROUP BY {keys} ORDER BY {keys} NULLS FIRST"


def test_aggregates_are_those_of_duckdb_in_types_that_are_known_before(sales):
    grouped = sales.group_by("shop").agg(**{name: each for name, (each, _, _) in AGGREGATES.items()})
    for mine, its in zip(grouped.to_arrow().to_pylist(), duck(sql()), strict=True):
        assert {name: close(value) for name, value in its.items()} == mine
    assert {name: str(grouped.schema.field(name).type).replace("double", "float64") for name in AGGREGATES} == {
        name: kind for name, (_, _, kind) in AGGREGATES.items()
    }
    assert grouped.to_arrow().schema == grouped.schema


def test_without_a_key_there_is_one_row_also_of_none(sales):
    made = sales.filter(nw.col("row") < 0).group_by().agg(n="len", sold="sum", most=nw.col("sold").max())
    with pytest.raises(SchemaError, match="column 'n' is not in the data"):
        sales.group_by().agg(n="sum")
    assert made.to_arrow().to_pylist() == [{"n": 0, "sold": 0, "most": None}]


def test_rows_come_out_by_several_keys_null_first(sales):
    made = sales.group_by("shop", "sold").agg(n="len").to_arrow().to_pylist()
    assert made == duck(
        "SELECT shop, sold, count(*) AS n FROM sales GROUP BY ALL ORDER BY shop NULLS FIRST, sold NULLS FIRST"
    )


def test_decimals_are_summed_exactly(local):
    prices = pa.array([Decimal("0.10"), Decimal("0.20"), None, Decimal("99999999.99")], pa.decimal128(12, 2))
    made = local.from_arrow(pa.table({"price": prices})).group_by().agg(price="sum", mean=nw.col("price").mean())
    assert made.schema.field("price").type == pa.decimal128(38, 2)
    assert made.to_arrow().to_pylist() == [{"price": Decimal("100000000.29"), "mean": pytest.approx(33333333.43)}]


def test_a_sum_of_small_integers_does_not_wrap_around(local):
    table = pa.table({"x": pa.array([2**31 - 1] * 3, pa.int32()), "y": pa.array([200] * 3, pa.uint8())})
    data = local.from_arrow(table)
    assert data.group_by().agg(x="sum", y="sum").to_arrow().to_pylist() == [{"x": 3 * (2**31 - 1), "y": 600}]


def test_first_goes_by_the_order_of_a_sort_before(sales):
    made = sales.sort("day", descending=True).group_by("shop").agg(latest=nw.col("row").first()).to_arrow().to_pylist()
    assert made == duck(
        "SELECT shop, arg_max(row, (day, -row)) latest FROM sales GROUP BY shop ORDER BY shop NULLS FIRST"
    )


def test_what_is_no_aggregate_of_all_engines_is_refused_by_name(sales, subtests):
    for aggregate, problem in (
        (nw.col("sold"), "no single value of a group"),
        (nw.col("sold") - nw.col("sold").mean(), "no single value of a group"),
        (nw.col("sold").skew(), r"by skew\(\), which is no aggregate that all engines have"),
        (nw.col("sold").rank().max(), r"by rank\(\), which"),
        (nw.col("sold").first(order_by="row"), "sort before"),
        (nw.col("sold").quantile(0.5, "nearest"), "interpolation 'nearest'"),
        ("average", "by 'average', expected an expression"),
        ("quantile", "without a fraction"),
        (3, "by int, expected an expression"),
    ):
        with subtests.test(problem), pytest.raises(ConfigError, match=problem):
            sales.group_by("shop").agg(x=aggregate)


def test_a_type_that_a_function_does_not_take_is_refused(shops):
    for aggregate in (nw.col("town").sum(), nw.col("town").mean(), nw.col("sold").any()):
        with pytest.raises(SchemaError, match="it takes"):
            shops.group_by("shop").agg(x=aggregate)


def test_an_aggregate_that_is_called_as_a_key_and_none_at_all_are_refused(sales):
    with pytest.raises(SchemaError, match="'shop', which is a key"):
        sales.group_by("shop").agg(shop="max")
    with pytest.raises(ConfigError, match="no aggregate"):
        sales.group_by("shop").agg()


def test_first_of_rows_in_no_order_is_refused(sales, shops):
    with pytest.raises(ConfigError, match="in no defined order, and first and last go by it"):
        sales.join(shops, "shop", maintain_order=False).group_by("shop").agg(x=nw.col("row").first())


def test_rows_are_counted_whose_columns_nothing_asks_for(local):
    data = local.from_arrow(pa.table({"x": [3, 1, 2]}))
    assert data.select("x").group_by().agg(n="len").to_arrow()["n"].to_pylist() == [3]
    crossed = data.join(data.rename({"x": "y"}), how="cross")
    assert crossed.group_by().agg(n="len").to_arrow()["n"].to_pylist() == [9]
