"""The 22 queries in the manner of TPC-H, as verbs of a dataset; each takes the eight tables by name."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping

import narwhals as nw

from penstock.dataset.dataset import Dataset

Tables = Mapping[str, Dataset]
REVENUE = nw.col("l_extendedprice") * (1 - nw.col("l_discount"))


def day(text: str) -> nw.Expr:
    """Return a date."""
    return nw.lit(datetime.date.fromisoformat(text))


def between(column: str, first: str, end: str) -> nw.Expr:
    """Return whether a date lies from one on, and before another."""
    return (nw.col(column) >= day(first)) & (nw.col(column) < day(end))


def if_so(condition: nw.Expr, value: nw.Expr) -> nw.Expr:
    """Return a value where a condition holds, and 0 elsewhere."""
    return nw.when(condition).then(value).otherwise(0)


def nations(tables: Tables, region: str) -> Dataset:
    """Return the nations of a region."""
    named = tables["region"].filter(nw.col("r_name") == region)
    return tables["nation"].join(named, left_on="n_regionkey", right_on="r_regionkey", how="semi")


def q1(tables: Tables) -> Dataset:
    """Sum up lines by flag and status."""
    lines = tables["lineitem"].filter(nw.col("l_shipdate") <= day("1998-07-01"))
    return lines.group_by("l_returnflag", "l_linestatus").agg(
        sum_qty=nw.col("l_quantity").sum(),
        sum_base_price=nw.col("l_extendedprice").sum(),
        sum_disc_price=REVENUE.sum(),
        sum_charge=(REVENUE * (1 + nw.col("l_tax"))).sum(),
        avg_qty=nw.col("l_quantity").mean(),
        avg_disc=nw.col("l_discount").mean(),
        count_order="len",
    )


def q2(tables: Tables) -> Dataset:
    """Suppliers with the least cost of a part in Europe."""
    suppliers = tables["supplier"].join(nations(tables, "EUROPE"), left_on="s_nationkey", right_on="n_nationkey")
    parts = tables["part"].filter((nw.col("p_size") >= 10) & nw.col("p_type").str.ends_with("BRASS"))
    offers = (
        tables["partsupp"]
        .join(parts, left_on="ps_partkey", right_on="p_partkey")
        .join(suppliers, left_on="ps_suppkey", right_on="s_suppkey")
    )
    least = offers.group_by("ps_partkey").agg(ps_supplycost="min")
    best = offers.join(least, ["ps_partkey", "ps_supplycost"])
    best = best.select("s_acctbal", "s_name", "n_name", "ps_partkey", "p_mfgr", "ps_supplycost")
    return best.sort("s_acctbal", "n_name", "s_name", "ps_partkey", descending=[True, False, False, False])


def q3(tables: Tables) -> Dataset:
    """Orders not yet shipped, by revenue."""
    customers = tables["customer"].filter(nw.col("c_mktsegment") == "BUILDING")
    orders = tables["orders"].filter(nw.col("o_orderdate") < day("1995-03-15"))
    lines = tables["lineitem"].filter(nw.col("l_shipdate") > day("1995-03-15"))
    joined = lines.join(
        orders.join(customers, left_on="o_custkey", right_on="c_custkey"), left_on="l_orderkey", right_on="o_orderkey"
    )
    made = joined.group_by("l_orderkey", "o_orderdate", "o_shippriority").agg(revenue=REVENUE.sum())
    return made.sort("revenue", "o_orderdate", descending=[True, False])


def q4(tables: Tables) -> Dataset:
    """Orders with a late line, by priority."""
    late = tables["lineitem"].filter(nw.col("l_commitdate") < nw.col("l_receiptdate"))
    orders = tables["orders"].filter(between("o_orderdate", "1993-01-01", "1995-10-01"))
    some = orders.join(late, left_on="o_orderkey", right_on="l_orderkey", how="semi")
    return some.group_by("o_orderpriority").agg(order_count="len")


def q5(tables: Tables) -> Dataset:
    """Revenue of suppliers from customers of their own nation."""
    orders = tables["orders"].filter(between("o_orderdate", "1993-01-01", "1997-01-01"))
    customers = tables["customer"].join(nations(tables, "ASIA"), left_on="c_nationkey", right_on="n_nationkey")
    lines = tables["lineitem"].join(
        orders.join(customers, left_on="o_custkey", right_on="c_custkey"), left_on="l_orderkey", right_on="o_orderkey"
    )
    own = lines.join(tables["supplier"], left_on=["l_suppkey", "c_nationkey"], right_on=["s_suppkey", "s_nationkey"])
    return own.group_by("n_name").agg(revenue=REVENUE.sum()).sort("revenue", descending=True)


def q6(tables: Tables) -> Dataset:
    """Revenue that smaller discounts would have brought."""
    lines = tables["lineitem"].filter(
        between("l_shipdate", "1994-01-01", "1996-01-01")
        & nw.col("l_discount").is_between(0.045, 0.075)
        & (nw.col("l_quantity") < 24)
    )
    return lines.group_by().agg(revenue=(nw.col("l_extendedprice") * nw.col("l_discount")).sum())


def q7(tables: Tables) -> Dataset:
    """Trade between two nations, by year."""
    pair = tables["nation"].filter(nw.col("n_name").is_in(["FRANCE", "GERMANY", "ALGERIA", "PERU"])).drop("n_regionkey")
    suppliers = tables["supplier"].join(pair, left_on="s_nationkey", right_on="n_nationkey").rename({"n_name": "supp"})
    customers = tables["customer"].join(pair, left_on="c_nationkey", right_on="n_nationkey").rename({"n_name": "cust"})
    orders = tables["orders"].join(customers, left_on="o_custkey", right_on="c_custkey")
    lines = tables["lineitem"].filter(between("l_shipdate", "1993-01-01", "1997-01-01"))
    trade = lines.join(orders, left_on="l_orderkey", right_on="o_orderkey").join(
        suppliers, left_on="l_suppkey", right_on="s_suppkey"
    )
    abroad = trade.filter(nw.col("supp") != nw.col("cust")).with_columns(l_year=nw.col("l_shipdate").dt.year())
    return abroad.group_by("supp", "cust", "l_year").agg(revenue=REVENUE.sum())


def q8(tables: Tables) -> Dataset:
    """Find the share of a nation in a market, by year."""
    parts = tables["part"].filter(nw.col("p_type") == "ECONOMY ANODIZED STEEL")
    customers = tables["customer"].join(
        nations(tables, "AMERICA"), left_on="c_nationkey", right_on="n_nationkey", how="semi"
    )
    orders = tables["orders"].join(customers, left_on="o_custkey", right_on="c_custkey", how="semi")
    sellers = tables["supplier"].join(tables["nation"], left_on="s_nationkey", right_on="n_nationkey")
    sold = (
        tables["lineitem"]
        .join(parts, left_on="l_partkey", right_on="p_partkey", how="semi")
        .join(orders, left_on="l_orderkey", right_on="o_orderkey")
        .join(sellers, left_on="l_suppkey", right_on="s_suppkey")
        .with_columns(o_year=nw.col("o_orderdate").dt.year())
    )
    own = if_so(nw.col("n_name").is_in(["BRAZIL", "CANADA", "PERU"]), REVENUE).sum()
    return sold.group_by("o_year").agg(mkt_share=own / REVENUE.sum())


def q9(tables: Tables) -> Dataset:
    """Profit on green parts by nation and year."""
    parts = tables["part"].filter(nw.col("p_name").str.contains("green", literal=True))
    costs = tables["partsupp"].with_columns(cost=nw.col("ps_supplycost").cast(nw.Float64))
    lines = (
        tables["lineitem"]
        .join(parts, left_on="l_partkey", right_on="p_partkey", how="semi")
        .join(costs, left_on=["l_partkey", "l_suppkey"], right_on=["ps_partkey", "ps_suppkey"])
        .join(tables["orders"], left_on="l_orderkey", right_on="o_orderkey")
        .join(tables["supplier"], left_on="l_suppkey", right_on="s_suppkey")
        .join(tables["nation"], left_on="s_nationkey", right_on="n_nationkey")
        .with_columns(o_year=nw.col("o_orderdate").dt.year())
    )
    profit = (REVENUE - nw.col("cost") * nw.col("l_quantity")).sum()
    return lines.group_by("n_name", "o_year").agg(sum_profit=profit).sort("n_name", "o_year", descending=[False, True])


def q10(tables: Tables) -> Dataset:
    """Find customers who return parts, by lost revenue."""
    orders = tables["orders"].filter(between("o_orderdate", "1993-10-01", "1995-01-01"))
    returned = tables["lineitem"].filter(nw.col("l_returnflag") == "R")
    joined = (
        returned.join(orders, left_on="l_orderkey", right_on="o_orderkey")
        .join(tables["customer"], left_on="o_custkey", right_on="c_custkey")
        .join(tables["nation"], left_on="c_nationkey", right_on="n_nationkey")
    )
    made = joined.group_by("o_custkey", "c_name", "c_acctbal", "n_name").agg(revenue=REVENUE.sum())
    return made.sort("revenue", descending=True)


def q11(tables: Tables) -> Dataset:
    """Parts that make up much of the stock of a nation."""
    own = tables["nation"].filter(nw.col("n_name").is_in(["GERMANY", "PERU"]))
    suppliers = tables["supplier"].join(own, left_on="s_nationkey", right_on="n_nationkey", how="semi")
    stock = tables["partsupp"].join(suppliers, left_on="ps_suppkey", right_on="s_suppkey", how="semi")
    worth = nw.col("ps_supplycost").cast(nw.Float64) * nw.col("ps_availqty")
    parts = stock.group_by("ps_partkey").agg(value=worth.sum())
    total = stock.group_by().agg(total=worth.sum())
    much = parts.join(total, how="cross").filter(nw.col("value") > nw.col("total") * 0.01)
    return much.select("ps_partkey", "value").sort("value", descending=True)


def q12(tables: Tables) -> Dataset:
    """Late lines by mode and priority of the order."""
    lines = tables["lineitem"].filter(
        nw.col("l_shipmode").is_in(["MAIL", "SHIP"])
        & (nw.col("l_commitdate") < nw.col("l_receiptdate"))
        & (nw.col("l_shipdate") < nw.col("l_commitdate"))
        & between("l_receiptdate", "1993-01-01", "1998-01-01")
    )
    joined = lines.join(tables["orders"], left_on="l_orderkey", right_on="o_orderkey")
    high = nw.col("o_orderpriority").is_in(["1-URGENT", "2-HIGH"])
    one = nw.lit(1)
    return joined.group_by("l_shipmode").agg(high=if_so(high, one).sum(), low=if_so(~high, one).sum())


def q13(tables: Tables) -> Dataset:
    """Count customers by their number of orders."""
    plain = tables["orders"].filter(~nw.col("o_comment").str.contains("special.*requests"))
    joined = tables["customer"].join(plain, left_on="c_custkey", right_on="o_custkey", how="left")
    counts = joined.group_by("c_custkey").agg(c_count=nw.col("o_orderkey").count())
    return counts.group_by("c_count").agg(custdist="len").sort("custdist", "c_count", descending=True)


def q14(tables: Tables) -> Dataset:
    """Find the share of promotions in the revenue."""
    lines = tables["lineitem"].filter(between("l_shipdate", "1995-01-01", "1996-01-01"))
    joined = lines.join(tables["part"], left_on="l_partkey", right_on="p_partkey")
    promo = if_so(nw.col("p_type").str.starts_with("PROMO"), REVENUE).sum()
    return joined.group_by().agg(promo_revenue=promo * 100 / REVENUE.sum())


def q15(tables: Tables) -> Dataset:
    """Find the supplier with the most revenue."""
    lines = tables["lineitem"].filter(between("l_shipdate", "1996-01-01", "1997-01-01"))
    revenue = lines.group_by("l_suppkey").agg(total_revenue=REVENUE.sum())
    top = revenue.group_by().agg(top=nw.col("total_revenue").max())
    best = revenue.join(top, how="cross").filter(nw.col("total_revenue") >= nw.col("top"))
    suppliers = tables["supplier"].join(best, left_on="s_suppkey", right_on="l_suppkey")
    return suppliers.select("s_suppkey", "s_name", "total_revenue").sort("s_suppkey")


def q16(tables: Tables) -> Dataset:
    """How many suppliers offer parts of a kind, but for those that are complained of."""
    parts = tables["part"].filter(
        (nw.col("p_brand") != "Brand#45")
        & ~nw.col("p_type").str.starts_with("MEDIUM POLISHED")
        & nw.col("p_size").is_in([3, 9, 14, 1, 5, 7])
    )
    blamed = tables["supplier"].filter(nw.col("s_comment").str.contains("Customer.*Complaints"))
    offers = (
        tables["partsupp"]
        .join(parts, left_on="ps_partkey", right_on="p_partkey")
        .join(blamed, left_on="ps_suppkey", right_on="s_suppkey", how="anti")
    )
    kinds = offers.group_by("p_brand", "p_type", "p_size").agg(supplier_cnt=nw.col("ps_suppkey").n_unique())
    return kinds.sort("supplier_cnt", "p_brand", "p_type", "p_size", descending=[True, False, False, False])


def q17(tables: Tables) -> Dataset:
    """Revenue that is lost without small orders of a part."""
    parts = tables["part"].filter((nw.col("p_brand") == "Brand#23") & (nw.col("p_container") == "MED BOX"))
    lines = tables["lineitem"].join(parts, left_on="l_partkey", right_on="p_partkey", how="semi")
    usual = lines.group_by("l_partkey").agg(usual=nw.col("l_quantity").mean() * 0.7)
    small = lines.join(usual, "l_partkey").filter(nw.col("l_quantity") < nw.col("usual"))
    return small.group_by().agg(avg_yearly=nw.col("l_extendedprice").sum() / 7)


def q18(tables: Tables) -> Dataset:
    """Large orders."""
    sums = tables["lineitem"].group_by("l_orderkey").agg(quantity=nw.col("l_quantity").sum())
    large = sums.filter(nw.col("quantity") > 180)
    orders = tables["orders"].join(large, left_on="o_orderkey", right_on="l_orderkey")
    joined = orders.join(tables["customer"], left_on="o_custkey", right_on="c_custkey")
    made = joined.select("c_name", "o_custkey", "o_orderkey", "o_orderdate", "o_totalprice", "quantity")
    return made.sort("o_totalprice", "o_orderdate", descending=[True, False])


def q19(tables: Tables) -> Dataset:
    """Revenue from parts of some kinds, shipped by air."""
    lines = tables["lineitem"].filter(
        nw.col("l_shipmode").is_in(["AIR", "AIR REG"]) & (nw.col("l_shipinstruct") == "DELIVER IN PERSON")
    )
    joined = lines.join(tables["part"], left_on="l_partkey", right_on="p_partkey")

    def kind(brand: str, container: str, least: int, size: int) -> nw.Expr:
        return (
            (nw.col("p_brand") == brand)
            & nw.col("p_container").is_in([f"{container} BOX", f"{container} PKG"])
            & nw.col("l_quantity").is_between(least, least + 20)
            & nw.col("p_size").is_between(1, size)
        )

    some = joined.filter(
        kind("Brand#12", "SM", 1, 10) | kind("Brand#23", "MED", 10, 12) | kind("Brand#34", "LG", 20, 15)
    )
    return some.group_by().agg(revenue=REVENUE.sum())


def q20(tables: Tables) -> Dataset:
    """Suppliers with more of forest parts than half of what was shipped."""
    parts = tables["part"].filter(nw.col("p_name").str.starts_with("forest"))
    shipped = tables["lineitem"].filter(between("l_shipdate", "1994-01-01", "1995-01-01"))
    half = shipped.group_by("l_partkey", "l_suppkey").agg(half=nw.col("l_quantity").sum() * 0.5)
    offers = tables["partsupp"].join(parts, left_on="ps_partkey", right_on="p_partkey", how="semi")
    much = offers.join(half, left_on=["ps_partkey", "ps_suppkey"], right_on=["l_partkey", "l_suppkey"]).filter(
        nw.col("ps_availqty") > nw.col("half")
    )
    own = tables["nation"].filter(nw.col("n_regionkey") <= 2)
    suppliers = tables["supplier"].join(much, left_on="s_suppkey", right_on="ps_suppkey", how="semi")
    suppliers = suppliers.join(own, left_on="s_nationkey", right_on="n_nationkey", how="semi")
    return suppliers.select("s_name", "s_acctbal").sort("s_name")


def q21(tables: Tables) -> Dataset:
    """Suppliers who alone were late in an order of several."""
    late = tables["lineitem"].filter(nw.col("l_receiptdate") > nw.col("l_commitdate"))
    several = tables["lineitem"].group_by("l_orderkey").agg(suppliers=nw.col("l_suppkey").n_unique())
    blamed = late.group_by("l_orderkey").agg(late=nw.col("l_suppkey").n_unique())
    alone = several.join(blamed, "l_orderkey").filter((nw.col("suppliers") > 1) & (nw.col("late") == 1))
    closed = tables["orders"].filter(nw.col("o_orderstatus") == "F")
    lines = late.join(alone, "l_orderkey", how="semi").join(
        closed, left_on="l_orderkey", right_on="o_orderkey", how="semi"
    )
    named = lines.join(tables["supplier"], left_on="l_suppkey", right_on="s_suppkey")
    own = tables["nation"].filter(nw.col("n_regionkey") == 4)
    named = named.join(own, left_on="s_nationkey", right_on="n_nationkey", how="semi")
    return named.group_by("s_name").agg(numwait="len").sort("numwait", "s_name", descending=[True, False])


def q22(tables: Tables) -> Dataset:
    """Find customers with money and without orders, by the code of their country."""
    codes = tables["customer"].with_columns(code=nw.col("c_phone").str.slice(0, 2))
    some = codes.filter(nw.col("code").is_in(["13", "31", "23", "29", "30", "18", "17", "11", "25"]))
    rich = some.filter(nw.col("c_acctbal") > 0).group_by().agg(usual=nw.col("c_acctbal").mean())
    idle = some.join(tables["orders"], left_on="c_custkey", right_on="o_custkey", how="anti")
    above = idle.join(rich, how="cross").filter(nw.col("c_acctbal").cast(nw.Float64) > nw.col("usual"))
    return above.group_by("code").agg(numcust="len", totacctbal=nw.col("c_acctbal").sum())


QUERIES: dict[str, Callable[[Tables], Dataset]] = {
    query.__name__: query
    for query in (q1, q2, q3, q4, q5, q6, q7, q8, q9, q10, q11, q12, q13, q14, q15, q16, q17, q18, q19, q20, q21, q22)
}
