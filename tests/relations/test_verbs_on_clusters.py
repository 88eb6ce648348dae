"""Verbs give the rows of the local engine on Dask and Spark, in the same order and types."""

import datetime

import narwhals as nw
import pytest
from duck_tables import on_files


def right_join_null_equal_of_a_full_one(sales, shops):
    full = sales.join(shops, "shop", how="full").select("shop", "row", "town")
    return sales.filter(nw.col("sold") > 2).join(full, "shop", how="right", null_equal=True)


def kept_and_sorted(sales, shops):
    kept = sales.join(shops, "shop", how="anti").unique("sold", keep="last")
    return kept.sort("price", "day", descending=[True, False], nulls="last").limit(8, offset=1)


def aggregates(sales, shops):
    names = ("mean", "min", "max", "count", "n_unique", "std", "var", "median", "first", "last")
    made = {name: getattr(nw.col("sold"), name)() for name in names}
    return sales.group_by("shop").agg(
        **made, q=nw.col("sold").quantile(0.3, "linear"), some=(nw.col("sold") > 7).any(), total=nw.col("sold").sum()
    )


def pivot_of_a_window(sales, shops):
    window = sales.rolling(datetime.timedelta(days=9), by="shop", order_by="day").agg(
        recent=nw.col("sold").sum(), n="len"
    )
    return window.pivot("shop", index="sold", values="recent", aggregate_function="max", on_values=[0, 1])


def as_of(sales, shops):
    latest = sales.select("shop", "day", "row").filter(nw.col("row") % 3 == 0)
    return sales.select("shop", "day", "price").join_asof(latest, "day", by="shop", strategy="forward")


@pytest.mark.parametrize(
    "query", [right_join_null_equal_of_a_full_one, kept_and_sorted, aggregates, pivot_of_a_window, as_of]
)
def test_rows_order_and_types_are_those_of_the_local_engine(distributed_engine, local, files, query):
    made, expected = (query(**on_files(each, files)).to_arrow() for each in (distributed_engine, local))
    assert made.schema == expected.schema
    for mine, its in zip(made.to_pylist(), expected.to_pylist(), strict=True):
        assert mine == {n: pytest.approx(v, rel=1e-12) if isinstance(v, float) else v for n, v in its.items()}
