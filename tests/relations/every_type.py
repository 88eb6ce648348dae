"""A table of four rows with a column of every Arrow type, of odd names, and without values; and verbs over it.

Each verb is given with the rows that it makes, by their numbers, so that pyarrow says what has to come out.
"""

import datetime
import decimal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa

from penstock.dataset.dataset import Dataset
from penstock.engines.base import Engine

_SECOND = 1_709_999_999  # a second before 16 o'clock in UTC, before 11 in New York
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EARLY = -2_000_000_000  # in 1906


def _of(kind: pa.DataType, first: Any, second: Any) -> pa.Array:
    return pa.array([first, None, second, first], kind)


def _numbers() -> dict[str, pa.Array]:
    kinds = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
    made = {}
    for kind in kinds:
        bits = kind.bit_width - pa.types.is_signed_integer(kind)
        made[str(kind)] = _of(kind, 1, 2**bits - 1)
    made |= {str(kind): _of(kind, 1.5, -0.25) for kind in (pa.float16(), pa.float32(), pa.float64())}
    decimals = [pa.decimal32(5, 1), pa.decimal64(12, 1), pa.decimal128(9, 2), pa.decimal128(38, 10), pa.decimal128(38)]
    for kind in decimals:
        most = decimal.Decimal(10**kind.precision - 1).scaleb(-kind.scale, decimal.Context(prec=38))
        made[str(kind)] = _of(kind, decimal.Decimal(1), most)
    return made


def _times() -> dict[str, pa.Array]:
    made = {}
    for unit, scale in _PER_SECOND.items():
        ticks = _of(pa.int64(), _SECOND * scale + scale // 2, _EARLY * scale + scale // 4)
        for zone in (None, "UTC", "America/New_York"):
            made[f"{zone or 'naive'} {unit}"] = ticks.cast(pa.timestamp(unit, zone))
        made[f"duration {unit}"] = _of(pa.duration(unit), scale, -5 * scale)
    days = [datetime.date(2024, 3, 9), datetime.date(1500, 1, 1)]
    made |= {str(kind): _of(kind, *days) for kind in (pa.date32(), pa.date64())}
    return made | {str(kind): _of(kind, 1, 86_399) for kind in (pa.time32("s"), pa.time64("us"), pa.time64("ns"))}


def _others() -> dict[str, pa.Array]:
    stamp = datetime.datetime(2024, 3, 9, 17, tzinfo=datetime.UTC)
    zoned = pa.timestamp("us", "America/New_York")
    texts = {str(kind): _of(kind, "a", "é") for kind in (pa.string(), pa.large_string(), pa.string_view())}
    raw = {str(kind): _of(kind, b"ab", b"\xff\0") for kind in (pa.binary(), pa.binary(2), pa.large_binary())}
    odd = {name: _of(pa.float64(), 1.5, 2.5) for name in ("a.b", "`q`", "a`b.c", "x y", "Case", "case", "0", "é", '"')}
    nothing = [pa.null(), pa.int64(), pa.string(), zoned, pa.decimal128(9, 2), pa.list_(pa.int64())]
    return {
        "bool": _of(pa.bool_(), True, False),
        **texts, **raw, **odd,
        "dictionary": _of(pa.string(), "a", "é").dictionary_encode(),
        "list": _of(pa.list_(pa.int64()), [1, None], []),
        "list of times": _of(pa.list_(zoned), [stamp, None], []),
        "two": _of(pa.list_(pa.float32(), 2), [1.5, 2.5], [3.5, None]),
        "struct": _of(pa.struct({"t": zoned, "u": pa.uint8(), "a.b": pa.string()}), (stamp, 1, "x"), (None, 255, "")),
        "list of structs": _of(pa.list_(pa.struct({"a": pa.uint64()})), [{"a": 2**64 - 1}], [None]),
        "map": _of(pa.map_(pa.string(), pa.int64()), [("a", 1)], []),
        **{f"no {kind}": pa.nulls(4, kind) for kind in nothing},
    }  # fmt: skip


COLUMNS = _numbers() | _times() | _others()
FLAT = [name for name, values in COLUMNS.items() if not pa.types.is_nested(values.type) and name != "bool"]
FLAT += ["bool"]
_SPARK_LACKS = ("duration", "time32", "time64", "timestamp[ns")
LACKING = [name for name, values in COLUMNS.items() if str(values.type).startswith(_SPARK_LACKS)]


def table(names: Sequence[str]) -> pa.Table:
    """Return columns by name, beside the number of the row, a key, and a list to explode."""
    beside = {"row": [0, 1, 2, 3], "key": [1, 1, 2, 1], "many": [[0, 1], [2], [3], [4]]}
    return pa.table({**beside, **{name: COLUMNS[name] for name in names}})


Made = tuple[Callable[[], Dataset], Sequence[int | None]]


def verbs(engine: Engine, data: Dataset, folder: Path) -> dict[str, Made]:
    """Return what each verb makes, and the rows of the table that it has, by number; None for a row of nulls."""
    names = [name for name in data.columns if name in COLUMNS]
    flat = [name for name in FLAT if name in names]
    one = engine.from_arrow(pa.table({"key": [2]}))
    rows, every = data.sort("row"), [0, 1, 2, 3]

    def written() -> Dataset:
        rows.write_parquet(folder / "out")
        return engine.read_parquet(folder / "out")

    def aggregated(function: str) -> Dataset:
        columns = names if function in ("first", "last") else flat
        return data.group_by("key").agg(**{name: getattr(nw.col(name), function)() for name in columns})

    return {
        "select": (lambda: data.select("row", *names), every),
        "filter": (lambda: rows.filter(nw.col("row") * 2 > 1), [1, 2, 3]),
        "with_columns": (lambda: rows.with_columns(more=nw.col("row") * 2, none=nw.col("row").is_null()), every),
        "join": (lambda: data.join(one, "key").filter(nw.col("row") > 0), [2]),
        "join on all": (lambda: data.join(data.select(*flat).unique(), flat, null_equal=True), every),
        "group_by, first": (lambda: aggregated("first"), [0, 2]),
        "group_by, last": (lambda: aggregated("last"), [3, 2]),
        "group_by, max": (lambda: aggregated("max"), [0, 2]),
        "group_by all": (lambda: data.group_by(*flat).agg(row=nw.col("row").min()).sort("row"), [0, 1, 2]),
        "sort": (lambda: data.sort("bool", *flat[:-1], descending=True, nulls="last"), [0, 3, 2, 1]),
        "unique": (lambda: data.unique("key", keep="last"), [2, 3]),
        "pivot": (
            lambda: data.pivot("key", index="row", values=flat, aggregate_function="max", on_values=[1, 2]),
            [0, 1, None, 3],
        ),
        "rolling": (lambda: data.rolling(2, order_by="row", by="key").agg(n="len"), every),
        "as-of": (lambda: data.select("row").join_asof(data, "row"), every),
        "union": (lambda: rows.union(rows), every * 2),
        "explode": (lambda: rows.explode("many"), [0, 0, 1, 2, 3]),
        "write": (written, every),
        "SQL": (lambda: engine.sql("SELECT * FROM t WHERE row + 1 > 1 ORDER BY row DESC", t=data), [3, 2, 1]),
        "query": (lambda: engine.query(lambda frame: frame, data, order_by="row", schema=data.schema), every),
    }  # fmt: skip
