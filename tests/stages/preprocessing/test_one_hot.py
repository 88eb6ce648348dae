"""OneHotEncoder against scikit-learn and the documented table."""

import numpy as np
import pyarrow as pa
import pytest
import sklearn.preprocessing
from encoder_values import rows

from penstock.dataset.steps import prune
from penstock.errors import ConfigError, DataValueError
from penstock.stages import OneHotEncoder
from penstock.stages.step import StageStep

TABLE = pa.table({"c": ["b", "a", "b", "c", None]})


def test_the_columns_are_known_before_fit_and_named_for_places_or_values():
    by_place = OneHotEncoder("c", max_categories=2).bind(TABLE.schema)
    assert by_place.outputs() == ("c_0", "c_1", "c_other", "c_null")
    by_value = OneHotEncoder(["c", "n"], categories=[["x", "y"], [7, -1]], handle_invalid="ignore")
    bound = by_value.bind(pa.schema({"c": pa.string(), "n": pa.int32()}))
    assert bound.outputs() == ("c_x", "c_y", "n_7", "n_-1")
    assert not bound.statistics(TABLE.schema)


def test_error_refuses_unseen_values_and_leaves_null_null(learn):
    learned = learn(OneHotEncoder("c", max_categories=4, handle_invalid="error"), TABLE)
    assert rows(learned, "a", None) == [(0, 1, 0, 0), (None,) * 4]
    with pytest.raises(DataValueError, match=r"'c' has 3 values .* 2 different ones: 'y' \(2\), 'z' \(1\)"):
        rows(learned, "y", "z", "y", "a")


def test_error_refuses_more_values_at_fit_than_there_are_columns(learn):
    with pytest.raises(DataValueError, match="'c' has 3 different values, but max_categories is 2"):
        learn(OneHotEncoder("c", max_categories=2, handle_invalid="error"), TABLE)


def test_given_categories_are_those_of_scikit_learn(learn, subtests):
    for drop in [None, "first"]:
        for values in [["b", "a", "", "b", "é"], [3, -1, 2**62, 3, 0], [True, False, True]]:
            with subtests.test(drop=drop, values=values):
                known = list(dict.fromkeys(values))
                learned = learn(
                    OneHotEncoder("c", categories=[known], drop=drop, handle_invalid="error"), pa.table({"c": values})
                )
                oracle = sklearn.preprocessing.OneHotEncoder(categories=[known], drop=drop, sparse_output=False)
                oracle.fit(np.array(values, object)[:, None])
                assert rows(learned, *values) == [tuple(r) for r in oracle.transform(np.array(values, object)[:, None])]


def test_infrequent_values_share_a_column_as_in_scikit_learn(learn, rng, subtests):
    values = rng.choice(list("abcdefg"), 300, p=np.arange(1, 8) / 28)
    for min_frequency in [1, 40, 0.1]:
        with subtests.test(min_frequency=min_frequency):
            learned = learn(OneHotEncoder("c", max_categories=4, min_frequency=min_frequency), pa.table({"c": values}))
            oracle = sklearn.preprocessing.OneHotEncoder(
                max_categories=5, min_frequency=min_frequency, sparse_output=False, handle_unknown="infrequent_if_exist"
            )
            expected = oracle.fit_transform(values[:, None])
            made = np.array(rows(learned, *values))
            order = np.argsort(learned[1]["categories"]["c"]["value"].to_pylist())
            assert np.array_equal(made[:, [*order, 4]], expected)
            assert not made[:, len(order) : 4].any()


def test_columns_are_int8_and_the_encoded_one_stays(apply):
    made = apply(OneHotEncoder("c", max_categories=1), TABLE)
    assert made.schema == pa.schema({"c": pa.string(), "c_0": pa.int8(), "c_other": pa.int8(), "c_null": pa.int8()})


def test_integers_are_matched_whatever_their_width(learn):
    learned = learn(OneHotEncoder("c", max_categories=2, handle_invalid="ignore"), pa.table({"c": [10, 10, -2]}))
    assert rows(learned, 10, -2, 7, kind=pa.int8()) == [(1, 0), (0, 1), (0, 0)]


def test_a_wanted_column_needs_the_encoded_one_alone(learn):
    bound, fitted = learn(OneHotEncoder("c", max_categories=1), TABLE)
    assert prune([StageStep(bound, fitted, 0)], ["c_0"])[1] == {"c"}


def test_wrong_parameters_are_refused(subtests):
    for parameters, message in [
        ({}, "expected one of them"),
        ({"categories": [["a"]], "max_categories": 2}, "expected one of them"),
        ({"categories": ["a", "b"]}, "expected a list of values for each column"),
        ({"max_categories": 0}, "max_categories .* expected an integer >= 1"),
        ({"max_categories": 2, "min_frequency": 2, "handle_invalid": "error"}, "min_frequency"),
        ({"categories": [["a"]], "min_frequency": 0.1}, "min_frequency"),
        ({"max_categories": 2, "handle_invalid": "skip"}, "handle_invalid"),
        ({"max_categories": 2, "drop": "if_binary"}, "drop"),
    ]:
        with subtests.test(parameters=parameters), pytest.raises(ConfigError, match=message):
            OneHotEncoder("c", **parameters)


def test_categories_that_do_not_fit_are_refused(subtests):
    for categories, message in [
        ([["a"], ["b"]], "has 1 columns but categories of 2"),
        ([[1]], "expected different values of type string"),
        ([["a", "a"]], "expected different values"),
        ([[]], "expected different values"),
        ([["a", "other"]], "makes column 'c_other', which is there already"),
    ]:
        with subtests.test(categories=categories), pytest.raises(ConfigError, match=message):
            OneHotEncoder("c", categories=categories).bind(TABLE.schema)
