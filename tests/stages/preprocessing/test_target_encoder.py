"""TargetEncoder against scikit-learn, MLlib and closed forms."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import sklearn.preprocessing

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.stages import TargetEncoder

RNG = np.random.default_rng(19)
N = 600
LETTERS = RNG.choice(list("abcdefgh"), N, p=np.arange(1, 9) / 36)
NUMBERS = RNG.integers(-3, 4, N)
TARGETS = {
    "binary": (LETTERS < "d") ^ (RNG.random(N) < 0.2),
    "continuous": 1e6 + NUMBERS + RNG.normal(size=N),
    "multiclass": RNG.choice(["u", "v", "w"], N),
}
SMALL = pa.table({"c": ["a", "a", "b", None], "label": [1, 0, 1, 1]})


def encoded(learned, *values, kind=None):
    bound, fitted = learned
    made = bound.transform(frames.from_arrow(pa.table({"c": pa.array(values, kind)})), fitted)
    return made.select(bound.outputs()).rows()


def encoder(target_type, **options):
    classes = ("u", "v", "w") if target_type == "multiclass" else None
    return TargetEncoder(["c", "n"], label="y", target_type=target_type, classes=classes, **options)


@pytest.mark.parametrize("smoothing", [0.0, 7.5])
@pytest.mark.parametrize("target_type", ["binary", "continuous", "multiclass"])
def test_encodings_are_those_of_scikit_learn(learn, target_type, smoothing):
    y = TARGETS[target_type]
    table = pa.table({"c": LETTERS, "n": NUMBERS, "y": y})
    bound, fitted = learn(encoder(target_type, smoothing=smoothing), table.slice(0, 100), table.slice(100))
    made = bound.transform(frames.from_arrow(table), fitted).select(bound.outputs()).to_numpy()
    features = np.column_stack([LETTERS.astype(object), NUMBERS.astype(object)])
    oracle = sklearn.preprocessing.TargetEncoder(target_type=target_type, smooth=smoothing)
    assert np.allclose(made, oracle.fit(features, y).transform(features), rtol=1e-12, atol=0)


@pytest.mark.parametrize("target_type", ["binary", "continuous"])
def test_encodings_are_those_of_mllib(spark, learn, target_type):
    from pyspark.ml.feature import TargetEncoder as Theirs

    values = [0, 1, 1, 2, 2, 2, 3]
    labels = [1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    labels = labels if target_type == "binary" else [3.5 * label + at for at, label in enumerate(labels)]
    data = spark.createDataFrame(list(zip(map(float, values), labels, strict=True)), ["c", "label"]).coalesce(1)
    options = {"targetType": target_type, "smoothing": 2.0, "handleInvalid": "keep"}
    theirs = Theirs(inputCols=["c"], outputCols=["e"], **options).fit(data)
    new = spark.createDataFrame([(float(value),) for value in (*values, 9)], ["c"]).coalesce(1)
    expected = [row.e for row in theirs.transform(new).collect()]
    table = pa.table({"c": values, "label": labels})
    made = encoded(learn(TargetEncoder("c", target_type=target_type, smoothing=2.0), table), *values, 9)
    assert [row[0] for row in made] == pytest.approx(expected, rel=1e-14)


def test_null_has_its_own_mean_and_unseen_values_the_prior(learn):
    learned = learn(TargetEncoder("c", smoothing=1), SMALL)
    prior = 3 / 4
    expected = [(1 + prior) / 3, (1 + prior) / 2, (1 + prior) / 2, prior]
    assert encoded(learned, "a", "b", None, "z") == [(pytest.approx(value, rel=1e-15),) for value in expected]


def test_a_null_that_was_not_there_at_fit_is_the_prior_even_if_unseen_values_are_refused(learn):
    learned = learn(TargetEncoder("c", handle_invalid="error"), SMALL.slice(0, 3))
    assert encoded(learned, None, "b") == [(2 / 3,), (1.0,)]
    with pytest.raises(DataValueError, match=r"'c' has 2 values .* 1 different ones: 'z' \(2\)"):
        encoded(learned, "a", "z", "z")


def test_without_smoothing_the_encoding_is_the_mean_to_the_bit(learn):
    y = RNG.normal(size=7) + 1e8
    learned = learn(TargetEncoder("c", target_type="continuous"), pa.table({"c": ["a"] * 7, "label": y}))
    assert encoded(learned, "a") == [(float(np.sum(y.astype(np.longdouble)) / 7),)]


def test_what_is_learned_is_the_same_to_the_bit_however_the_rows_are_cut(learn):
    table = pa.table({"c": LETTERS, "n": NUMBERS, "y": TARGETS["continuous"]})
    stage = encoder("continuous", smoothing=3.0)
    _, whole = learn(stage, table)
    shuffled = table.take(RNG.permutation(N))
    _, pieces = learn(stage, shuffled.slice(0, 0), shuffled.slice(17), shuffled.slice(0, 17))
    assert pieces == whole


def test_multiclass_adds_a_column_a_class_and_the_others_replace(apply):
    table = pa.table({"c": ["a", "b"], "y": [7, -1]})
    made = apply(TargetEncoder("c", label="y", target_type="multiclass", classes=[7, -1]), table)
    assert made.drop_columns(["y"]).to_pydict() == {"c": ["a", "b"], "c_7": [1.0, 0.0], "c_-1": [0.0, 1.0]}
    assert apply(TargetEncoder("c"), SMALL).schema == pa.schema({"c": pa.float64(), "label": pa.int64()})


@pytest.mark.parametrize("kind", [pa.string(), pa.int64(), pa.bool_(), pa.null()])
def test_a_column_of_nulls_becomes_the_prior(learn, kind):
    learned = learn(TargetEncoder("c"), pa.table({"c": pa.nulls(4, kind), "label": [1, 0, 0, 0]}))
    assert encoded(learned, None, kind=kind) == [(0.25,)]


def test_a_bad_label_is_found_in_its_row(local):
    table = pa.table({"c": ["a", "b", "c"], "label": [0.0, 1.0, 0.5]})
    with pytest.raises(DataValueError, match="'label' has 1 values that are not binary") as caught:
        ps.Pipeline(TargetEncoder("c")).fit(local.from_arrow(table))
    assert (caught.value.row, caught.value.stage) == (2, "TargetEncoder")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"target_type": "multiclass"}, "expected classes for 'multiclass'"),
        ({"classes": [0, 1]}, "expected classes for 'multiclass'"),
        ({"target_type": "regression"}, "target_type"),
        ({"smoothing": -1}, "smoothing .* expected a number >= 0"),
        ({"smoothing": float("inf")}, "smoothing"),
        ({"handle_invalid": "skip"}, "handle_invalid"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ConfigError, match=message):
        TargetEncoder("c", **parameters)


@pytest.mark.parametrize(
    ("stage", "error", "message"),
    [
        (TargetEncoder(["c", "label"]), ConfigError, "label 'label' is among the columns"),
        (TargetEncoder("c", label="text"), SchemaError, "label 'text' is string"),
        (TargetEncoder("c", label="gone"), SchemaError, "'gone' is not in the data"),
        (TargetEncoder("c", target_type="multiclass", classes=["a"]), ConfigError, "different values of type int64"),
        (TargetEncoder("c", target_type="multiclass", classes=[1, 1]), ConfigError, "different values of type int64"),
        (TargetEncoder("c", target_type="multiclass", classes=[1, 2]), ConfigError, "'c_1', which is there already"),
    ],
)
def test_what_does_not_fit_the_columns_is_refused_before_reading(stage, error, message):
    kinds = {"c": pa.string(), "label": pa.int64(), "text": pa.string(), "c_1": pa.int64()}
    with pytest.raises(error, match=message):
        stage.bind(pa.schema(kinds))
