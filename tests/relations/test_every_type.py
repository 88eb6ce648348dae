"""Every verb gives columns of every Arrow type as they went in, on every engine, or refuses one by name."""

import datetime
import zoneinfo

import narwhals as nw
import polars as pl
import pyarrow as pa
import pytest
from every_type import COLUMNS, LACKING, table, verbs

from penstock.core.schemas import canonical_type
from penstock.errors import SchemaError


def expected(name: str, rows: list[int | None]) -> pa.Array:
    """What pyarrow takes of a column, in the one spelling of its type."""
    return COLUMNS[name].cast(canonical_type(COLUMNS[name].type)).take(pa.array(rows, pa.int64()))


def in_polars(values: pa.Array) -> pa.Array:
    """Values in the type that Polars, whose expressions make them, has for them."""
    held = pl.DataFrame({"held": pl.from_arrow(values)}).to_arrow()["held"].combine_chunks()
    return held.cast(canonical_type(held.type))


def names_for(engine) -> list[str]:
    return [name for name in COLUMNS if engine.name != "spark" or name not in LACKING]


VERBS = (
    "select", "filter", "with_columns", "join", "join on all", "group_by, first", "group_by, last", "group_by, max",
    "group_by all", "sort", "unique", "pivot", "rolling", "as-of", "union", "explode", "write", "SQL", "query",
)  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_rows_and_types_are_those_that_pyarrow_takes(engine, tmp_path, subtests, verb):
    data = engine.from_arrow(table(names_for(engine)))
    query, rows = verbs(engine, data, tmp_path)[verb]
    made = query().to_arrow()
    assert set(verbs(engine, data, tmp_path)) == set(VERBS)
    for name in names_for(engine):
        shown = f"{name}_1" if verb == "pivot" else name
        if shown in made.schema.names:
            with subtests.test(name):
                column, right = made[shown].combine_chunks(), expected(name, rows)
                right = in_polars(right) if verb in ("pivot", "write") else right
                assert column.type == right.type
                assert column.equals(right), (column, right)


@pytest.mark.spark
def test_frames_of_spark_bring_back_what_they_were_given(engines, subtests):
    engine = engines.get("spark")
    made = engine.from_spark(engine.from_arrow(table(names_for(engine))).to_spark()).to_arrow()
    for name in names_for(engine):
        with subtests.test(name):
            values, column = expected(name, [0, 1, 2, 3]), made[name].combine_chunks()
            assert column.null_count == 4 if name == "no null" else column.cast(values.type).equals(values)


@pytest.mark.spark
def test_a_type_that_spark_lacks_is_refused_by_name_by_every_verb(engines, tmp_path, subtests):
    engine = engines.get("spark")
    for name in LACKING:
        data = engine.from_arrow(table([name]))
        ways = {
            "sort": lambda data=data: data.sort("row"),
            "group_by": lambda data=data, name=name: data.group_by(name).agg(n="len"),
            "join": lambda data=data: data.join(data.select("row"), "row"),
            "rolling": lambda data=data: data.rolling(2, order_by="row").agg(n="len"),
            "SQL": lambda data=data: engine.sql("SELECT * FROM t ORDER BY row", t=data),
            "query": lambda data=data: engine.query(lambda frame: frame, data),
            "to_spark": lambda data=data: data.to_spark(),
        }
        for way, run in ways.items():
            message = "and Spark has no such type"
            with subtests.test(f"{name}, {way}"), pytest.raises(SchemaError, match=message) as told:
                run()
            assert told.value.column == name


@pytest.mark.spark
@pytest.mark.parametrize(
    ("columns", "column"),
    [
        ("1 AS x, 2 AS x", "x"), ("INTERVAL 1 DAY AS i", "i"), ("INTERVAL 1 YEAR AS i", "i"),
        ("parse_json('1') AS v", "v"), ("array(NULL) AS n", "n"),
    ],
)  # fmt: skip
def test_a_frame_of_spark_that_files_cannot_hold_is_refused_by_name(engines, columns, column):
    engine = engines.get("spark")
    with pytest.raises(SchemaError, match=f"column '{column}'") as told:
        engine.from_spark(engine.session.sql(f"SELECT {columns}"))
    assert told.value.column == column


@pytest.mark.spark
def test_names_that_differ_in_case_and_columns_of_void_come_from_spark(engines):
    engine = engines.get("spark")
    made = engine.from_spark(engine.session.sql("SELECT 1 AS a, 2 AS A, NULL AS `a.b`")).to_arrow()
    assert made.to_pydict() == {"a": [1], "A": [2], "a.b": [None]}
    assert made.schema.field("a.b").type == pa.null()


@pytest.mark.spark
def test_keys_of_two_widths_meet_in_an_as_of_join(engines):
    engine = engines.get("spark")
    narrow = pa.table({"key": pa.array(range(40), pa.int32()), "at": [1] * 40})
    wide = pa.table({"key": pa.array(range(40), pa.int64()), "at": [0] * 40, "value": range(40)})
    made = engine.from_arrow(narrow).join_asof(engine.from_arrow(wide), "at", by="key")
    assert made.to_arrow()["value"].to_pylist() == list(range(40))


@pytest.mark.parametrize("zone", ["America/New_York", "America/Sao_Paulo", "UTC"])
def test_days_and_hours_are_those_of_the_zone(engine, zone):
    times = [datetime.datetime(2018, 11, 3, hour, 30, tzinfo=datetime.UTC) for hour in (0, 3, 4, 23)]
    here = [time.astimezone(zoneinfo.ZoneInfo(zone)) for time in times]
    data = engine.from_arrow(pa.table({"row": range(4), "at": pa.array(times, pa.timestamp("us", zone))}))
    made = (
        data.unique("row").with_columns(hour=nw.col("at").dt.hour(), day=nw.col("at").dt.day()).sort("row").to_arrow()
    )
    assert made["hour"].to_pylist() == [time.hour for time in here]
    assert made["day"].to_pylist() == [time.day for time in here]
