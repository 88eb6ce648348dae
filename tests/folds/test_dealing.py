"""Folds part the rows of a dataset: the same rows whatever the way, the partitions, the steps before and the engine."""

import datetime
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.core.names import BLOCK
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, EmptyInputError, SchemaError
from penstock.frames import ROW
from penstock.statistics import Folded, ValueCounts

ROWS = 240
RANDOM = np.random.default_rng(5)
DAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(days=int(day)) for day in RANDOM.integers(0, 90, ROWS)]
TABLE = pa.table(
    {
        "row": range(ROWS),
        "label": pa.array([None if row % 11 == 0 else "ab"[row % 7 == 0] for row in range(ROWS)]),
        "shop": pa.array(RANDOM.integers(0, 25, ROWS), pa.int16()),
        "day": pa.array(DAYS),
        "fold": pa.array(RANDOM.integers(0, 4, ROWS), pa.uint8()),
    }
)
WAYS: dict[str, dict[str, Any]] = {
    "row": {"seed": 3},
    "by": {"by": "fold"},
    "stratify": {"stratify": "label", "seed": 3},
    "group": {"group": ["shop", "label"], "seed": 3},
    "time": {"time": "day", "gap": datetime.timedelta(days=2)},
}
way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def cut(engine: Engine, fragment_bytes: int = 3000, table: pa.Table = TABLE) -> Dataset:
    return engine.from_arrow(table, fragment_bytes=fragment_bytes)


def rows_of(data: Dataset) -> list[int]:
    return data.to_arrow()["row"].to_pylist()


def rows_of_folds(data: Dataset, num_folds: int = 4, **how: Any) -> list[tuple[list[int], list[int]]]:
    return [(rows_of(fold.train), rows_of(fold.validation)) for fold in data.folds(num_folds, **how)]


@pytest.mark.thorough
@way
def test_folds_part_the_rows_the_same_for_other_fragments_and_are_of_filtered_rows_alone(local, way):
    folds = rows_of_folds(cut(local), **way)
    assert folds == rows_of_folds(cut(local, 10**9), **way)
    filtered = rows_of_folds(cut(local).filter(nw.col("row") % 3 > 0), **way)
    assert all(row % 3 for train, held in filtered for row in train + held)
    if "time" in way:
        return
    for made, rows in [(folds, list(range(ROWS))), (filtered, [row for row in range(ROWS) if row % 3])]:
        assert sorted(row for _, held in made for row in held) == rows
        for train, held in made:
            assert held
            assert sorted(train + held) == rows
            assert train == sorted(train)


@way
def test_folds_are_the_same_rows_on_every_engine(distributed_engine, local, way):
    there, here = (cut(engine).folds(4, **way)[2] for engine in (distributed_engine, local))
    for part in ("train", "validation"):
        assert rows_of(getattr(there, part)) == rows_of(getattr(here, part))


@pytest.mark.thorough
@way
def test_a_fold_is_a_dataset_like_any_other_and_need_not_have_the_columns_it_goes_by(local, way, tmp_path):
    data = cut(local)
    fold = data.folds(4, **way)[1]
    for part in (fold.train, fold.validation):
        table = part.to_arrow()
        assert table.schema == data.schema
        assert part.count() == len(table) == part.write_parquet(tmp_path / "out", overwrite=True).rows
        assert local.read_parquet(tmp_path / "out").to_arrow() == table
        assert part.filter(nw.col("label") == "a").count() == table["label"].to_pylist().count("a")
        assert rows_of(part.select("row")) == table["row"].to_pylist()


# Folds of folds


@pytest.mark.thorough
@pytest.mark.parametrize("inner", [WAYS[name] for name in ("row", "stratify", "group")])
def test_folds_of_a_training_set_part_its_rows(local, inner, subtests):
    for name, outer in WAYS.items():
        with subtests.test(name):
            train = cut(local, 10**9).folds(4, **outer)[3].train
            folds, rows = rows_of_folds(train, 2, **inner), rows_of(train)
            assert sorted(row for _, held in folds for row in held) == rows
            assert all(sorted(kept + held) == rows for kept, held in folds)


@pytest.mark.thorough
@pytest.mark.parametrize("how", [{}, {"stratify": "label"}, {"group": "row"}])
def test_folds_of_folds_with_one_seed_are_dealt_anew(local, how):
    rows = 4000
    table = pa.table({"row": range(rows), "label": ["ab"[row % 2] for row in range(rows)]})
    outer = cut(local, 10**9, table).folds(4, seed=9, **how)
    inner = outer[0].train.folds(4, seed=9, **how)
    for place in range(1, 4):
        held = set(rows_of(outer[place].validation))
        shared = [len(held & set(rows_of(fold.validation))) for fold in inner]
        assert sum(shared) == len(held)
        assert max(shared) < 0.35 * len(held)


def test_statistics_of_a_fold_of_a_fold_are_those_of_its_rows(local):
    data = cut(local).folds(4, seed=1)[0].train.folds(3, seed=1)[2].train
    counts = ValueCounts(("row",))
    (state,), log = data.gather([counts])
    assert sorted(counts.finish(state)["row"].table["value"].to_pylist()) == rows_of(data)
    assert log.kept == len(rows_of(data))


# The folds of stages


