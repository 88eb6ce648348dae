"""Tables in the manner of TPC-H: parts, suppliers, customers, orders and their lines, drawn from a seed.

Columns and words are those of the benchmark, as far as its queries look at them; keys are from 1 and dense. Prices of
lines are float64, balances and costs decimals.
"""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
NATIONS = (
    ("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0), ("FRANCE", 3),
    ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0),
    ("MOROCCO", 0), ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3), ("SAUDI ARABIA", 4), ("VIETNAM", 2),
    ("RUSSIA", 3), ("UNITED KINGDOM", 3), ("UNITED STATES", 1),
)  # fmt: skip
SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
MODES = ("AIR", "FOB", "MAIL", "RAIL", "AIR REG", "SHIP", "TRUCK")
INSTRUCTIONS = ("COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN")
TYPES = tuple(
    f"{a} {b} {c}" for a in ("PROMO", "MEDIUM", "ECONOMY") for b in ("POLISHED", "ANODIZED") for c in ("BRASS", "STEEL")
)
CONTAINERS = tuple(f"{a} {b}" for a in ("SM", "MED", "LG") for b in ("BOX", "PKG"))
COLOURS = ("forest", "green", "ivory", "khaki", "lemon")
COMMENTS = (
    "carefully final",
    "special packages wake requests",
    "quick deposits",
    "Customer slow Complaints",
    "ironic ideas",
)
FIRST_DAY = datetime.date(1992, 1, 1)
DAYS = 2406
EMPTIEST = 3
"""Every third customer has no order, as in the benchmark."""


