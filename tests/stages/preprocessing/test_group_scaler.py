"""GroupScaler by hand."""

import math

import pyarrow as pa
import pytest

from penstock import frames
from penstock.errors import ConfigError, SchemaError
from penstock.stages import GroupScaler

METHODS = {"standard": lambda x: (x - x.mean()) / x.std(), "minmax": lambda x: (x - x.min()) / (x.max() - x.min())}


def test_a_group_that_is_unseen_or_has_no_value_is_left_null_or_scaled_by_all_rows(learn, subtests):
    table = pa.table({"k": ["a", "a", "b", None], "x": [1.0, 3.0, None, 8.0]})
    for handle_invalid in ["skip", "keep"]:
        for method in METHODS:
            with subtests.test(handle_invalid=handle_invalid, method=method):
                bound, fitted = learn(GroupScaler("x", by="k", method=method, handle_invalid=handle_invalid), table)
                new = frames.from_arrow(pa.table({"k": ["b", "z", None, None], "x": [4.0, 4.0, 4.0, None]}))
                middle = (
                    {"standard": 0.0, "minmax": pytest.approx(3 / 7, rel=1e-15)}[method]
                    if handle_invalid == "keep"
                    else None
                )
                assert bound.transform(new, fitted)["x"].to_list() == [middle, middle, middle, None]


def test_a_group_of_equal_values_has_no_scale(learn, subtests):
    table = pa.table({"k": [1, 1, 1, 2], "x": [0.1, 0.1, None, 5.0]})
    for method, middle in [("standard", 0.0), ("minmax", 0.5)]:
        with subtests.test(method=method, middle=middle):
            bound, fitted = learn(GroupScaler("x", by="k", method=method), table)
            new = frames.from_arrow(pa.table({"k": [1, 1, 1, 2], "x": [0.1, math.inf, None, -3.0]}))
            assert bound.transform(new, fitted)["x"].to_list() == [middle, middle, None, middle]


def test_the_largest_value_of_a_group_is_one_and_the_smallest_nothing_to_the_bit(apply):
    groups = {f"k{n}": [n / 7, n / 7 + 0.1 * n] for n in range(1, 400)}
    table = pa.table({"k": [k for k in groups for _ in range(2)], "x": [x for pair in groups.values() for x in pair]})
    assert apply(GroupScaler("x", by="k", method="minmax"), table)["x"].to_pylist() == [0.0, 1.0] * len(groups)


def test_wrong_parameters_and_columns_are_refused():
    schema = pa.schema({"k": pa.string(), "x": pa.float64()})
    with pytest.raises(ConfigError, match="Did you mean 'minmax'"):
        GroupScaler("x", by="k", method="minmx")
    with pytest.raises(ConfigError, match="1 columns but 2 output_columns"):
        GroupScaler("x", by="k", output_columns=["a", "b"]).bind(schema)
    with pytest.raises(SchemaError, match="column 'k' is string, but GroupScaler takes numbers or booleans"):
        GroupScaler("k", by="k").bind(schema)


def test_a_key_may_have_any_name(apply):
    made = apply(
        GroupScaler("value_0", by="shift_0", method="minmax"), pa.table({"shift_0": [7, 7], "value_0": [2, 4]})
    )
    assert made.to_pydict() == {"shift_0": [7, 7], "value_0": [0.0, 1.0]}
