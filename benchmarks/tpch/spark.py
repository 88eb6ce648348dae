"""Some of the queries in the manner of TPC-H as Spark SQL says them, over the same files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

Tables = Mapping[str, Any]
REVENUE = "l_extendedprice * (1 - l_discount)"

_SQL = {
    "q1": f"""SELECT l_returnflag, l_linestatus, sum(l_quantity) sum_qty, sum(l_extendedprice) sum_base_price,
        sum({REVENUE}) sum_disc_price, sum({REVENUE} * (1 + l_tax)) sum_charge, avg(l_quantity) avg_qty,
        avg(l_discount) avg_disc, count(*) count_order
        FROM lineitem WHERE l_shipdate <= DATE '1998-07-01' GROUP BY 1, 2 ORDER BY 1, 2""",
    "q3": f"""SELECT l_orderkey, o_orderdate, o_shippriority, sum({REVENUE}) revenue FROM customer, orders, lineitem
        WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
        AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15' GROUP BY 1, 2, 3
        ORDER BY revenue DESC, o_orderdate, l_orderkey""",
    "q5": f"""SELECT n_name, sum({REVENUE}) revenue FROM customer, orders, lineitem, supplier, nation, region
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey
        AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA'
        AND o_orderdate >= DATE '1993-01-01' AND o_orderdate < DATE '1997-01-01' GROUP BY 1 ORDER BY revenue DESC""",
    "q6": """SELECT sum(l_extendedprice * l_discount) revenue FROM lineitem WHERE l_shipdate >= DATE '1994-01-01'
        AND l_shipdate < DATE '1996-01-01' AND l_discount BETWEEN 0.045 AND 0.075 AND l_quantity < 24""",
}


def tables(engine: Any, folder: Path, names: Sequence[str]) -> Tables:
    """Return the tables as frames of the engine's session, which also knows them by name."""
    frames = {name: engine.session.read.parquet(str(folder / name)) for name in names}
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    return {**frames, "session": engine.session}


def write(frame: Any, target: Path) -> None:
    """Write the rows of a query."""
    frame.write.parquet(str(target))


def _query(text: str, tables: Tables) -> Any:
    return tables["session"].sql(text)


QUERIES: dict[str, Callable[[Tables], Any]] = {name: partial(_query, text) for name, text in _SQL.items()}
