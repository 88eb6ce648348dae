"""MissingIndicator against scikit-learn and Imputer's indicators."""

import numpy as np
import pyarrow as pa

from penstock.stages import MissingIndicator

X = np.where(np.random.default_rng(2).random((300, 3)) < [0.3, 0.0, 1.0], np.nan, 1.5)
TABLE = pa.table({name: pa.array(X[:, i], from_pandas=True) for i, name in enumerate("abc")})


def test_columns_of_any_type_are_taken(apply, subtests):
    for values in [["a", None, ""], [False, None, True], [[1], None, []], [b"", None, b"x"], [None, None, None]]:
        with subtests.test(values=values):
            made = apply(MissingIndicator("v"), pa.table({"v": values}))
            assert made["v_missing"].to_pylist() == [value is None for value in values]


def test_output_columns_name_the_results_and_may_replace(apply):
    made = apply(MissingIndicator(["a", "b"], output_columns=["a", "n"]), TABLE)
    assert made.schema.names == ["a", "b", "c", "n"]
    assert made["a"].to_pylist() == np.isnan(X[:, 0]).tolist()
