"""PolynomialExpansion against MLlib and closed forms."""

import math
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.errors import ConfigError, DataValueError
from penstock.stages import PolynomialExpansion

NAMES = ["a", "b", "c"]
X = np.random.default_rng(2).normal(size=(50, 3))
TABLE = pa.table(dict(zip(NAMES, X.T, strict=True)))


def added(made: pa.Table) -> dict[str, np.ndarray]:
    return {name: made[name].to_numpy() for name in made.schema.names if name not in NAMES}


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_terms_are_in_the_order_of_mllib(apply, spark: Any):
    from pyspark.ml import feature
    from pyspark.ml.functions import array_to_vector, vector_to_array

    frame = spark.createDataFrame([(row,) for row in X.tolist()], "x array<double>").coalesce(1)
    frame = frame.select(array_to_vector("x").alias("x"))
    frame = feature.PolynomialExpansion(degree=3, inputCol="x", outputCol="p").transform(frame)
    theirs = np.array([row.p for row in frame.select(vector_to_array("p").alias("p")).collect()])
    made = added(apply(PolynomialExpansion(NAMES, 3), TABLE))
    first = [place for place in range(theirs.shape[1]) if any((theirs[:, place] == x).all() for x in X.T)]
    np.testing.assert_allclose(np.column_stack(list(made.values())), np.delete(theirs, first, axis=1), rtol=1e-14)


def test_the_largest_values_allowed_do_not_overflow_and_those_beyond_are_refused(apply):
    for degree in (2, 3, 7):
        largest = sys.float_info.max ** (1 / degree)
        stage = PolynomialExpansion(["x"], degree)
        made = apply(stage, pa.table({"x": [largest * (1 - 2e-12), -largest * (1 - 2e-12)]}))
        assert np.isfinite(made[f"x^{degree}"].to_numpy()).all()
        with pytest.raises(DataValueError, match=rf"column 'x' has 1 values beyond .* a product of {degree}"):
            apply(stage, pa.table({"x": [1.0, -largest * 1.001]}))


def test_too_many_terms_are_refused_before_they_are_named():
    wide = pa.schema({f"x{place}": pa.float64() for place in range(300)})
    with pytest.raises(ConfigError, match="of 300 columns would add 45,150 columns, expected at most 10,000"):
        PolynomialExpansion(wide.names).bind(wide)
    with pytest.raises(ConfigError, match="would add 44,850 columns"):
        PolynomialExpansion(wide.names, interaction_only=True).bind(wide)


def test_a_degree_below_two_is_refused(subtests):
    for degree in [1, 2.0, True]:
        with subtests.test(degree=degree), pytest.raises(ConfigError, match="degree of PolynomialExpansion is"):
            PolynomialExpansion("x", degree)


def test_an_infinity_is_refused_in_a_single_row_beside_a_null_too():
    call = PolynomialExpansion(NAMES, 4).bind(TABLE.schema).row_function(TABLE.schema, {})
    with pytest.raises(DataValueError, match="column 'b' has 1 values beyond"):
        call({"a": None, "b": math.inf, "c": 1.0})
