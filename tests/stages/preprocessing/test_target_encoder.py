"""TargetEncoder against scikit-learn and closed forms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest
import sklearn.preprocessing
from encoder_values import rows

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.spmd import Rank
from penstock.stages import TargetEncoder
from penstock.stages.base import Fitted
from penstock.stages.trainer import Trainer

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


def encoder(target_type, **options):
    classes = ("u", "v", "w") if target_type == "multiclass" else None
    return TargetEncoder(["c", "n"], label="y", target_type=target_type, classes=classes, **options)


def test_encodings_are_those_of_scikit_learn(learn, subtests):
    for smoothing in [0.0, 7.5]:
        for target_type in ["binary", "continuous", "multiclass"]:
            with subtests.test(smoothing=smoothing, target_type=target_type):
                y = TARGETS[target_type]
                table = pa.table({"c": LETTERS, "n": NUMBERS, "y": y})
                bound, fitted = learn(encoder(target_type, smoothing=smoothing), table.slice(0, 100), table.slice(100))
                made = bound.transform(frames.from_arrow(table), fitted).select(bound.outputs()).to_numpy()
                features = np.column_stack([LETTERS.astype(object), NUMBERS.astype(object)])
                oracle = sklearn.preprocessing.TargetEncoder(target_type=target_type, smooth=smoothing)
                assert np.allclose(made, oracle.fit(features, y).transform(features), rtol=1e-12, atol=0)


def test_a_null_that_was_not_there_at_fit_is_the_prior_even_if_unseen_values_are_refused(learn):
    learned = learn(TargetEncoder("c", handle_invalid="error"), SMALL.slice(0, 3))
    assert rows(learned, None, "b") == [(2 / 3,), (1.0,)]
    with pytest.raises(DataValueError, match=r"'c' has 2 values .* 1 different ones: 'z' \(2\)"):
        rows(learned, "a", "z", "z")


def test_without_smoothing_the_encoding_is_the_mean_to_the_bit(learn, rng):
    y = rng.normal(size=7) + 1e8
    learned = learn(TargetEncoder("c", target_type="continuous"), pa.table({"c": ["a"] * 7, "label": y}))
    assert rows(learned, "a") == [(math.fsum(y) / 7,)]


def test_multiclass_adds_a_column_a_class_and_the_others_replace(apply):
    table = pa.table({"c": ["a", "b"], "y": [7, -1]})
    made = apply(TargetEncoder("c", label="y", target_type="multiclass", classes=[7, -1]), table)
    assert made.drop_columns(["y"]).to_pydict() == {"c": ["a", "b"], "c_7": [1.0, 0.0], "c_-1": [0.0, 1.0]}
    assert apply(TargetEncoder("c"), SMALL).schema == pa.schema({"c": pa.float64(), "label": pa.int64()})


def test_a_bad_label_is_found_in_its_row(local):
    table = pa.table({"c": ["a", "b", "c"], "label": [0.0, 1.0, 0.5]})
    with pytest.raises(DataValueError, match="'label' has 1 values that are not binary") as caught:
        ps.Pipeline(TargetEncoder("c")).fit(local.from_arrow(table))
    assert (caught.value.row, caught.value.stage) == (2, "TargetEncoder")


def test_wrong_parameters_are_refused(subtests):
    for parameters, message in [
        ({"target_type": "multiclass"}, "expected classes for 'multiclass'"),
        ({"classes": [0, 1]}, "expected classes for 'multiclass'"),
        ({"target_type": "regression"}, "target_type"),
        ({"smoothing": -1}, "smoothing .* expected a number >= 0"),
        ({"smoothing": float("inf")}, "smoothing"),
        ({"handle_invalid": "skip"}, "handle_invalid"),
    ]:
        with subtests.test(parameters=parameters), pytest.raises(ConfigError, match=message):
            TargetEncoder("c", **parameters)


def test_what_does_not_fit_the_columns_is_refused_before_reading(subtests):
    kinds = {"c": pa.string(), "label": pa.int64(), "text": pa.string(), "c_1": pa.int64()}
    for stage, error, message in [
        (TargetEncoder(["c", "label"]), ConfigError, "label 'label' is among the columns"),
        (TargetEncoder("c", label="text"), SchemaError, "label 'text' is string"),
        (TargetEncoder("c", label="gone"), SchemaError, "'gone' is not in the data"),
        (TargetEncoder("c", target_type="multiclass", classes=["a"]), ConfigError, "different values of type int64"),
        (TargetEncoder("c", target_type="multiclass", classes=[1, 1]), ConfigError, "different values of type int64"),
        (TargetEncoder("c", target_type="multiclass", classes=[1, 2]), ConfigError, "'c_1', which is there already"),
    ]:
        with subtests.test(stage=stage), pytest.raises(error, match=message):
            stage.bind(pa.schema(kinds))


# Rows that are learned from


@dataclass(frozen=True)
class Watcher(Trainer):
    """Learns nothing but the rows that come to it."""

    columns: tuple[str, ...]

    def bind(self, schema: pa.Schema) -> Watcher:
        return self

    def inputs(self) -> tuple[str, ...]:
        return ()

    def outputs(self) -> tuple[str, ...]:
        return ()

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return schema

    def training_columns(self) -> tuple[str, ...]:
        return self.columns

    def train(self, rank: Rank, learned: Fitted) -> Fitted:
        return {"rows": pa.concat_tables(rank.batches("train", self.columns, frames.to_arrow))}

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        return frame


def learned_from(stage: TargetEncoder, table: pa.Table, fragment_bytes: int = 10**6) -> pa.Table:
    """Return the rows that the stages after this one learn from."""
    data = ps.LocalEngine(device="cpu").from_arrow(table, fragment_bytes=fragment_bytes)
    outputs = ps.Pipeline(stage).plan(data).stages[0].outputs()
    return ps.Pipeline(stage, Watcher(outputs)).fit(data).fitted[1]["rows"]


def by_scikit_learn(table: pa.Table, fold: np.ndarray, target_type: str, smoothing: float) -> np.ndarray:
    """Return each fold encoded by an encoder that was fitted on the others."""
    features = np.column_stack([table[name].to_numpy().astype(object) for name in ("c", "n")])
    y, made = table["y"].to_numpy(), {}
    for number in set(fold.tolist()):
        oracle = sklearn.preprocessing.TargetEncoder(target_type=target_type, smooth=smoothing)
        oracle.fit(features[fold != number], y[fold != number])
        made |= dict(zip(np.flatnonzero(fold == number), oracle.transform(features[fold == number]), strict=True))
    return np.array([made[row] for row in range(len(table))])


def test_each_fold_is_encoded_by_the_others_as_by_scikit_learn(rng, subtests):
    rare = np.where(np.arange(N) % 50 == 0, "only here", LETTERS)
    fold = rng.integers(0, 3, N)
    fold[rare == "only here"] = 1
    for smoothing in [0.0, 7.5]:
        for target_type in ["binary", "continuous", "multiclass"]:
            with subtests.test(smoothing=smoothing, target_type=target_type):
                table = pa.table({"c": rare, "n": NUMBERS, "y": TARGETS[target_type], "person": fold})
                made = learned_from(encoder(target_type, smoothing=smoothing, num_folds=3, fold="person"), table)
                expected = by_scikit_learn(table, fold, target_type, smoothing)
                assert np.allclose(np.column_stack(made.columns), expected, rtol=1e-12, atol=0)


@pytest.mark.thorough
def test_rows_are_dealt_to_folds_by_their_number_however_they_are_cut():
    table = pa.table({"c": LETTERS, "n": NUMBERS, "y": TARGETS["continuous"]})
    whole, cut, other = (
        learned_from(encoder("continuous", seed=seed), table, size)
        for seed, size in [(3, 10**6), (3, 2000), (4, 10**6)]
    )
    assert whole.equals(cut)
    assert not whole.equals(other)


def test_without_folds_rows_that_are_learned_from_are_encoded_as_others():
    table = pa.table({"c": LETTERS, "n": NUMBERS, "y": TARGETS["continuous"]})
    data = ps.LocalEngine(device="cpu").from_arrow(table)
    stage = encoder("continuous", num_folds=None)
    assert learned_from(stage, table).equals(ps.Pipeline(stage).fit(data).transform(data).select("c", "n").to_arrow())


def test_a_single_fold_with_rows_is_encoded_by_the_prior():
    table = SMALL.append_column("fold", [[1, 1, 1, 1]])
    assert learned_from(TargetEncoder("c", num_folds=2, fold="fold"), table)["c"].to_pylist() == [0.75] * 4


def test_a_model_keeps_one_encoding_and_scores_with_all_rows(local):
    data = local.from_arrow(SMALL)
    model = ps.Pipeline(TargetEncoder("c", num_folds=2)).fit(data)
    assert sorted(model.fitted[0]) == ["encodings", "missing", "prior"]
    assert model.transform(data).to_arrow()["c"].to_pylist() == [0.5, 0.5, 1.0, 1.0]


def test_a_number_that_is_no_fold_is_told_with_its_row(local):
    table = SMALL.append_column("fold", [[0, 1, 5, 1]])
    with pytest.raises(DataValueError, match="'fold' has 1 values that are no fold, expected 0 to 1") as caught:
        ps.Pipeline(TargetEncoder("c", num_folds=2, fold="fold")).fit(local.from_arrow(table))
    assert caught.value.row == 2
