"""Columns computed of others are those of Polars on every engine, and of one row alone."""

import datetime as dt
from pathlib import Path

import narwhals as nw
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.testing.datasets import restricted

ROWS = 40
TABLE = pa.table(
    {
        "a": pa.array([None if row % 7 == 3 else row - 20 for row in range(ROWS)], pa.int64()),
        "b": pa.array([row % 5 for row in range(ROWS)], pa.int8()),
        "x": pa.array([None if row % 6 == 1 else row / 7 - 2 for row in range(ROWS)]),
        "s": pa.array([None if row % 9 == 2 else f" Note {row} " for row in range(ROWS)]),
        "t": pa.array([dt.datetime(2024, 2, 27) + dt.timedelta(hours=7 * row) for row in range(ROWS)]),
        "l": pa.array([None if row % 5 == 4 else list(range(row % 4)) for row in range(ROWS)]),
        "p": pa.array([{"q": row, "r": f"{row}"} for row in range(ROWS)]),
    }
)
FRAME = pl.DataFrame(TABLE)
COLUMNS: dict[str, tuple[nw.Expr, pl.Expr]] = {
    "total": (nw.col("a") + nw.col("b"), pl.col("a") + pl.col("b")),
    "ratio": (nw.col("x") / nw.col("b"), (pl.col("x") / pl.col("b")).fill_nan(None)),
    "floor": (nw.col("a") // nw.col("b"), pl.col("a") // pl.col("b")),
    "rest": (nw.col("a") % nw.col("b"), pl.col("a") % pl.col("b")),
    "large": (nw.when(nw.col("a") > 0).then(nw.lit("yes")), pl.when(pl.col("a") > 0).then(pl.lit("yes"))),
    "text": (nw.col("s").str.strip_chars().str.to_uppercase(), pl.col("s").str.strip_chars().str.to_uppercase()),
    "hour": (nw.col("t").dt.hour(), pl.col("t").dt.hour()),
    "day": (nw.col("t").dt.date(), pl.col("t").dt.date()),
    "items": (nw.col("l").list.len(), pl.col("l").list.len()),
    "q": (nw.col("p").struct.field("q"), pl.col("p").struct.field("q")),
    "first": (nw.coalesce("a", "b"), pl.coalesce("a", "b")),
}  # fmt: skip


def cut(engine: Engine, table: pa.Table = TABLE, fragment_bytes: int = 1000) -> Dataset:
    """The table in some fragments."""
    return engine.from_arrow(table, fragment_bytes=fragment_bytes)


@pytest.mark.thorough
def test_values_and_types_are_those_of_polars(engine: Engine) -> None:
    made = cut(engine).with_columns({name: pair[0] for name, pair in COLUMNS.items()})
    oracle = FRAME.with_columns(**{name: pair[1] for name, pair in COLUMNS.items()})
    table = made.to_arrow()
    assert table.schema == made.schema
    assert pl.DataFrame(table).equals(oracle)


def test_all_expressions_see_the_columns_from_before() -> None:
    made = cut(ps.LocalEngine(device="cpu")).with_columns(a=nw.col("x"), x=nw.col("a"), y=nw.col("a") + 1)
    assert (
        made.to_arrow()
        .select(["a", "x", "y"])
        .equals(pa.table({"a": TABLE["x"], "x": TABLE["a"], "y": pl.DataFrame(TABLE)["a"] + 1}))
    )


def test_what_has_no_value_is_null_and_infinities_stay() -> None:
    data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [0.0, 1.0], "zero": [0.0, 0.0], "i": [0, 0]}))
    made = data.with_columns(ratio=nw.col("x") / nw.col("zero"), whole=nw.lit(1) // nw.col("i"), rest=1 % nw.col("i"))
    assert made.drop("x", "zero", "i").to_arrow().to_pydict() == {
        "ratio": [None, float("inf")], "whole": [None, None], "rest": [None, None],
    }  # fmt: skip


def test_an_integer_that_its_type_does_not_hold_is_an_error_with_its_row() -> None:
    data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"b": pa.array([1, 100], pa.int8())}))
    with pytest.raises(DataValueError, match=r"b \+ 30 \(column 'b'\) is 130, .* int8 .*row 1"):
        data.with_columns(c=nw.col("b") + 30).to_arrow()


