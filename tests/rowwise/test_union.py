"""Rows of several datasets as those of one: numbered on, in types that hold all, errors naming their own files."""

import datetime as dt
from pathlib import Path

import narwhals as nw
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, SchemaDriftError
from penstock.testing.datasets import count_reads, cut, restricted

FIRST = pa.table({"id": pa.array(range(30), pa.int32()), "x": [row / 4 for row in range(30)], "s": ["a"] * 30})
SECOND = pa.table({"s": ["b"] * 20, "id": pa.array(range(30, 50), pa.int64()), "x": pa.array([None] * 20, pa.null())})
WHOLE = pa.concat_tables([FIRST.cast(pa.schema({"id": pa.int64(), "x": pa.float64(), "s": pa.string()})),
                          SECOND.select(["id", "x", "s"])], promote_options="default")  # fmt: skip


def two(engine: Engine) -> Dataset:
    """Two tables in several fragments each."""
    first = engine.from_arrow(FIRST, fragment_bytes=400)
    return first.union(engine.from_arrow(SECOND, fragment_bytes=400))


def test_rows_of_the_first_come_first_in_types_that_hold_all(engine: Engine) -> None:
    made = two(engine)
    assert made.schema == WHOLE.schema
    assert made.to_arrow().equals(WHOLE)
    assert made.count() == 50


def test_files_of_several_formats_and_steps_of_their_own_are_one(local: Engine, tmp_path: Path) -> None:
    pq.write_table(FIRST, tmp_path / "a.parquet")
    pacsv.write_csv(SECOND, tmp_path / "b.csv")
    old = local.read_parquet(tmp_path / "a.parquet").filter(nw.col("id") >= 25)
    new = local.read_csv(tmp_path / "b.csv", schema={"s": "string", "id": "int64", "x": "float64"})
    listed = local.from_arrow(pa.table({"id": [50, 51], "l": [[1.5, 2.5], None]})).explode("l").rename({"l": "x"})
    made = old.union(new.with_columns(s=nw.lit("c")), listed.with_columns(s=nw.col("id").cast(nw.String)))
    rows = made.to_arrow().to_pylist()
    assert [row["id"] for row in rows] == [*range(25, 50), 50, 50, 51]
    assert [row["s"] for row in rows] == ["a"] * 5 + ["c"] * 20 + ["50", "50", "51"]
    assert made.count() == 28
    result = made.write(tmp_path / "out")
    assert (result.read, result.rows, result.dropped) == (52, 28, {"filter": 25, "explode(l)": -1})


@pytest.mark.thorough
def test_splits_and_folds_deal_the_rows_as_those_of_one_table(local: Engine) -> None:
    made, whole = two(local), local.from_arrow(WHOLE, fragment_bytes=700)
    for ours, theirs in zip(made.split([3, 1], seed=5), whole.split([3, 1], seed=5), strict=True):
        assert ours.to_arrow().equals(theirs.to_arrow())
        assert ours.count() == theirs.count()
    for ours, theirs in zip(made.folds(3, stratify="s"), whole.folds(3, stratify="s"), strict=True):
        assert ours.validation.to_arrow().equals(theirs.validation.to_arrow())
    assert made.sample(n=7, seed=2).to_arrow().equals(whole.sample(n=7, seed=2).to_arrow())


def test_a_lag_reaches_from_the_second_into_the_first(local: Engine) -> None:
    made = two(local).lag("id", by=[], order_by=[]).to_arrow()["id_lag_1"].to_pylist()
    assert made == [None, *range(49)]


@pytest.mark.thorough
def test_a_model_fitted_on_a_union_is_that_of_the_table_cut_alike(local: Engine) -> None:
    pipeline = ps.Pipeline(st.Imputer("x"), st.StringIndexer("s"), st.StandardScaler(["x", "id"]))
    made, whole = two(local), cut(local, WHOLE, [each.rows for each in two(local).fragments])
    assert pipeline.fit(made).digest == pipeline.fit(whole).digest


def test_the_same_dataset_may_come_several_times() -> None:
    data = ps.LocalEngine(device="cpu").from_arrow(FIRST, fragment_bytes=400).filter(nw.col("id") < 3)
    made = data.union(data, data)
    assert made.to_arrow()["id"].to_pylist() == [0, 1, 2] * 3
    assert made.union(made).filter(nw.col("id") == 1).count() == 6


