"""MissingIndicator against scikit-learn and Imputer's indicators."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import sklearn.impute

import penstock as ps
from penstock.errors import ConfigError, SchemaError
from penstock.stages import Imputer, MissingIndicator

X = np.where(np.random.default_rng(2).random((300, 3)) < [0.3, 0.0, 1.0], np.nan, 1.5)
TABLE = pa.table({name: pa.array(X[:, i], from_pandas=True) for i, name in enumerate("abc")})


def test_agrees_with_scikit_learn_where_that_tells_of_all_columns(apply):
    made = apply(MissingIndicator(["a", "b", "c"]), TABLE)
    oracle = sklearn.impute.MissingIndicator(features="all").fit_transform(X)
    np.testing.assert_array_equal(np.column_stack([made[f"{name}_missing"] for name in "abc"]), oracle)


def test_names_and_values_are_those_of_imputers_own_indicators(local):
    data = local.from_arrow(TABLE.select(["a", "b"]))
    alone, beside = (
        ps.Pipeline(stage).fit(data).transform(data).to_arrow()
        for stage in (MissingIndicator(["a", "b"]), Imputer(["a", "b"], add_indicator=True))
    )
    assert alone.schema.names == beside.schema.names
    assert alone.select(["a_missing", "b_missing"]).equals(beside.select(["a_missing", "b_missing"]))


def test_the_columns_themselves_stay(apply):
    assert apply(MissingIndicator(["a", "c"]), TABLE).select(["a", "b", "c"]).equals(TABLE)


@pytest.mark.parametrize(
    "values",
    [["a", None, ""], [False, None, True], [[1], None, []], [b"", None, b"x"], [None, None, None]],
    ids=str,
)
def test_columns_of_any_type_are_taken(apply, values):
    made = apply(MissingIndicator("v"), pa.table({"v": values}))
    assert made["v_missing"].to_pylist() == [value is None for value in values]


def test_output_columns_name_the_results_and_may_replace(apply):
    made = apply(MissingIndicator(["a", "b"], output_columns=["a", "n"]), TABLE)
    assert made.schema.names == ["a", "b", "c", "n"]
    assert made["a"].to_pylist() == np.isnan(X[:, 0]).tolist()


def test_an_empty_partition_works(apply):
    assert apply(MissingIndicator("a"), TABLE.slice(0, 0)).num_rows == 0


def test_a_name_that_is_taken_is_refused_before_reading():
    with pytest.raises(ConfigError, match="MissingIndicator adds 'a_missing', but there is a column of that name"):
        MissingIndicator("a").bind(pa.schema({"a": pa.int64(), "a_missing": pa.int64()}))


def test_a_missing_column_is_refused_before_reading():
    with pytest.raises(SchemaError, match="'z'"):
        MissingIndicator("z").bind(TABLE.schema)
