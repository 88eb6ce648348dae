"""The generator of mixed columns: the same rows however they are asked for, and something to learn from them."""

from __future__ import annotations

from pathlib import Path

import _write
import mixed
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal


def frame(rows: int, seed: int = 0) -> pl.DataFrame:
    return pl.DataFrame(pa.concat_tables(mixed.generate(rows, seed)))


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return frame(100_000)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_write, "CHUNK_ROWS", 100)


def test_another_seed_gives_other_rows() -> None:
    assert not frame(300, 7).equals(frame(300, 8))


@pytest.mark.parametrize("rows", [1, 99, 100, 101, 250])
def test_first_rows_do_not_depend_on_how_many_follow(rows: int, small_chunks: None) -> None:
    assert_frame_equal(frame(rows), frame(320).head(rows), check_exact=True)


def test_file_sizes_do_not_change_the_rows(tmp_path: Path, small_chunks: None) -> None:
    paths = mixed.write(tmp_path / "out", 250, rows_per_file=70, row_group_rows=30)
    assert len(paths) == 4
    assert_frame_equal(pl.concat(pl.DataFrame(pq.read_table(path)) for path in paths), frame(250), check_exact=True)


def test_tables_have_the_schema_and_no_null() -> None:
    (table,) = mixed.generate(200)
    assert table.schema == mixed.SCHEMA
    assert sum(column.null_count for column in table.columns) == 0


def chances(name: str) -> np.ndarray:
    chance = 1 / (np.arange(mixed.SIZES[name]) + 5.0)
    return chance / chance.sum()


@pytest.mark.parametrize("name", list(mixed.SIZES))
def test_columns_have_the_values_that_as_many_draws_should_find(name: str, rows: pl.DataFrame) -> None:
    expected = (1 - (1 - chances(name)) ** len(rows)).sum()
    assert rows[name].n_unique() == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("name", list(mixed.SIZES))
def test_the_first_category_is_as_frequent_as_the_law_says(name: str, rows: pl.DataFrame) -> None:
    most = rows[name].value_counts()["count"].max()
    assert most / len(rows) == pytest.approx(chances(name)[0], rel=0.1)


@pytest.mark.parametrize("name", list(mixed.NUMBERS))
def test_numbers_are_continuous(name: str, rows: pl.DataFrame) -> None:
    assert rows[name].n_unique() == len(rows)


@pytest.mark.thorough
def test_few_factors_of_different_strength_are_behind_the_features(rows: pl.DataFrame) -> None:
    variances = np.linalg.eigvalsh(np.cov(rows.select(mixed.FEATURES).to_numpy().T))[::-1]
    strong, weak = variances[: mixed.FACTORS], variances[mixed.FACTORS :]
    assert (strong[:-1] - strong[1:] > 0.01 * strong[0]).all()
    assert strong[-1] > 5 * weak[0]


def test_labels_follow_the_categories(rows: pl.DataFrame) -> None:
    shares = rows.group_by("c10").agg(pl.col("label").mean())["label"]
    assert set(rows["label"]) == {0, 1}
    assert shares.max() - shares.min() > 0.1  # 10,000 rows of a category have a deviation of 0.005
