"""Correlations of columns with nulls against pandas, NumPy and exact arithmetic."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from gathering import cut, gathered

from penstock.statistics.pairwise_moments import PairwiseMoments


def products(columns, size=97):
    table = pa.table(columns)
    return gathered(PairwiseMoments(tuple(columns)), *cut(table, *range(size, len(table), size)))


def sample(rows=500, columns=5, gone=0.2, offset=0.0):
    rng = np.random.default_rng(columns)
    values = offset + rng.normal(size=(rows, columns)) @ rng.normal(size=(columns, columns))
    values[:, 1:][rng.uniform(size=(rows, columns - 1)) < gone] = np.nan
    return {f"x{place}": values[:, place] for place in range(columns)}


@pytest.mark.parametrize("gone", [0.0, 0.3])
def test_correlations_are_those_of_pandas(gone):
    for size, rows in [(1, 60), (97, 500), (500, 500)]:
        columns = sample(rows, gone=gone)
        np.testing.assert_allclose(products(columns, size).correlation(), pd.DataFrame(columns).corr(), rtol=1e-12)
    columns = {"x": [None, None, 1.0, 2.0, 4.0, None], "y": [1.0, 2.0, None, 5.0, 1.0, 3.0]}  # parts without values
    np.testing.assert_allclose(products(columns, 2).correlation(), pd.DataFrame(columns).corr(), rtol=1e-12)


def test_rows_that_have_both_are_counted():
    known = pd.DataFrame(sample()).notna().to_numpy().astype(int)
    assert products(sample()).count.tolist() == (known.T @ known).tolist()


def test_means_and_squares_are_those_of_the_rows_that_have_both():
    columns, found = sample(), products(sample())
    both = ~np.isnan(columns["x1"]) & ~np.isnan(columns["x2"])
    assert found.mean[1, 2] == pytest.approx(columns["x1"][both].mean(), rel=1e-12)
    assert found.squares[1, 2] == pytest.approx(columns["x1"][both].var() * both.sum(), rel=1e-12)
    assert found.squares[2, 1] == pytest.approx(columns["x2"][both].var() * both.sum(), rel=1e-12)


def test_columns_far_from_zero_lose_nothing():
    columns = sample(offset=1e8)
    near = pd.DataFrame({name: values - 1e8 for name, values in columns.items()})  # exact: the numbers are close
    np.testing.assert_allclose(products(columns).correlation(), near.corr(), rtol=1e-12)


def test_infinite_numbers_are_left_out_as_nulls_are():
    found = products({"x": [1.0, 2.0, 3.0, math.inf, 5.0], "y": [2.0, 4.0, 6.5, 1.0, None]})
    assert found.correlation()[0, 1] == pytest.approx(np.corrcoef([1, 2, 3], [2, 4, 6.5])[0, 1], rel=1e-12)


def test_a_constant_has_no_correlation_also_in_the_rows_that_both_have():
    matrix = products(
        {"x": [0.1] * 9, "y": range(9), "z": [7.1, 7.1, *[None] * 6, 3.0], "w": [1, 2, *[None] * 7]}
    ).correlation()
    assert np.isnan(matrix[0]).all()
    assert np.isnan(matrix[2, 3])
    assert matrix[1, 1] == 1.0


def test_of_no_rows_nothing_is_known():
    found = products({"x": pa.array([], pa.float64()), "y": pa.array([], pa.int8())})
    assert found.count.tolist() == [[0, 0], [0, 0]]
    assert np.isnan(found.correlation()).all()
