"""Some of the queries in the manner of TPC-H as dask.dataframe says them, over the same files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

Tables = Mapping[str, Any]


def tables(engine: Any, folder: Path, names: Sequence[str]) -> Tables:
    """Return the tables as frames, which the engine's cluster computes."""
    import dask.dataframe as dd

    return {name: dd.read_parquet(folder / name) for name in names}


def write(frame: Any, target: Path) -> None:
    """Write the rows of a query."""
    frame.to_parquet(target, write_index=False)


def q1(tables: Tables) -> Any:
    """Sum up lines by flag and status."""
    lines = tables["lineitem"]
    lines = lines[lines.l_shipdate <= pd.Timestamp("1998-07-01").date()]
    price = lines.l_extendedprice * (1 - lines.l_discount)
    lines = lines.assign(disc_price=price, charge=price * (1 + lines.l_tax))
    made = lines.groupby(["l_returnflag", "l_linestatus"]).agg(
        {
            "l_quantity": ["sum", "mean", "count"],
            "l_extendedprice": "sum",
            "disc_price": "sum",
            "charge": "sum",
            "l_discount": "mean",
        }
    )
    made.columns = ["sum_qty", "avg_qty", "count_order", "sum_base_price", "sum_disc_price", "sum_charge", "avg_disc"]
    return made.reset_index().sort_values(["l_returnflag", "l_linestatus"])


def q3(tables: Tables) -> Any:
    """Orders not yet shipped, by revenue."""
    day = pd.Timestamp("1995-03-15").date()
    customers, orders, lines = tables["customer"], tables["orders"], tables["lineitem"]
    customers = customers[customers.c_mktsegment == "BUILDING"][["c_custkey"]]
    orders = orders[orders.o_orderdate < day].merge(customers, left_on="o_custkey", right_on="c_custkey")
    lines = lines[lines.l_shipdate > day]
    joined = lines.merge(orders, left_on="l_orderkey", right_on="o_orderkey")
    joined = joined.assign(revenue=joined.l_extendedprice * (1 - joined.l_discount))
    made = joined.groupby(["l_orderkey", "o_orderdate", "o_shippriority"]).revenue.sum().reset_index()
    return made.sort_values(["revenue", "o_orderdate", "l_orderkey"], ascending=[False, True, True])


def q6(tables: Tables) -> Any:
    """Sum up what some discounts took."""
    lines = tables["lineitem"]
    first, end = pd.Timestamp("1994-01-01").date(), pd.Timestamp("1996-01-01").date()
    of_days = (lines.l_shipdate >= first) & (lines.l_shipdate < end)
    chosen = lines[of_days & lines.l_discount.between(0.045, 0.075) & (lines.l_quantity < 24)]
    return chosen.assign(revenue=chosen.l_extendedprice * chosen.l_discount)[["revenue"]].sum().to_frame("revenue")


QUERIES: dict[str, Callable[[Tables], Any]] = {"q1": q1, "q3": q3, "q6": q6}