def tables(lines: int, seed: int = 22) -> dict[str, pa.Table]:
    """Return the eight tables, with about so many lines of orders.

    Examples
    --------
    >>> {name: table.num_rows for name, table in tables(1000).items()}["lineitem"]
    1000
    """
    draw = np.random.default_rng(seed)
    orders, customers = lines // 4, max(40, lines // 40)
    parts, suppliers = max(40, lines // 30), max(20, lines // 600)
    order_days = draw.integers(0, DAYS - 151, orders)
    return {
        "region": pa.table({"r_regionkey": _keys(5, 0), "r_name": list(REGIONS)}),
        "nation": _nations(),
        "part": _parts(draw, parts),
        "supplier": _suppliers(draw, suppliers),
        "partsupp": _partsupps(draw, parts, suppliers),
        "customer": _customers(draw, customers),
        "orders": _orders(draw, order_days, customers),
        "lineitem": _lines(draw, lines, order_days, parts, suppliers),
    }


def write(folder: Path, lines: int, seed: int = 22, files: int = 1) -> None:
    """Write the tables as Parquet, each a folder of so many files."""
    for name, table in tables(lines, seed).items():
        (folder / name).mkdir(parents=True)
        rows = -(-table.num_rows // files)
        for place in range(files):
            pq.write_table(table.slice(place * rows, rows), folder / name / f"part-{place:03d}.parquet")


def _keys(count: int, first: int = 1) -> pa.Array:
    return pa.array(np.arange(first, first + count), pa.int64())


def _words(draw: np.random.Generator, words: tuple[str, ...], count: int) -> pa.Array:
    return pa.array(words).take(pa.array(draw.integers(0, len(words), count)))


def _money(draw: np.random.Generator, low: int, high: int, count: int) -> pa.Array:
    return pa.array(draw.integers(low * 100, high * 100, count) / 100).cast(pa.decimal128(15, 2))


def _days(numbers: np.ndarray) -> pa.Array:
    first = (FIRST_DAY - datetime.date(1970, 1, 1)).days
    return pa.array((numbers + first).astype(np.int32)).cast(pa.date32())


def _nations() -> pa.Table:
    names, regions = zip(*NATIONS, strict=True)
    return pa.table({"n_nationkey": _keys(25, 0), "n_name": list(names), "n_regionkey": pa.array(regions, pa.int64())})


def _numbered(prefix: str, count: int) -> pa.Array:
    return pa.array([f"{prefix}#{number:09d}" for number in range(1, count + 1)])


def _parts(draw: np.random.Generator, count: int) -> pa.Table:
    names = pc.binary_join_element_wise(_words(draw, COLOURS, count), _words(draw, COLOURS, count), " ")
    return pa.table(
        {
            "p_partkey": _keys(count),
            "p_name": names,
            "p_mfgr": _words(draw, ("Manufacturer#1", "Manufacturer#2"), count),
            "p_brand": _words(draw, ("Brand#12", "Brand#23", "Brand#34", "Brand#45"), count),
            "p_type": _words(draw, TYPES, count),
            "p_size": pa.array(draw.integers(1, 16, count), pa.int32()),
            "p_container": _words(draw, CONTAINERS, count),
        }
    )


def _suppliers(draw: np.random.Generator, count: int) -> pa.Table:
    return pa.table(
        {
            "s_suppkey": _keys(count),
            "s_name": _numbered("Supplier", count),
            "s_nationkey": pa.array(np.arange(count) % 25, pa.int64()),
            "s_acctbal": _money(draw, -999, 9999, count),
            "s_comment": _words(draw, COMMENTS, count),
        }
    )


def _partsupps(draw: np.random.Generator, parts: int, suppliers: int) -> pa.Table:
    part = np.repeat(np.arange(parts), 4)
    supplier = (part + np.tile(np.arange(4), parts) * max(1, suppliers // 4)) % suppliers
    return pa.table(
        {
            "ps_partkey": pa.array(part + 1, pa.int64()),
            "ps_suppkey": pa.array(supplier + 1, pa.int64()),
            "ps_availqty": pa.array(draw.integers(1, 9999, len(part)), pa.int32()),
            "ps_supplycost": _money(draw, 1, 1000, len(part)),
        }
    )


def _customers(draw: np.random.Generator, count: int) -> pa.Table:
    nation = draw.integers(0, 25, count)
    digits = draw.integers(100, 999, count)
    return pa.table(
        {
            "c_custkey": _keys(count),
            "c_name": _numbered("Customer", count),
            "c_nationkey": pa.array(nation, pa.int64()),
            "c_phone": [f"{code + 10}-{number}" for code, number in zip(nation, digits, strict=True)],
            "c_acctbal": _money(draw, -999, 9999, count),
            "c_mktsegment": _words(draw, SEGMENTS, count),
        }
    )


def _orders(draw: np.random.Generator, days: np.ndarray, customers: int) -> pa.Table:
    count = len(days)
    with_orders = np.array([key for key in range(1, customers + 1) if key % EMPTIEST])
    return pa.table(
        {
            "o_orderkey": _keys(count),
            "o_custkey": pa.array(draw.choice(with_orders, count), pa.int64()),
            "o_orderstatus": _words(draw, ("F", "O", "P"), count),
            "o_totalprice": _money(draw, 1000, 400000, count),
            "o_orderdate": _days(days),
            "o_orderpriority": _words(draw, PRIORITIES, count),
            "o_shippriority": pa.array(np.zeros(count), pa.int32()),
            "o_comment": _words(draw, COMMENTS, count),
        }
    )


def _lines(draw: np.random.Generator, count: int, order_days: np.ndarray, parts: int, suppliers: int) -> pa.Table:
    order = np.sort(draw.integers(0, len(order_days), count))
    part = draw.integers(0, parts, count)
    supplier = (part + draw.integers(0, 4, count) * max(1, suppliers // 4)) % suppliers
    shipped = order_days[order] + draw.integers(1, 122, count)
    quantity = draw.integers(1, 51, count)
    return pa.table(
        {
            "l_orderkey": pa.array(order + 1, pa.int64()),
            "l_partkey": pa.array(part + 1, pa.int64()),
            "l_suppkey": pa.array(supplier + 1, pa.int64()),
            "l_linenumber": pa.array(np.arange(count) % 7 + 1, pa.int32()),
            "l_quantity": pa.array(quantity, pa.int32()),
            "l_extendedprice": quantity * draw.integers(90_000, 110_000, count) / 100,
            "l_discount": draw.integers(0, 11, count) / 100,
            "l_tax": draw.integers(0, 9, count) / 100,
            "l_returnflag": _words(draw, ("A", "N", "R"), count),
            "l_linestatus": _words(draw, ("F", "O"), count),
            "l_shipdate": _days(shipped),
            "l_commitdate": _days(order_days[order] + draw.integers(30, 91, count)),
            "l_receiptdate": _days(shipped + draw.integers(1, 31, count)),
            "l_shipinstruct": _words(draw, INSTRUCTIONS, count),
            "l_shipmode": _words(draw, MODES, count),
        }
    )