def test_parts_of_a_split_go_together_again() -> None:
    data = ps.LocalEngine(device="cpu").from_arrow(WHOLE, fragment_bytes=700)
    train, test = data.split([1, 1], seed=1)
    made = train.union(test)
    assert sorted(made.to_arrow()["id"].to_pylist()) == list(range(50))
    assert made.count() == 50
    again = [part.to_arrow()["id"].to_pylist() for part in made.split([1, 1], seed=1)]
    assert set(again[0]) != set(train.to_arrow()["id"].to_pylist())  # not dealt as before
    assert sorted(again[0] + again[1]) == list(range(50))


@pytest.mark.thorough
def test_folds_of_a_union_of_folds_are_dealt_anew() -> None:
    data = ps.LocalEngine(device="cpu").from_arrow(WHOLE, fragment_bytes=700)
    fold = data.folds(2, stratify="s")[0]
    made = fold.train.union(fold.validation)
    parts = [set(each.validation.to_arrow()["id"].to_pylist()) for each in made.folds(2, stratify="s")]
    assert parts[0] | parts[1] == set(range(50))
    assert not parts[0] & parts[1]
    assert set(fold.validation.to_arrow()["id"].to_pylist()) not in parts


def test_an_error_names_the_file_and_the_row_in_it(tmp_path: Path) -> None:
    engine = ps.LocalEngine(device="cpu")
    pq.write_table(pa.table({"s": ["1", "2"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"s": ["3", "x"]}), tmp_path / "b.parquet")
    first, second = (engine.read_parquet(tmp_path / name) for name in ("a.parquet", "b.parquet"))
    after = first.union(second).cast({"s": "int8"})
    before = first.union(second.cast({"s": "int8"}).cast({"s": "string"}))
    for data in (after, before):
        with pytest.raises(DataValueError, match="does not hold: 'x'") as caught:
            data.to_arrow()
        assert (caught.value.place["path"], caught.value.row) == (str(tmp_path / "b.parquet"), 1)


def test_what_is_persisted_stays_so_and_a_union_can_be() -> None:
    engine = ps.LocalEngine(device="cpu")
    data, source = count_reads(engine.from_arrow(FIRST, fragment_bytes=400))
    held = data.filter(nw.col("id") < 10).persist(memory="64MiB")
    made = held.union(held.with_columns(x=nw.col("x") + 1))
    first = made.to_arrow()
    seen = len(source.reads)
    assert made.to_arrow().equals(first)
    assert len(source.reads) == seen
    kept = data.union(data).persist(memory="64MiB")
    kept.to_arrow()
    seen = len(source.reads)
    assert kept.to_arrow()["id"].to_pylist() == [*range(30), *range(30)]
    assert [part.count() for part in kept.split([1, 1], seed=3)] == [
        part.count() for part in data.union(data).split([1, 1], seed=3)
    ]
    assert len(kept.unpersist().to_arrow()) == 60


def test_nothing_but_the_columns_asked_for_is_read_of_any() -> None:
    engine = ps.LocalEngine(device="cpu")
    first, second = engine.from_arrow(FIRST), engine.from_arrow(SECOND)
    made = restricted(first, ["id"]).union(restricted(second, ["id"]))
    assert made.select("id").to_arrow()["id"].to_pylist() == list(range(50))


def test_a_column_that_some_lack_is_null_there() -> None:
    engine = ps.LocalEngine(device="cpu")
    day = dt.date(2024, 2, 29)
    old, new = engine.from_arrow(pa.table({"id": [1]})), engine.from_arrow(pa.table({"day": [day], "id": [2]}))
    made = old.union(new, missing_columns="null")
    assert made.to_arrow().to_pylist() == [{"id": 1, "day": None}, {"id": 2, "day": day}]
    assert made.select("day").to_arrow()["day"].to_pylist() == [None, day]


def test_what_does_not_go_together_is_refused(subtests: pytest.Subtests) -> None:
    engine = ps.LocalEngine(device="cpu")
    for other, kind, match in [
        (pa.table({"id": [1]}), SchemaDriftError, "column 'x' is not in dataset 2 of the union"),
        (FIRST.append_column("z", FIRST["s"]), SchemaDriftError, "column 'z' is not in dataset 1 of the union"),
        (FIRST.set_column(1, "x", FIRST["s"]), SchemaDriftError, "'x' is double in dataset 1 .* string in dataset 2"),
        (FIRST.set_column(0, "id", FIRST["x"]), SchemaDriftError, "'id' is int32 in dataset 1"),
        (None, ConfigError, "no other dataset"),
        (FIRST, ConfigError, "takes datasets, found pyarrow"),
    ]:
        with subtests.test(other=other, kind=kind):
            others = [] if other is None else [other if kind is ConfigError else engine.from_arrow(other)]
            with pytest.raises(kind, match=match):
                engine.from_arrow(FIRST).union(*others)
