"""WeightOfEvidenceEncoder against its formula and closed forms."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from encoder_values import encoded

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.stages import WeightOfEvidenceEncoder

RNG = np.random.default_rng(23)
N = 500
LETTERS = RNG.choice(list("abcdef"), N)
LABELS = ((LETTERS < "c") ^ (RNG.random(N) < 0.3)).astype(int)
SMALL = pa.table({"c": ["a", "a", "a", "b", "b", None], "label": [1, 1, 0, 0, 0, 1]})


def weights(values, labels, more):
    """Return the weight of each value as category_encoders' source has it."""
    stats = pd.Series(labels).groupby(values).agg(["sum", "count"])
    ones = (stats["sum"] + more) / (np.sum(labels) + 2 * more)
    zeros = (stats["count"] - stats["sum"] + more) / (len(labels) - np.sum(labels) + 2 * more)
    return np.log(ones / zeros), ones - zeros


def test_weights_and_information_value_are_those_of_the_formula(learn, subtests):
    table = pa.table({"c": LETTERS, "label": LABELS})
    for regularization in [1.0, 0.5, 20]:
        with subtests.test(regularization=regularization):
            bound, fitted = learn(WeightOfEvidenceEncoder("c", regularization=regularization), table[:99], table[99:])
            weight, difference = weights(LETTERS, LABELS, regularization)
            made = bound.transform(frames.from_arrow(table), fitted)["c"].to_numpy()
            np.testing.assert_allclose(made, weight[LETTERS], rtol=1e-13)
            assert fitted["information_value"] == {"c": pytest.approx((weight * difference).sum(), rel=1e-12)}


def test_a_null_that_was_not_there_at_fit_is_0_even_if_unseen_values_are_refused(learn):
    learned = learn(WeightOfEvidenceEncoder("c", handle_invalid="error"), SMALL.slice(0, 5))
    assert encoded(learned, None) == [0.0]
    with pytest.raises(DataValueError, match=r"'c' has 2 values .* 1 different ones: 'z' \(2\)"):
        encoded(learned, "a", "z", "z")


def test_a_column_that_is_the_same_in_every_row_tells_nothing(learn, subtests):
    for kind in [pa.string(), pa.int64(), pa.bool_(), pa.null()]:
        with subtests.test(kind=kind):
            bound, fitted = learn(
                WeightOfEvidenceEncoder("c"), pa.table({"c": pa.nulls(4, kind), "label": [1, 0, 0, 1]})
            )
            assert encoded((bound, fitted), None, kind=kind) == [0.0]
            assert fitted["information_value"] == {"c": 0.0}


def test_a_label_that_is_not_binary_is_found_in_its_row(local):
    table = pa.table({"c": ["a", "b", "c"], "label": [0.0, 1.0, 0.5]})
    with pytest.raises(DataValueError, match="'label' has 1 values that are not binary") as caught:
        ps.Pipeline(WeightOfEvidenceEncoder("c")).fit(local.from_arrow(table))
    assert (caught.value.row, caught.value.stage) == (2, "WeightOfEvidenceEncoder")


def test_a_label_of_one_class_is_refused(learn, subtests):
    for label in [0, 1]:
        told = f"'label' has one class, .* 0: {3 - 3 * label}, 1: {3 * label}"
        with subtests.test(label=label), pytest.raises(DataValueError, match=told):
            learn(WeightOfEvidenceEncoder("c"), pa.table({"c": ["a", "b", "b"], "label": [label] * 3}))


def test_a_regularization_that_is_not_positive_is_refused(subtests):
    for value in [0, -1.0, math.inf, math.nan]:
        with subtests.test(value=value), pytest.raises(ConfigError, match="regularization of WeightOfEvidenceEncoder"):
            WeightOfEvidenceEncoder("c", regularization=value)


def test_what_does_not_fit_the_columns_is_refused_before_reading(subtests):
    for stage, error, message in [
        (WeightOfEvidenceEncoder(["c", "label"]), ConfigError, "label 'label' is among the columns"),
        (WeightOfEvidenceEncoder("c", label="text"), SchemaError, "label 'text' is string, but a binary one"),
        (WeightOfEvidenceEncoder("c", fold="text"), SchemaError, "column 'text' of folds is string"),
        (WeightOfEvidenceEncoder("x"), SchemaError, "column 'x' is double"),
    ]:
        with subtests.test(stage=stage), pytest.raises(error, match=message):
            stage.bind(pa.schema({"c": pa.string(), "label": pa.int64(), "text": pa.string(), "x": pa.float64()}))
