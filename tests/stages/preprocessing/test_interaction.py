"""Interaction against NumPy and closed forms."""

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.core import selectors
from penstock.errors import ConfigError, DataValueError
from penstock.stages import Interaction

GROUPS = [["a", "b"], "c", ["d", "e", "f"]]
X = np.random.default_rng(4).normal(size=(20, 6))
TABLE = pa.table(dict(zip("abcdef", X.T, strict=True)))


def test_every_row_gets_the_kronecker_product_of_its_groups(apply):
    made = apply(Interaction(GROUPS), TABLE)
    assert made.schema.names[6:] == ["a:c:d", "a:c:e", "a:c:f", "b:c:d", "b:c:e", "b:c:f"]
    expected = [np.kron(np.kron(row[:2], row[2:3]), row[3:]) for row in X]
    np.testing.assert_allclose(np.column_stack(made.columns[6:]), expected, rtol=1e-15)


def test_a_column_may_be_in_two_groups(apply):
    assert apply(Interaction(["x", "x"]), pa.table({"x": [3]})).to_pydict() == {"x": [3], "x:x": [9.0]}


def test_a_group_may_be_a_selector():
    stage = Interaction(["a", selectors.numeric() - "a"]).bind(TABLE.schema)
    assert stage.outputs() == ("a:b", "a:c", "a:d", "a:e", "a:f")
    assert Interaction.from_parameters(stage.parameters()) == stage


def test_what_would_overflow_is_refused_with_its_row(local):
    data = local.from_arrow(pa.table({"x": [1.0, 1e200], "y": [1.0, 1e200]}))
    with pytest.raises(DataValueError, match=r"column 'x' has 1 values beyond 1.34e\+154") as caught:
        ps.Pipeline(Interaction(["x", "y"])).fit(data).transform(data).to_arrow()
    assert caught.value.row == 1


def test_fewer_than_two_groups_are_refused(subtests):
    for columns in ["x", ["x"], [["x", "y"]], []]:
        with subtests.test(columns=columns), pytest.raises(ConfigError, match="expected two or more groups"):
            Interaction(columns)


def test_too_many_products_are_refused_before_reading():
    wide = pa.schema({f"x{place}": pa.float64() for place in range(101)})
    with pytest.raises(ConfigError, match="would add 10,201 columns, expected at most 10,000"):
        Interaction([wide.names, wide.names]).bind(wide)