@pytest.mark.thorough
def test_folds_by_row_are_those_that_statistics_of_folds_are_gathered_over(local):
    data = cut(local)
    folded = Folded.of([ValueCounts(("row",))], num_folds=4, seed=3)
    (state,), _ = data.gather([folded])
    result = folded.finish(state)
    for fold in data.folds(4, seed=3):
        (held,), (rest,) = result["held out", fold.index], result["rest", fold.index]
        assert sorted(held["row"].table["value"].to_pylist()) == rows_of(fold.validation)
        assert sorted(rest["row"].table["value"].to_pylist()) == rows_of(fold.train)


# A column of folds


def test_folds_by_column_are_the_values_of_the_column(local):
    for fold in cut(local).folds(4, by="fold"):
        assert set(fold.validation.to_arrow()["fold"].to_pylist()) == {fold.index}


def test_a_value_that_is_no_fold_is_told_with_count_file_and_row(local, tmp_path):
    for name, values in (("a", [0, 1, 2]), ("b", [1, None, 7])):
        pq.write_table(pa.table({"fold": pa.array(values, pa.int32())}), tmp_path / f"{name}.parquet")
    data = local.read_parquet(tmp_path, allow_unmanifested=True)
    with pytest.raises(DataValueError, match="'fold' has 3 values that are no fold, expected 0 to 1") as caught:
        data.folds(2, by="fold")
    assert (caught.value.path, caught.value.row, caught.value.rows) == (str(tmp_path / "a.parquet"), 2, 3)


def test_a_fold_that_no_row_is_in_is_refused(local):
    with pytest.raises(EmptyInputError, match="fold 2 of 3 has no row to validate with"):
        local.from_arrow(pa.table({"fold": [0, 1, 1]})).folds(3, by="fold")


# What is refused before any work


def test_what_cannot_be_folds_is_refused(local, subtests):
    for num_folds, how, error, problem in [
        *((wrong, {}, ConfigError, r"num_folds is .*, expected an integer of at least 2")
          for wrong in (1, 0, -2, True, 2.0, "5", None)),
        (1001, {}, ConfigError, "num_folds is 1001, expected at most 1000"),
        *((3, {"seed": seed}, ConfigError, r"seed is .*, expected an integer") for seed in (1.5, None, "1")),
        *((3, {way: "labl"}, SchemaError, r"'labl' is not in the data\. Did you mean 'label'")
          for way in ("by", "stratify", "group", "time")),
        (3, {"stratify": "label", "group": "shop"}, ConfigError,
         "by one of by, stratify, group, time, found stratify and group"),
        *((3, {"stratify": "label", **how}, ConfigError, "which is for folds by time")
          for how in ({"gap": 3}, {"window": "sliding"}, {"horizon": 1})),
        (3, {"by": "label"}, SchemaError, "'label' is string, expected integers"),
    ]:  # fmt: skip
        with subtests.test(problem, num_folds=num_folds, how=how), pytest.raises(error, match=problem):
            cut(local).folds(num_folds, **how)


def test_what_folds_are_is_told_in_a_few_words(local):
    for how in ({}, {"stratify": "label"}, {"group": "row"}):
        assert len(repr(cut(local).folds(2, **how))) < 1000


def test_rows_without_numbers_have_no_folds_by_them(local):
    made = cut(local).map_partitions(lambda frame: frame, TABLE.schema)
    for how in ({}, {"stratify": "label"}):
        with pytest.raises(ConfigError, match="rows have no numbers after"):
            made.folds(3, **how)


@pytest.mark.thorough
def test_rows_without_numbers_have_folds_by_group(local):
    made = cut(local).map_partitions(lambda frame: frame, TABLE.schema)
    assert rows_of_folds(made, group="shop") == rows_of_folds(cut(local), group="shop")


def test_fewer_rows_than_folds_are_refused(local, subtests):
    for how in ({}, {"by": "fold"}, {"stratify": "label"}, {"group": "shop"}, {"time": "day"}):
        for rows in (0, 1, 3):
            with subtests.test(how=how, rows=rows), pytest.raises((EmptyInputError, DataValueError)):
                cut(local, table=TABLE.slice(0, rows)).folds(4, **how)


def test_hidden_columns_are_not_for_users(local):
    fold = cut(local).folds(4)[0]
    assert not {BLOCK, ROW} & {*fold.train.columns, *fold.train.head().columns, *fold.train.to_pandas().columns}
    with pytest.raises(SchemaError):
        fold.train.select(BLOCK)


# Records that are no rows


@pytest.mark.thorough
def test_a_record_that_cannot_be_parsed_is_in_no_fold_and_in_the_quarantine(local, tmp_path):
    lines = ["row,label", *(f"{row},a" for row in range(30)), "x,a", *(f"{row},b" for row in range(30, 60))]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    data = local.read_csv(tmp_path / "data.csv", schema={"row": "int64", "label": "string"}, max_bad_records=1)
    for how in ({}, {"stratify": "label"}):
        folds = data.folds(3, **how)
        assert sorted(row for fold in folds for row in rows_of(fold.validation)) == list(range(60))
        result = folds[1].validation.write_parquet(tmp_path / "out", overwrite=True)
        assert (result.read, sum(result.quarantined.values())) == (result.rows + 1, 1)
        assert local.read_parquet(f"{tmp_path}/out.quarantine").count() == 1
