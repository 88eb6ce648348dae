"""The generator of mixed columns: something to learn from its rows."""

import mixed
import numpy as np
import polars as pl
import pytest

from tests.data.conftest import frame


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return frame(mixed, 100_000)


def chances(name: str) -> np.ndarray:
    chance = 1 / (np.arange(mixed.SIZES[name]) + 5.0)
    return chance / chance.sum()


def test_columns_have_the_values_that_as_many_draws_should_find(rows: pl.DataFrame) -> None:
    expected = {name: (1 - (1 - chances(name)) ** len(rows)).sum() for name in mixed.SIZES}
    assert {name: rows[name].n_unique() for name in mixed.SIZES} == pytest.approx(expected, rel=0.01)


def test_the_first_category_is_as_frequent_as_the_law_says(rows: pl.DataFrame) -> None:
    shares = {name: rows[name].value_counts()["count"].max() / len(rows) for name in mixed.SIZES}
    assert shares == pytest.approx({name: chances(name)[0] for name in mixed.SIZES}, rel=0.1)


def test_numbers_are_continuous(rows: pl.DataFrame) -> None:
    assert {name: rows[name].n_unique() for name in mixed.NUMBERS} == dict.fromkeys(mixed.NUMBERS, len(rows))


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
