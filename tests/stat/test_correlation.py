"""Correlations of values and of ranks against NumPy, scipy and MLlib."""

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from penstock import stat
from penstock.errors import ConfigError, DataValueError, SchemaError

NUMBERS = ("x", "y.z", "n", "b", "label")


def matrix(drawn):
    return np.column_stack([drawn[name].astype(float) for name in NUMBERS])


def test_coefficients_are_numpys_and_scipys_with_ties(data, drawn):
    found = stat.correlation(data, NUMBERS)
    np.testing.assert_allclose(found.matrix, np.corrcoef(matrix(drawn).T), atol=1e-13)
    assert (found.columns, found.rank_error) == (NUMBERS, 0.0)
    found = stat.correlation(data, NUMBERS, method="spearman")
    np.testing.assert_allclose(found.matrix, stats.spearmanr(matrix(drawn)).statistic, atol=1e-13)
    assert found.rank_error == 0.0


@pytest.mark.thorough
def test_ranks_of_very_many_values_are_within_their_bound(local):
    rng = np.random.default_rng(1)
    x = rng.normal(size=200_000)
    y = x + rng.normal(size=len(x))
    found = stat.correlation(local.from_arrow(pa.table({"x": x, "y": y})), ["x", "y"], "spearman")
    assert 0 < found.rank_error < 0.001
    assert found["x", "y"] == pytest.approx(stats.spearmanr(x, y).statistic, abs=14 * found.rank_error)


@pytest.mark.spark
@pytest.mark.parametrize("method", ["pearson", "spearman"])
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_coefficients_are_mllibs(spark, drawn, local, method):
    from pyspark.ml.functions import array_to_vector
    from pyspark.ml.stat import Correlation
    from pyspark.sql.functions import array

    rows = [(float(x), float(n)) for x, n in zip(drawn["x"], drawn["n"], strict=True)]
    frame = spark.createDataFrame(rows, ["x", "n"]).select(array_to_vector(array("x", "n")).alias("v"))
    theirs = Correlation.corr(frame, "v", method).first()[0].toArray()
    found = stat.correlation(local.from_arrow(pa.table(drawn)), ["x", "n"], method)
    np.testing.assert_allclose(found.matrix, theirs, atol=1e-12)


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_a_constant_column_correlates_with_nothing(local, method):
    found = stat.correlation(local.from_arrow(pa.table({"x": [1.0, 2.0], "k": [5, 5]})), ["x", "k"], method)
    assert (found["x", "k"], found["k", "k"], found["x", "x"]) == (None, 1.0, 1.0)
    assert np.isnan(found.matrix[0, 1])


def test_a_frame_has_the_coefficients_by_name(local):
    data = local.from_arrow(pa.table({"column": [1.0, 2.0], "k": [5, 5]}))
    assert stat.correlation(data, ["column", "k"]).to_polars().to_dict(as_series=False) == {
        "column_name": ["column", "k"],
        "column": [1.0, None],
        "k": [None, 1.0],
    }


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_a_null_is_refused_with_its_row(local, method):
    data = local.from_arrow(pa.table({"x": [1.0, 2.0, math.nan], "y": [1, 2, 3]}))
    with pytest.raises(DataValueError, match="column 'x' has 1 values that are null") as caught:
        stat.correlation(data, ["x", "y"], method)
    assert caught.value.row == 2


def test_ranks_of_infinite_numbers_are_known(local):
    data = local.from_arrow(pa.table({"x": [1.0, 2.0, math.inf], "y": [1, 2, 3]}))
    assert stat.correlation(data, ["x", "y"], "spearman")["x", "y"] == pytest.approx(1.0)


def test_no_rows_correlate_with_nothing(local):
    data = local.from_arrow(pa.schema({"x": pa.float64(), "y": pa.int8()}).empty_table())
    for method in ("pearson", "spearman"):
        assert stat.correlation(data, ["x", "y"], method)["x", "y"] is None


def test_what_is_not_known_is_refused(local):
    data = local.from_arrow(pa.table({"x": [1.0, 2.0]}))
    with pytest.raises(ConfigError, match="kendall"):
        stat.correlation(data, "x", "kendall")
    with pytest.raises(SchemaError, match=r"column 'xx' was not correlated.*Did you mean 'x'"):
        stat.correlation(data, "x")["x", "xx"]
