"""GroupStatistics by hand."""

import pyarrow as pa
import pytest

from penstock import frames
from penstock.errors import ConfigError, SchemaError
from penstock.stages import GroupStatistics

ALL = ("count", "sum", "mean", "std", "min", "max")


def test_what_becomes_of_keys_that_are_unseen_or_null(learn, subtests):
    table = pa.table({"k": ["a", "b", "b", None], "x": [7.0, 1.0, None, 4.0]})
    for handle_invalid, of_unseen, of_single in [
        ("skip", (None, None, None, None), (1, 7.0, 7.0, None)),
        ("keep", (0, 0.0, 4.0, 3.0), (1, 7.0, 7.0, 3.0)),
    ]:
        with subtests.test(handle_invalid=handle_invalid, of_unseen=of_unseen, of_single=of_single):
            stage = GroupStatistics("x", by="k", aggregates=ALL[:4], handle_invalid=handle_invalid)
            bound, fitted = learn(stage, table)
            new = frames.from_arrow(pa.table({"k": ["z", None, "a"], "x": [1.0, 2.0, 3.0]}))
            assert bound.transform(new, fitted).select(bound.outputs()).rows() == [of_unseen, of_unseen, of_single]


def test_a_combination_that_was_not_seen_is_unseen_though_its_parts_were(learn):
    table = pa.table({"k": ["a", "b"], "l": [1, 2], "x": [3.0, 4.0]})
    bound, fitted = learn(GroupStatistics("x", by=["k", "l"], aggregates=["mean"]), table)
    new = pa.table({"k": ["a", "a", "b", None], "l": [1, 2, 2, 1], "x": [0.0] * 4})
    assert bound.transform(frames.from_arrow(new), fitted)["x_mean_by_k_l"].to_list() == [3.0, None, 4.0, None]


def test_null_keys_count_in_what_all_rows_have_in_common(learn):
    table = pa.table({"k": pa.nulls(3, pa.string()), "x": [1.0, 2.0, 6.0]})
    bound, fitted = learn(GroupStatistics("x", by="k", aggregates=["mean"], handle_invalid="keep"), table)
    assert bound.transform(frames.from_arrow(table), fitted)["x_mean_by_k"].to_list() == [3.0] * 3


def test_a_key_widened_after_the_fit_is_the_same_key(learn):
    bound, fitted = learn(GroupStatistics("x", by="k"), pa.table({"k": pa.array([1, 2], pa.int8()), "x": [1.0, 2.0]}))
    wide = frames.from_arrow(pa.table({"k": pa.array([2], pa.int64()), "x": [0.0]}))
    assert bound.transform(wide, fitted)["x_mean_by_k"].to_list() == [2.0]


def test_wrong_parameters_and_columns_are_refused():
    for wrong in ([], ["mean", "mean"], ["median"]):
        with pytest.raises(ConfigError, match="expected some of count, sum, mean, std, min, max"):
            GroupStatistics("x", by="k", aggregates=wrong)
    schema = pa.schema({"k": pa.string(), "x": pa.float64(), "x_mean_by_k": pa.float64()})
    with pytest.raises(ConfigError, match="makes column 'x_mean_by_k', which is there already"):
        GroupStatistics("x", by="k").bind(schema)
    with pytest.raises(SchemaError, match="column 'k' is string, but GroupStatistics takes numbers or booleans"):
        GroupStatistics("k", by="k").bind(schema)
    with pytest.raises(SchemaError, match=r"column 'x' is double, but .* takes strings, integers or booleans to group"):
        GroupStatistics("x", by="x").bind(schema)