def test_constants_have_the_types_of_arrow() -> None:
    constants = {"i": 3, "x": 0.5, "yes": True, "day": dt.date(2024, 2, 29)}
    table = cut(ps.LocalEngine(device="cpu")).with_columns(constants, text=nw.lit("a")).select(*constants, "text")
    assert table.to_arrow().equals(pa.table({name: [one] * ROWS for name, one in {**constants, "text": "a"}.items()}))


def test_a_column_that_nobody_asks_for_is_neither_read_nor_computed() -> None:
    data = restricted(cut(ps.LocalEngine(device="cpu")), ["a", "b"])
    made = data.with_columns(wrong=nw.col("s").str.to_datetime("%Y"), total=nw.col("a") + 1, other=nw.col("a") * 2)
    assert made.select("total").to_arrow().num_rows == ROWS
    assert made.count() == ROWS
    assert len(made.select("b").scan().plan()[0]) == 0
    assert [step.label for step in made.select("total").scan().plan()[0]] == ["with_columns(total)"]
    assert [step.label for step in made.select("other", "total").scan().plan()[0]] == ["with_columns(total, other)"]


def test_what_depends_on_other_rows_is_refused_with_its_column(subtests: pytest.Subtests) -> None:
    for expression in [
        nw.col("a") - nw.col("a").mean(), nw.col("x").max(), nw.len(), nw.col("x").rank(), nw.col("s").is_duplicated(),
        nw.col("a").sum().over("b"), nw.col("l").list.len().max(), nw.col("t").min(), nw.col("s").n_unique(),
        nw.col("s").str.to_datetime("%Y-%m-%d").max(), nw.col("p").struct.field("q").sum(),
    ]:  # fmt: skip
        told = "column 'new' of with_columns depends on the rows beside it"
        with subtests.test(expression=expression), pytest.raises(SchemaError, match=told):
            cut(ps.LocalEngine(device="cpu")).with_columns(new=expression)


def test_mistakes_are_named_before_anything_is_read(subtests: pytest.Subtests) -> None:
    for columns, kind, match in [
        ({"new": nw.col("absent") + 1}, SchemaError, 'column .new. of with_columns.*"absent"'),
        ({"new": nw.col("a").shift(1)}, SchemaError, "column 'new' of with_columns.*Order-dependent"),
        ({"new": nw.col("s") + 1}, SchemaError, "arithmetic"),
        ({"__row__": nw.col("a")}, SchemaError, "__row__"),
        ({"new": "a"}, ConfigError, "column 'new' of with_columns is str"),
        ({"new": pl.col("a")}, ConfigError, "expected an expression of Narwhals"),
        ({}, ConfigError, "no column"),
    ]:
        with subtests.test(columns=columns), pytest.raises(kind, match=match):
            cut(ps.LocalEngine(device="cpu")).with_columns(columns)


def test_a_value_that_an_expression_cannot_take_is_named_with_file_and_row(tmp_path: Path) -> None:
    for place, texts in enumerate((["2024-01-01"] * 5, ["2024-01-02"] * 3 + ["soon", "2024-01-03"])):
        pq.write_table(pa.table({"s": texts}), tmp_path / f"{place}.parquet")
    data = ps.LocalEngine(device="cpu").read_parquet(tmp_path, allow_unmanifested=True)
    with pytest.raises(DataValueError, match=r"with_columns\(day\) raised") as caught:
        data.with_columns(text=nw.col("s"), day=nw.col("s").str.to_date("%Y-%m-%d")).to_arrow()
    assert (caught.value.place["path"], caught.value.row) == (str(tmp_path / "1.parquet"), 3)
    assert caught.value.place["stage"] == "with_columns(day)"


@pytest.mark.thorough
def test_row_numbers_survive_so_that_splits_after_it_are_those_before_it(local: Engine) -> None:
    data = cut(local)
    before = [part.to_arrow()["t"].to_pylist() for part in data.split([1, 1], seed=3)]
    made = data.with_columns(later=nw.col("t") + dt.timedelta(1)).rename({"t": "at"})
    assert [part.to_arrow()["at"].to_pylist() for part in made.split([1, 1], seed=3)] == before
    assert [fold.validation.count() for fold in made.folds(4, stratify="b")] == [10, 10, 10, 10]


def test_a_pipeline_learns_from_computed_columns(local: Engine) -> None:
    data = cut(local).with_columns(total=nw.col("a") + nw.col("b"))
    model = ps.Pipeline(st.Imputer("total")).fit(data)
    assert model.transform(data).to_arrow()["total"].null_count == 0
